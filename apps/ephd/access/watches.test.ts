import { EphError } from '@eph/contract';
import type { SignedIn } from '@eph/engine/access/caller';
import { ManualClock } from '@eph/engine/time/clock.fake';
import { describe, expect, it } from 'vitest';
import { type LongUse, Watches } from './watches.ts';

const year = 365 * 24 * 60 * 60_000;

const start = () => {
  const clock = new ManualClock();
  const forbidden = new Set<LongUse['caller']>();
  const check = ({ caller }: LongUse): EphError | undefined => {
    if (forbidden.has(caller)) return new EphError('api.forbidden', 'no more');
    const isOver = caller.kind === 'person' && (caller.token?.expiresAt ?? Number.POSITIVE_INFINITY) <= clock.now();
    return isOver ? new EphError('api.unauthorized', 'expired') : undefined;
  };
  const watches = new Watches({ clock, check });
  const callerFor = (lifetimeMs: number): SignedIn => ({
    kind: 'person',
    person: { issuer: 'eph', subject: 'a' },
    groups: [],
    repository: undefined,
    token: {
      id: 'id',
      scope: 'read',
      projects: undefined,
      generation: 'g',
      after: 0,
      issuedAt: clock.now(),
      expiresAt: clock.now() + lifetimeMs,
    },
  });
  const use = (caller: LongUse['caller']): LongUse => ({ caller, decide: () => ({ allowed: true, because: '' }) });
  return { clock, forbidden, watches, callerFor, use };
};

describe('a watch', () => {
  it('aborts in the moment in which the token expires', () => {
    const { clock, watches, callerFor, use } = start();
    const watch = watches.add(use(callerFor(10_500)));
    clock.advance(10_499);
    expect(watch.signal.aborted).toBe(false);
    clock.advance(1);
    expect(watch.signal.aborted).toBe(true);
    expect(watch.signal.reason).toMatchObject({ code: 'api.unauthorized', message: 'expired' });
    expect(clock.pending).toBe(0);
  });

  it('is right about several tokens, in whichever order they came', () => {
    const { clock, watches, callerFor, use } = start();
    const all = [9_000, 500, 700, 20_000].map((ms) => watches.add(use(callerFor(ms))));
    const aborted = () => all.map(({ signal }) => signal.aborted);
    clock.advance(500);
    expect(aborted()).toEqual([false, true, false, false]);
    clock.advance(200);
    expect(aborted()).toEqual([false, true, true, false]);
    clock.advance(8_300);
    expect(aborted()).toEqual([true, true, true, false]);
    clock.advance(11_000);
    expect(aborted()).toEqual([true, true, true, true]);
  });

  it('of a token for a year sets no timer that is longer than Node can wait', () => {
    const { clock, watches, callerFor, use } = start();
    const watch = watches.add(use(callerFor(year)));
    for (let day = 0; day < 364; day += 1) {
      expect((clock.nextDue() ?? 0) - clock.now()).toBeLessThanOrEqual(2_000);
      clock.jump(24 * 60 * 60_000);
    }
    clock.advance(2_000);
    expect(watch.signal.aborted).toBe(false);
    clock.jump(24 * 60 * 60_000);
    clock.advance(2_000);
    expect(watch.signal.aborted).toBe(true);
  });

  it('aborts soon after a change that nobody announces, and at once after one that somebody does', () => {
    const { clock, forbidden, watches, callerFor, use } = start();
    const [one, other, third] = [callerFor(year), callerFor(year), { kind: 'administrator' } as const];
    const all = [one, other, third].map((caller) => watches.add(use(caller)));
    const aborted = () => all.map(({ signal }) => signal.aborted);
    forbidden.add(one);
    watches.checkAll();
    expect(aborted()).toEqual([true, false, false]);
    forbidden.add(other);
    expect(aborted()).toEqual([true, false, false]);
    clock.advance(2_000);
    expect(aborted()).toEqual([true, true, false]);
    expect(all[1]?.signal.reason).toMatchObject({ code: 'api.forbidden' });
  });

  it('of somebody who may not begin has aborted already', () => {
    const { clock, watches, callerFor, use } = start();
    const watch = watches.add(use(callerFor(0)));
    expect(watch.signal.aborted).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it('that has ended costs nothing and aborts nothing', () => {
    const { clock, watches, callerFor, use } = start();
    const [one, other] = [watches.add(use(callerFor(5_000))), watches.add(use(callerFor(5_000)))];
    one[Symbol.dispose]();
    one[Symbol.dispose]();
    expect(clock.pending).toBe(1);
    clock.advance(5_000);
    expect([one, other].map(({ signal }) => signal.aborted)).toEqual([false, true]);
    const last = watches.add(use(callerFor(5_000)));
    last[Symbol.dispose]();
    expect(clock.pending).toBe(0);
  });

  it('may end others when it aborts', () => {
    const { clock, watches, callerFor, use } = start();
    const [one, other] = [watches.add(use(callerFor(1_000))), watches.add(use(callerFor(1_000)))];
    one.signal.addEventListener('abort', () => other[Symbol.dispose]());
    clock.advance(1_000);
    expect([one, other].map(({ signal }) => signal.aborted)).toEqual([true, false]);
    expect(clock.pending).toBe(0);
  });
});
