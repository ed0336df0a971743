import { describe, expect, it } from 'vitest';
import { createBatchQueue } from './batch-queue.ts';

const { signal } = new AbortController();

/** A queue whose runs end when the test says so. */
const createSteered = () => {
  const runs: { readonly items: readonly number[]; readonly signal: AbortSignal; readonly end: PromiseWithResolvers<string> }[] =
    [];
  const add = createBatchQueue<number, string>((items, signal) => {
    const end = Promise.withResolvers<string>();
    runs.push({ items, signal, end });
    return end.promise;
  });
  return { runs, add };
};

describe('a batch queue', () => {
  it('puts together what arrives while it is busy', async () => {
    const { runs, add } = createSteered();
    const first = [add(1, signal), add(2, signal)];
    await expect.poll(() => runs.length).toBe(1);
    const second = [add(3, signal), add(4, signal), add(5, signal)];
    runs[0]?.end.resolve('one');
    expect(await Promise.all(first)).toEqual(['one', 'one']);
    await expect.poll(() => runs.length).toBe(2);
    runs[1]?.end.resolve('two');
    expect(await Promise.all(second)).toEqual(['two', 'two', 'two']);
    expect(runs.map(({ items }) => items)).toEqual([
      [1, 2],
      [3, 4, 5],
    ]);
  });

  it('goes on after a run that failed', async () => {
    const { runs, add } = createSteered();
    const failing = add(1, signal);
    await expect.poll(() => runs.length).toBe(1);
    runs[0]?.end.reject(new Error('no'));
    await expect(failing).rejects.toThrow('no');
    const next = add(2, signal);
    await expect.poll(() => runs.length).toBe(2);
    runs[1]?.end.resolve('yes');
    expect(await next).toBe('yes');
  });

  it('lets one leave without disturbing the others, and stops when all have left', async () => {
    const { runs, add } = createSteered();
    const [one, two, three] = [new AbortController(), new AbortController(), new AbortController()];
    const leaving = [add(1, one.signal), add(2, two.signal)];
    await expect.poll(() => runs.length).toBe(1);
    const waiting = add(3, three.signal);
    three.abort(new Error('left'));
    one.abort(new Error('left'));
    await expect(waiting).rejects.toThrow('left');
    expect(runs[0]?.signal.aborted).toBe(false);
    two.abort(new Error('left'));
    expect(runs[0]?.signal.aborted).toBe(true);
    await Promise.all(leaving.map((promise) => expect(promise).rejects.toThrow('left')));
    runs[0]?.end.resolve('late');
    await expect(add(4, AbortSignal.abort(new Error('left')))).rejects.toThrow('left');
    expect(runs).toHaveLength(1);
  });
});
