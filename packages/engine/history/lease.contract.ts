import { expect, it, onTestFinished } from 'vitest';
import type { Lease, LeaseState } from './lease.ts';

export interface LeaseHarness extends AsyncDisposable {
  /** One more ephd that shares the store. */
  join(): LeaseMember;
  /** The store stops answering everyone. */
  fail(): Promise<void>;
  recover(): Promise<void>;
  /** Lets a moment pass, much shorter than the time to live. */
  wait(): Promise<void>;
}

export interface LeaseMember {
  readonly lease: Lease;
  /** It stops renewing and releases nothing, as after a kill. */
  crash(): Promise<void>;
}

/** The states one holder saw, and whether it would reconcile now. */
class Candidate {
  readonly states: LeaseState[] = [];
  readonly #abort = new AbortController();
  readonly #member: LeaseMember;
  readonly held: Promise<void>;

  constructor(name: string, member: LeaseMember) {
    this.#member = member;
    this.held = member.lease.hold(name, (state) => this.states.push(state), this.#abort.signal);
  }

  get last(): LeaseState | undefined {
    return this.states.at(-1);
  }

  get leads(): boolean {
    return this.last?.state === 'leading' || (this.last?.state === 'degraded' && this.last.leading);
  }

  async abort(): Promise<void> {
    this.#abort.abort();
    await this.held;
  }

  crash(): Promise<void> {
    return this.#member.crash();
  }
}

const patience = 2_000;

export const describeLease = (create: () => Promise<LeaseHarness>): void => {
  const start = async () => {
    const harness = await create();
    const candidates: Candidate[] = [];
    onTestFinished(async () => {
      await Promise.all(candidates.map((candidate) => candidate.abort()));
      await harness[Symbol.asyncDispose]();
    });
    const join = (name: string): Candidate => {
      const candidate = new Candidate(name, harness.join());
      candidates.push(candidate);
      return candidate;
    };
    const expectSoon = async (what: string, condition: () => boolean): Promise<void> => {
      for (let round = 0; round < patience; round += 1) {
        if (condition()) return;
        await harness.wait();
      }
      expect.fail(`never came true: ${what}; states: ${JSON.stringify(candidates.map(({ states }) => states))}`);
    };
    return { harness, join, expectSoon };
  };

  it('is led by the only one who asks', async () => {
    const { join, expectSoon } = await start();
    const only = join('only');
    await expectSoon('only leads', () => only.last?.state === 'leading');
    expect(only.states).toEqual([{ state: 'leading' }]);
  });

  it('names the leader to the second', async () => {
    const { join, expectSoon } = await start();
    const first = join('first');
    await expectSoon('first leads', () => first.leads);
    const second = join('second');
    await expectSoon('second stands by', () => second.last?.state === 'standby');
    expect(second.states).toEqual([{ state: 'standby', holder: 'first' }]);
    expect(first.states).toEqual([{ state: 'leading' }]);
  });

  it('passes on at once when the leader gives up', async () => {
    const { join, expectSoon } = await start();
    const first = join('first');
    await expectSoon('first leads', () => first.leads);
    const second = join('second');
    await expectSoon('second stands by', () => second.last?.state === 'standby');
    await first.abort();
    await expectSoon('second leads', () => second.last?.state === 'leading');
    const third = join('third');
    await expectSoon('third stands by', () => third.last?.state === 'standby');
    expect(third.last).toEqual({ state: 'standby', holder: 'second' });
  });

  it('passes on when the leader vanishes', async () => {
    const { join, expectSoon } = await start();
    const first = join('first');
    await expectSoon('first leads', () => first.leads);
    const second = join('second');
    await expectSoon('second stands by', () => second.last?.state === 'standby');
    await first.crash();
    await expectSoon('second leads', () => second.last?.state === 'leading');
  });

  it('never has two leaders while the store answers', async () => {
    const { harness, join, expectSoon } = await start();
    let left = ['a', 'b', 'c', 'd', 'e'].map(join);
    while (left.length > 0) {
      await expectSoon('somebody leads', () => left.some(({ leads }) => leads));
      for (let round = 0; round < 5; round += 1) {
        expect(left.filter(({ leads }) => leads)).toHaveLength(1);
        await harness.wait();
      }
      const leader = left.find(({ leads }) => leads);
      await leader?.abort();
      left = left.filter((candidate) => candidate !== leader);
    }
  });

  it('changes hands for nobody while the store does not answer', async () => {
    const { harness, join, expectSoon } = await start();
    const first = join('first');
    await expectSoon('first leads', () => first.leads);
    const second = join('second');
    await expectSoon('second stands by', () => second.last?.state === 'standby');

    await harness.fail();
    await expectSoon('both notice', () => first.last?.state === 'degraded' && second.last?.state === 'degraded');
    expect([first.leads, second.leads]).toEqual([true, false]);
    expect(first.last).toMatchObject({ message: expect.stringMatching(/\S/) });

    await harness.recover();
    await expectSoon('both are back', () => first.last?.state === 'leading' && second.last?.state === 'standby');
    expect(second.states.some(({ state }) => state === 'leading')).toBe(false);
    expect(first.states.every(({ state }) => state !== 'standby')).toBe(true);
  });

  it('is led, degraded, by one that never had an answer, until there is one', async () => {
    const { harness, join, expectSoon } = await start();
    await harness.fail();
    const first = join('first');
    const second = join('second');
    await expectSoon('both lead degraded', () => first.last?.state === 'degraded' && second.last?.state === 'degraded');
    expect([first.leads, second.leads]).toEqual([true, true]);
    await harness.recover();
    await expectSoon('one leads', () => [first, second].some(({ last }) => last?.state === 'leading'));
    await expectSoon('the other stands by', () => [first, second].some(({ last }) => last?.state === 'standby'));
  });

  it('ends when aborted, store or no store', async () => {
    const { harness, join, expectSoon } = await start();
    const first = join('first');
    await expectSoon('first leads', () => first.leads);
    await harness.fail();
    await expectSoon('first notices', () => first.last?.state === 'degraded');
    await expect(first.abort()).resolves.toBeUndefined();
  });

  it('asks for nothing when it is aborted already', async () => {
    const { harness, join, expectSoon } = await start();
    const states: LeaseState[] = [];
    await harness.join().lease.hold('late', (state) => states.push(state), AbortSignal.abort());
    expect(states).toEqual([]);
    const other = join('other');
    await expectSoon('other leads', () => other.last?.state === 'leading');
  });
};
