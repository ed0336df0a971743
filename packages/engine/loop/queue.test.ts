import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../time/clock.fake.ts';
import { Queue, type QueueOptions } from './queue.ts';

interface Run {
  readonly key: string;
  readonly signal: AbortSignal;
  finish(): void;
  fail(error: Error): void;
}

/** Lets everything happen that does not wait for a run to end or for time to pass. */
const breathe = async (): Promise<void> => {
  for (let turn = 0; turn < 12; turn += 1) await Promise.resolve();
};

/** A queue whose runs end when the test says so. */
class Bench {
  readonly clock = new ManualClock();
  readonly started: string[] = [];
  readonly running: Run[] = [];
  readonly thrown: string[] = [];
  readonly queue: Queue<string>;
  chance = 1;

  constructor(options: Partial<QueueOptions> = {}) {
    this.queue = new Queue<string>(
      {
        clock: this.clock,
        random: () => this.chance,
        workers: 1,
        onThrow: (key, error) => void this.thrown.push(`${key}: ${String(error)}`),
        ...options,
      },
      (key, signal) => this.#run(key, signal),
    );
  }

  #run(key: string, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const over = (): void => void this.running.splice(this.running.indexOf(run), 1);
    const run: Run = {
      key,
      signal,
      finish: () => {
        over();
        resolve();
      },
      fail: (error) => {
        over();
        reject(error);
      },
    };
    this.started.push(key);
    this.running.push(run);
    return promise;
  }

  /** The run of a key that is under way. */
  at(key: string): Run {
    const run = this.running.find((one) => one.key === key);
    if (run === undefined) throw new Error(`${key} is not running`);
    return run;
  }

  async finish(key: string): Promise<void> {
    this.at(key).finish();
    await breathe();
  }

  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    await breathe();
  }

  /** How long until the key runs. */
  async waitFor(key: string): Promise<number> {
    const before = this.started.length;
    const start = this.clock.now();
    while (!this.started.slice(before).includes(key)) {
      const due = this.clock.nextDue();
      if (due === undefined) throw new Error(`${key} never runs`);
      await this.pass(due - this.clock.now());
    }
    return this.clock.now() - start;
  }
}

describe('a request', () => {
  it('is run at once', () => {
    const bench = new Bench();
    bench.queue.add('a');
    expect(bench.started).toEqual(['a']);
  });

  it('made many times before it is run is one request', async () => {
    const bench = new Bench();
    bench.queue.add('busy');
    for (let count = 0; count < 5; count += 1) bench.queue.add('a');
    bench.queue.add('b');
    expect(bench.queue.load.ready).toBe(2);
    await bench.finish('busy');
    await bench.finish('a');
    await bench.finish('b');
    expect(bench.started).toEqual(['busy', 'a', 'b']);
  });

  it('made many times while it is run is run once more, afterwards', async () => {
    const bench = new Bench({ workers: 3 });
    bench.queue.add('a');
    for (let count = 0; count < 5; count += 1) bench.queue.add('a');
    expect(bench.started).toEqual(['a']);
    await bench.finish('a');
    expect(bench.started).toEqual(['a', 'a']);
    await bench.finish('a');
    expect(bench.started).toEqual(['a', 'a']);
  });

  it('that is repeated goes behind those that wait', async () => {
    const bench = new Bench();
    bench.queue.add('a');
    bench.queue.add('b');
    bench.queue.add('a');
    await bench.finish('a');
    expect(bench.running.map((run) => run.key)).toEqual(['b']);
    await bench.finish('b');
    expect(bench.started).toEqual(['a', 'b', 'a']);
  });

  it('is run beside others, as many as there are workers', async () => {
    const bench = new Bench({ workers: 3 });
    for (const key of ['a', 'b', 'c', 'd', 'e']) bench.queue.add(key);
    expect(bench.started).toEqual(['a', 'b', 'c']);
    expect(bench.queue.load).toMatchObject({ running: 3, ready: 2 });
    await bench.finish('b');
    expect(bench.running.map((run) => run.key)).toEqual(['a', 'c', 'd']);
  });
});

describe('a request for later', () => {
  it('is run when its time has come, and not before', async () => {
    const bench = new Bench();
    bench.queue.addAfter('a', 1000);
    expect(bench.queue.load.waiting).toBe(1);
    await bench.pass(999);
    expect(bench.started).toEqual([]);
    await bench.pass(1);
    expect(bench.started).toEqual(['a']);
    expect(bench.queue.load.waiting).toBe(0);
  });

  it.each([
    ['sooner', 500, 500],
    ['later', 2000, 1000],
  ])('gives way to a %s one only if that is earlier', async (_, second, runsAfter) => {
    const bench = new Bench();
    bench.queue.addAfter('a', 1000);
    bench.queue.addAfter('a', second);
    expect(await bench.waitFor('a')).toBe(runsAfter);
    await bench.finish('a');
    await bench.pass(10_000);
    expect(bench.started).toEqual(['a']);
  });

  it('gives way to a request for now', async () => {
    const bench = new Bench();
    bench.queue.addAfter('a', 1000);
    bench.queue.add('a');
    expect(bench.started).toEqual(['a']);
    await bench.finish('a');
    await bench.pass(10_000);
    expect(bench.started).toEqual(['a']);
  });

  it('whose time comes during a run is run afterwards', async () => {
    const bench = new Bench();
    bench.queue.add('a');
    bench.queue.addAfter('a', 1000);
    await bench.pass(1000);
    expect(bench.started).toEqual(['a']);
    await bench.finish('a');
    expect(bench.started).toEqual(['a', 'a']);
  });
});

describe('a retry', () => {
  const waits = async (bench: Bench, times: number, atLeastMs = 0): Promise<readonly number[]> => {
    const seen: number[] = [];
    for (let count = 0; count < times; count += 1) {
      bench.queue.retry('a', atLeastMs);
      seen.push(await bench.waitFor('a'));
      await bench.finish('a');
    }
    return seen;
  };

  it('waits twice as long each time, up to a thousand seconds', async () => {
    const expected = [
      5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10_240, 20_480, 40_960, 81_920, 163_840, 327_680, 655_360, 1_000_000,
      1_000_000,
    ];
    expect(await waits(new Bench(), expected.length)).toEqual(expected);
  });

  it('waits between half of that and all of it', async () => {
    const bench = new Bench();
    // A tenth more than half: the clock tells whole milliseconds.
    bench.chance = 0.2;
    expect(await waits(bench, 3)).toEqual([3, 6, 12]);
  });

  it('waits as long as it is told to, if that is longer', async () => {
    expect(await waits(new Bench(), 5, 30)).toEqual([30, 30, 30, 40, 80]);
  });

  it('starts over after a good run', async () => {
    const bench = new Bench();
    await waits(bench, 5);
    bench.queue.forget('a');
    expect(await waits(bench, 2)).toEqual([5, 10]);
  });

  it('of one key does not slow down another', async () => {
    const bench = new Bench();
    await waits(bench, 8);
    bench.queue.retry('b');
    expect(await bench.waitFor('b')).toBe(5);
  });

  it('is a request like any other: a fresh one is run at once, and the back-off stays', async () => {
    const bench = new Bench();
    await waits(bench, 6);
    bench.queue.retry('a');
    bench.queue.add('a');
    expect(bench.running).toHaveLength(1);
    await bench.finish('a');
    bench.queue.retry('a');
    expect(await bench.waitFor('a')).toBe(640);
  });

  it('still comes when the clock is set, either way', async () => {
    const bench = new Bench({ retryRate: { perSecond: 10, burst: 2 } });
    bench.queue.retry('a', 1000);
    bench.clock.jump(-3_600_000);
    expect(await bench.waitFor('a')).toBe(1000);
    bench.queue.retry('b', 1000);
    bench.clock.jump(3_600_000);
    await bench.finish('a');
    expect(await bench.waitFor('b')).toBe(1000);
  });
});

describe('the limit that all retries share', () => {
  const rate = { perSecond: 10, burst: 3 };

  /** When each of many keys runs, if all of them fail at once. */
  const storm = async (bench: Bench, count: number): Promise<readonly number[]> => {
    const start = bench.clock.now();
    for (let index = 0; index < count; index += 1) bench.queue.retry(`storm ${start} ${index}`);
    const times: number[] = [];
    while (times.length < count) {
      await bench.pass((bench.clock.nextDue() ?? Number.NaN) - bench.clock.now());
      times.push(...Array.from({ length: bench.running.length - times.length }, () => bench.clock.now() - start));
    }
    for (const run of bench.running.slice()) run.finish();
    await breathe();
    return times;
  };

  it('lets a few through and brings the others back one by one', async () => {
    const bench = new Bench({ workers: 100, retryRate: rate });
    expect(await storm(bench, 7)).toEqual([5, 5, 5, 105, 205, 305, 405]);
  });

  it('recovers with time, and saves up no more than the few', async () => {
    const bench = new Bench({ workers: 100, retryRate: rate });
    await storm(bench, 7);
    await bench.pass(3_600_000);
    expect(await storm(bench, 5)).toEqual([5, 5, 5, 105, 205]);
  });

  it('does not touch fresh work', () => {
    const bench = new Bench({ workers: 100, retryRate: rate });
    for (let count = 0; count < 50; count += 1) bench.queue.add(`fresh ${count}`);
    expect(bench.started).toHaveLength(50);
  });
});

describe('a run that is superseded', () => {
  it('is told to stop, and is run again once it has', async () => {
    const bench = new Bench();
    bench.queue.add('a');
    const { signal } = bench.at('a');
    bench.queue.supersede('a');
    expect(signal.aborted).toBe(true);
    expect(bench.started).toEqual(['a']);
    await bench.finish('a');
    expect(bench.started).toEqual(['a', 'a']);
    expect(bench.at('a').signal.aborted).toBe(false);
  });

  it('may stop by throwing, which is no failure', async () => {
    const bench = new Bench();
    bench.queue.add('a');
    bench.queue.supersede('a');
    bench.at('a').fail(new Error('aborted'));
    await breathe();
    expect(bench.started).toEqual(['a', 'a']);
    expect(bench.thrown).toEqual([]);
    bench.at('a').fail(new Error('a bug'));
    await breathe();
    expect(await bench.waitFor('a')).toBe(5);
  });

  it('is run once more, however often it is superseded', async () => {
    const bench = new Bench();
    bench.queue.add('a');
    for (let count = 0; count < 3; count += 1) bench.queue.supersede('a');
    await bench.finish('a');
    await bench.finish('a');
    expect(bench.started).toEqual(['a', 'a']);
  });

  it('is none if it does not run: nothing is woken', async () => {
    const bench = new Bench();
    bench.queue.supersede('a');
    await bench.pass(10_000);
    expect(bench.started).toEqual([]);
  });
});

describe('a run that throws', () => {
  it('is shouted about and tried again, later each time', async () => {
    const bench = new Bench();
    bench.queue.add('a');
    const waits: number[] = [];
    for (let count = 0; count < 3; count += 1) {
      bench.at('a').fail(new Error('a bug'));
      await breathe();
      waits.push(await bench.waitFor('a'));
    }
    expect(bench.thrown).toEqual(Array.from({ length: 3 }, () => 'a: Error: a bug'));
    expect(waits).toEqual([5, 10, 20]);
  });

  it('before it does anything is no different, and frees its worker', async () => {
    const thrown: string[] = [];
    const clock = new ManualClock();
    let calls = 0;
    const queue = new Queue<string>({ clock, random: () => 1, workers: 1, onThrow: (key) => void thrown.push(key) }, () => {
      calls += 1;
      if (calls === 1) throw new Error('at once');
      return Promise.resolve();
    });
    queue.add('a');
    queue.add('b');
    await queue.idle();
    clock.advance(5);
    await queue.idle();
    expect(thrown).toEqual(['a']);
    expect(calls).toBe(3);
  });

  it('is run at once if there was a request meanwhile', async () => {
    const bench = new Bench();
    bench.queue.add('a');
    bench.queue.add('a');
    bench.at('a').fail(new Error('a bug'));
    await breathe();
    expect(bench.started).toEqual(['a', 'a']);
    await bench.finish('a');
    await bench.pass(10_000);
    expect(bench.started).toEqual(['a', 'a']);
  });
});

describe('an idle queue', () => {
  it('is one with nothing to run and nothing running', async () => {
    const bench = new Bench();
    await bench.queue.idle();
    bench.queue.add('a');
    bench.queue.add('b');
    let idle = false;
    const waiting = bench.queue.idle().then(() => {
      idle = true;
    });
    await bench.finish('a');
    expect(idle).toBe(false);
    await bench.finish('b');
    await waiting;
    expect(idle).toBe(true);
  });

  it('may have wishes for later', async () => {
    const bench = new Bench();
    bench.queue.addAfter('a', 1000);
    await bench.queue.idle();
    expect(bench.queue.load.waiting).toBe(1);
  });
});

describe('a closed queue', () => {
  it('stops what runs, waits for it, and begins nothing more', async () => {
    const bench = new Bench();
    for (const key of ['a', 'b']) bench.queue.add(key);
    bench.queue.addAfter('c', 1000);
    let closed = false;
    const closing = bench.queue.close().then(() => {
      closed = true;
    });
    expect(bench.at('a').signal.aborted).toBe(true);
    await breathe();
    expect(closed).toBe(false);
    bench.queue.add('a');
    await bench.finish('a');
    await closing;
    for (const key of ['a', 'd']) bench.queue.add(key);
    bench.queue.addAfter('e', 1);
    bench.queue.retry('f');
    await bench.pass(10_000);
    expect(bench.started).toEqual(['a']);
    expect(bench.clock.pending).toBe(0);
  });

  it('can be closed again', async () => {
    const bench = new Bench();
    await bench.queue.close();
    await bench.queue.close();
    expect(bench.started).toEqual([]);
  });
});

describe('whatever happens in whatever order', () => {
  const key = fc.constantFrom('a', 'b', 'c', 'd');
  const step = fc.oneof(
    fc.record({ do: fc.constantFrom('add', 'retry', 'supersede', 'forget'), key }),
    fc.record({ do: fc.constantFrom('later'), key, ms: fc.nat(50) }),
    fc.record({ do: fc.constantFrom('finish', 'fail'), pick: fc.nat() }),
    fc.record({ do: fc.constantFrom('pass'), ms: fc.nat(50) }),
  );
  type Step = { do: string; key?: string; ms?: number; pick?: number };

  const perform = async (bench: Bench, { do: what, key: name = '', ms = 0, pick = 0 }: Step): Promise<void> => {
    const run = bench.running[pick % Math.max(1, bench.running.length)];
    if (what === 'add') bench.queue.add(name);
    if (what === 'retry') bench.queue.retry(name);
    if (what === 'supersede') bench.queue.supersede(name);
    if (what === 'forget') bench.queue.forget(name);
    if (what === 'later') bench.queue.addAfter(name, ms);
    if (what === 'finish') run?.finish();
    if (what === 'fail') run?.fail(new Error('a bug'));
    if (what === 'pass') bench.clock.advance(ms);
    await breathe();
  };

  it('a key runs once at a time, workers are not exceeded, none idles, and no request is lost', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 3 }), async (steps, workers) => {
        const bench = new Bench({ workers, retryRate: { perSecond: 100, burst: 5 } });
        /** How many runs of each key had begun when it was last asked for. */
        const asked = new Map<string, number>();
        const begun = (name: string): number => bench.started.filter((one) => one === name).length;
        for (const one of steps) {
          if ('key' in one && one.do !== 'forget' && (one.do !== 'supersede' || bench.running.some((run) => run.key === one.key)))
            asked.set(one.key, begun(one.key));
          await perform(bench, one);
          const keys = bench.running.map((run) => run.key);
          expect(keys).toEqual([...new Set(keys)]);
          expect(bench.running.length).toBe(bench.queue.load.running);
          expect(bench.running.length).toBeLessThanOrEqual(workers);
          expect(bench.queue.load.ready === 0 || bench.running.length === workers).toBe(true);
        }
        for (let turn = 0; turn < 200 && (bench.running.length > 0 || bench.queue.load.waiting > 0); turn += 1) {
          bench.running[0]?.finish();
          await bench.pass(1000);
        }
        await bench.queue.idle();
        expect([...asked].filter(([name, count]) => begun(name) <= count)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});
