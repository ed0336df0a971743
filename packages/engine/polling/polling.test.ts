import { completeReading, failure, incompleteReading, type ProjectId, projectId, type Reading, type Source } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { Polling } from './polling.ts';

const minute = 60_000;
const never = Number.NEGATIVE_INFINITY;

const readingOf = (mark: string): Reading<Source> => completeReading([], mark);

/** Repositories of one account, read by passes every 30 seconds. */
class Repositories {
  now = 1_000_000;
  readonly ids: readonly ProjectId[];
  readonly polling: Polling;
  readonly marks = new Map<ProjectId, string>();
  readonly wokenAt = new Map<ProjectId, number>();
  readonly reads: { readonly id: ProjectId; readonly at: number }[] = [];
  isBroken = false;

  constructor(count: number, readingsPerMinute: number | undefined) {
    this.ids = Array.from({ length: count }, (_, index) => projectId(`service-${index}`));
    const limit = readingsPerMinute === undefined ? undefined : { account: 'work', readingsPerMinute };
    this.polling = new Polling(
      () => limit,
      () => this.now,
      () => 1,
    );
  }

  get first(): ProjectId {
    return this.ids[0] ?? projectId('none');
  }

  run(id: ProjectId): void {
    if (this.polling.decide(id, this.wokenAt.get(id) ?? never) !== 'read') return;
    this.reads.push({ id, at: this.now });
    const fault = failure('forge.unreachable', 'no answer');
    this.polling.noteReading(id, this.now, this.isBroken ? incompleteReading([], fault) : readingOf(this.marks.get(id) ?? 'a'));
    const { doubt } = this.polling.doubtsOf(id);
    if (this.isBroken) doubt.note([fault]);
    else doubt.clear();
  }

  pass(): void {
    this.polling.choose(this.ids);
    for (const id of this.ids) this.run(id);
  }

  passFor(ms: number): number {
    const before = this.reads.length;
    for (const end = this.now + ms; this.now < end; this.now += 30_000) this.pass();
    return this.reads.length - before;
  }

  deliver(id: ProjectId): void {
    this.polling.announce(id);
    this.wokenAt.set(id, this.now);
    this.run(id);
  }
}

describe('a project without a limit', () => {
  it('is read by every run', () => {
    const one = new Repositories(1, undefined);
    expect(one.passFor(5 * minute)).toBe(10);
  });
});

describe('projects that share a limit', () => {
  it('are read by every pass if they are few', () => {
    expect(new Repositories(10, 225).passFor(5 * minute)).toBe(100);
  });

  it('are read in turn, each as often as the others, and within the limit', () => {
    const many = new Repositories(2_000, 225);
    many.passFor(20 * minute);
    const from = many.reads.length;
    many.passFor(90 * minute);
    const recent = many.reads.slice(from);
    expect(recent.length / 90).toBeLessThanOrEqual(225);
    const counts = Map.groupBy(recent, ({ id }) => id);
    expect(counts.size).toBe(2_000);
    expect(Math.max(...[...counts.values()].map((one) => one.length))).toBeLessThanOrEqual(11);
    expect(Math.min(...[...counts.values()].map((one) => one.length))).toBeGreaterThanOrEqual(9);
  });

  it('are not read before their turn, not even for the first time', () => {
    const many = new Repositories(500, 100);
    many.pass();
    expect(many.reads).toHaveLength(100);
  });

  it('are read at once when something asks for it', () => {
    const many = new Repositories(500, 100);
    many.passFor(10 * minute);
    many.now += 1;
    const [, , third] = many.ids;
    many.wokenAt.set(third ?? many.first, many.now);
    const before = many.reads.length;
    many.run(third ?? many.first);
    expect(many.reads.slice(before)).toEqual([{ id: third, at: many.now }]);
  });

  it('say how often they are read', () => {
    const many = new Repositories(450, 225);
    many.pass();
    const state = { account: 'work', intervalMs: 2 * minute, isAnnounced: false, sharing: 450, waitMs: 0 };
    expect(many.polling.states().get(many.first)).toEqual(state);
  });
});

describe('a project whose webhooks arrive', () => {
  const quiet = (): Repositories => {
    const one = new Repositories(2, 225);
    one.passFor(minute);
    one.deliver(one.first);
    return one;
  };
  const readsOf = (all: Repositories, id: ProjectId, from: number): readonly number[] =>
    all.reads.slice(from).flatMap((read) => (read.id === id ? [read.at] : []));

  const announced = ({ polling }: Repositories): readonly ProjectId[] =>
    [...polling.states()].flatMap(([id, { isAnnounced }]) => (isAnnounced ? [id] : []));

  it('is read less often the longer it is quiet, and every ten minutes at the least', () => {
    const one = quiet();
    one.passFor(60 * minute);
    const from = one.reads.length;
    one.passFor(120 * minute);
    const reads = readsOf(one, one.first, from);
    expect(reads.length).toBeGreaterThanOrEqual(12);
    expect(reads.length).toBeLessThanOrEqual(13);
  });

  it('is read at once for each of them', () => {
    const one = quiet();
    one.passFor(90 * minute);
    const from = one.reads.length;
    one.now += 1;
    one.deliver(one.first);
    expect(readsOf(one, one.first, from)).toEqual([one.now]);
  });

  it('does not slow down others whose webhooks have not arrived', () => {
    const one = quiet();
    const from = one.reads.length;
    one.passFor(60 * minute);
    expect(readsOf(one, one.ids[1] ?? one.first, from)).toHaveLength(120);
  });

  it('is read by every pass again once any of the account was found changed without a webhook', () => {
    const one = quiet();
    const second = one.ids[1] ?? one.first;
    one.deliver(second);
    one.passFor(120 * minute);
    one.marks.set(second, 'b');
    one.passFor(11 * minute);
    const from = one.reads.length;
    one.passFor(10 * minute);
    expect(readsOf(one, one.first, from)).toHaveLength(20);
    expect(announced(one)).toEqual([]);
    one.deliver(one.first);
    expect(announced(one)).toEqual([one.first]);
  });

  it('stays trusted after an outage in which nothing changed', () => {
    const one = quiet();
    one.passFor(10 * minute);
    one.isBroken = true;
    one.passFor(10 * minute);
    one.isBroken = false;
    one.passFor(10 * minute);
    expect(announced(one)).toEqual([one.first]);
  });

  it('is not trusted a second time when webhooks stop again', () => {
    const one = quiet();
    for (const mark of ['b', 'c']) {
      one.deliver(one.first);
      one.passFor(minute);
      expect(announced(one)).toEqual([one.first]);
      one.marks.set(one.first, mark);
      one.passFor(30 * minute);
      expect(announced(one)).toEqual([]);
    }
  });

  it('stays trusted when the webhook arrives just after its change was read', () => {
    const one = quiet();
    one.passFor(120 * minute);
    one.marks.set(one.first, 'b');
    for (const before = one.reads.length; readsOf(one, one.first, before).length === 0; one.now += 1_000) one.pass();
    one.now += 5_000;
    one.deliver(one.first);
    one.now += minute;
    expect(announced(one)).toEqual([one.first]);
  });
});

describe('a reading that leaves something unknown', () => {
  it('is repeated after a second, then later and later, two minutes apart at most', () => {
    const one = new Repositories(1, 225);
    one.isBroken = true;
    one.pass();
    for (const end = one.now + 15 * minute; one.now < end; one.now += 100) one.run(one.first);
    const times = one.reads.map(({ at }) => at);
    const gaps = times.slice(1).map((at, index) => Math.round((at - (times[index] ?? 0)) / 1000));
    expect(gaps).toEqual([1, 2, 4, 8, 16, 32, 64, 120, 120, 120, 120, 120, 120]);
  });

  it('is not repeated earlier than the forge asks for', () => {
    const one = new Repositories(1, 225);
    one.polling.noteReading(one.first, one.now, incompleteReading([]));
    const at = one.polling
      .doubtsOf(one.first)
      .doubt.note([{ ...failure('forge.unreachable', 'later'), retryAfterMs: 10 * minute }]);
    expect(at - one.now).toBe(10 * minute);
  });

  it('is repeated when a webhook arrives, but not more than every five seconds', () => {
    const one = new Repositories(1, 225);
    one.isBroken = true;
    one.pass();
    for (let attempt = 0; attempt < 9; attempt += 1) {
      one.now = one.polling.doubtsOf(one.first).doubt.note() + 1;
      one.run(one.first);
    }
    const from = one.reads.length;
    for (const end = one.now + minute; one.now < end; one.now += 100) one.deliver(one.first);
    expect(one.reads.length - from).toBe(11);
  });

  it('is repeated at once after the clock was set back', () => {
    const one = new Repositories(1, 225);
    one.isBroken = true;
    one.passFor(10 * minute);
    one.now -= 60 * minute;
    const from = one.reads.length;
    one.run(one.first);
    expect(one.reads.length - from).toBe(1);
  });

  it('delays nothing once everything is known again', () => {
    const one = new Repositories(1, 225);
    one.isBroken = true;
    one.passFor(10 * minute);
    one.isBroken = false;
    one.passFor(3 * minute);
    expect(one.passFor(2 * minute)).toBe(4);
  });
});
