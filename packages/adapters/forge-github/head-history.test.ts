import { describe, expect, it } from 'vitest';
import { readHeadHistory } from './head-history.ts';

const [a, b, zeros] = ['a'.repeat(40), 'b'.repeat(40), '0'.repeat(40)];
const at = (second: number): string => `2026-01-05T09:00:${String(second).padStart(2, '0')}Z`;
const push = (id: number, second: number, after: string, ref = 'refs/heads/feature') => ({
  id,
  ref,
  after,
  timestamp: at(second),
});

describe('the head of a branch', () => {
  it('is where the last push before a moment left it, in whatever order they are listed', () => {
    const history = readHeadHistory([push(2, 20, b), push(1, 10, a)], 'feature');
    expect([5, 10, 11, 20, 21].map((second) => history.headAt(at(second)))).toEqual([undefined, undefined, a, a, b]);
    expect(history.head).toBe(b);
  });

  it('is the later of two pushes in one second', () => {
    const history = readHeadHistory([push(2, 10, b), push(1, 10, a)], 'feature');
    expect([history.headAt(at(11)), history.head]).toEqual([b, b]);
  });

  it('is not known before the first push that was noted, nor while the branch was deleted', () => {
    const history = readHeadHistory([push(1, 10, a), push(2, 20, zeros), push(3, 30, b)], 'feature');
    expect([9, 15, 25, 35].map((second) => history.headAt(at(second)))).toEqual([undefined, a, undefined, b]);
  });

  it('has nothing to do with pushes to other branches', () => {
    expect(readHeadHistory([push(1, 10, a, 'refs/heads/feature-2'), push(2, 10, b, 'refs/tags/feature')], 'feature').head).toBe(
      undefined,
    );
    expect(readHeadHistory([], 'feature').headAt(at(1))).toBe(undefined);
  });
});
