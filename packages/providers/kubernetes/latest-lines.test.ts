import { describe, expect, it } from 'vitest';
import { LatestLines } from './latest-lines.ts';

const lines = (count: number, ...given: readonly (readonly [stamp: string, text: string])[]): LatestLines => {
  const latest = new LatestLines(count);
  for (const [stamp, text] of given) latest.add({ part: 'web-1', line: { at: null, stamp, text } });
  return latest;
};
const textsOf = ({ all }: LatestLines): string[] => all.map(({ line }) => line.text);

describe('the latest lines of several logs', () => {
  it('are sorted by time, without changing the order within a log', () => {
    const latest = lines(10, ['1', 'a'], ['3', 'c'], ['', 'of c'], ['5', 'e']);
    latest.merge(lines(10, ['2', 'b'], ['4', 'd']));
    expect(textsOf(latest)).toEqual(['a', 'b', 'c', 'of c', 'd', 'e']);
  });

  it('are as many as were asked for', () => {
    const latest = lines(3, ['1', 'a'], ['4', 'd'], ['5', 'e']);
    latest.merge(lines(3, ['2', 'b'], ['3', 'c'], ['6', 'f']));
    expect(textsOf(latest)).toEqual(['d', 'e', 'f']);
  });

  it('are no more than memory allows, however many were asked for', () => {
    const latest = new LatestLines(100_000);
    const text = 'x'.repeat(60_000);
    for (let number = 0; number < 5_000; number += 1)
      latest.add({ part: 'web-1', line: { at: null, stamp: String(number), text } });
    expect(latest.all.length).toBeLessThan(150);
    expect(latest.all.at(-1)?.line.stamp).toBe('4999');
  });
});
