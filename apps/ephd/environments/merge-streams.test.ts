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
