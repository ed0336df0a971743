import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { mergeStreams } from './merge-streams.ts';

async function* words(...list: string[]): AsyncIterable<string> {
  for (const word of list) yield await Promise.resolve(word);
}

const collect = async (stream: AsyncIterable<string>): Promise<string[]> => {
  const found: string[] = [];
  for await (const item of stream) found.push(item);
  return found;
};

describe('merging streams', () => {
  it('keeps the order of each and loses nothing', async () => {
    const all = await collect(mergeStreams([words('a1', 'a2', 'a3'), words('b1', 'b2'), words()]));
    expect(all.toSorted()).toEqual(['a1', 'a2', 'a3', 'b1', 'b2']);
    expect(all.filter((word) => word.startsWith('a'))).toEqual(['a1', 'a2', 'a3']);
  });

  it('does not wait for a stream that has nothing to say', async () => {
    async function* silent(): AsyncIterable<string> {
      await new Promise(() => {});
      yield 'never';
    }
    const iterator = mergeStreams([silent(), words('a')])[Symbol.asyncIterator]();
    expect(await iterator.next()).toEqual({ done: false, value: 'a' });
  });

  it('keeps nothing of what was read while another stream is quiet', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    async function* silent(): AsyncIterable<{ at: number }> {
      yield await new Promise(() => {});
    }
    async function* busy(): AsyncIterable<{ at: number }> {
      for (let at = 0; ; at += 1) yield await Promise.resolve({ at });
    }
    const iterator = mergeStreams([silent(), busy()])[Symbol.asyncIterator]();
    const read = async () => new WeakRef((await iterator.next()).value as object);
    const items = await Array.fromAsync({ length: 100 }, read);
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
    expect(items.filter((item) => item.deref() !== undefined).length).toBeLessThan(5);
    expect(await iterator.next()).toMatchObject({ value: { at: 100 } });
  });

  it('fails with the first stream that fails, and ends the others', async () => {
    let ended = false;
    async function* broken(): AsyncIterable<string> {
      yield await Promise.reject(new Error('unreadable'));
    }
    async function* endless(): AsyncIterable<string> {
      try {
        for (;;) yield await Promise.resolve('x');
      } finally {
        ended = true;
      }
    }
    await expect(collect(mergeStreams([endless(), broken()]))).rejects.toThrow('unreadable');
    await new Promise((resolve) => setImmediate(resolve));
    expect(ended).toBe(true);
  });

  it('ends the streams when the reader stops', async () => {
    let ended = false;
    async function* endless(): AsyncIterable<string> {
      try {
        for (;;) yield await Promise.resolve('x');
      } finally {
        ended = true;
      }
    }
    for await (const _ of mergeStreams([endless()])) break;
    await new Promise((resolve) => setImmediate(resolve));
    expect(ended).toBe(true);
  });
});
