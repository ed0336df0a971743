import { describe, expect, it } from 'vitest';
import { SeenBodies } from './seen-bodies.ts';

const body = (text: string): Uint8Array => Buffer.from(text);

describe('bodies that were seen', () => {
  it('are distinguished by forge and content', () => {
    const seen = new SeenBodies(() => 0);
    expect(seen.add('github', body('a'))).toBe(true);
    expect(seen.add('github', body('a'))).toBe(false);
    expect(seen.add('gitea', body('a'))).toBe(true);
    expect(seen.add('github', body('a '))).toBe(true);
    expect(seen.add('github', body(''))).toBe(true);
  });

  it('are ten thousand at most: a flood of others costs no more than the oldest', () => {
    const seen = new SeenBodies(() => 0);
    for (let count = 0; count < 10_000; count += 1) expect(seen.add('github', body(`${count}`))).toBe(true);
    expect(seen.add('github', body('9999'))).toBe(false);
    for (let count = 0; count < 5_000; count += 1) seen.add('github', body(`another ${count}`));
    expect(seen.add('github', body('9999'))).toBe(false);
    expect(seen.add('github', body('0'))).toBe(true);
  });

  it.each([-3_600_000, -1])('stay seen when the clock is set by %i ms', (byMs) => {
    let now = 10 * 3_600_000;
    const seen = new SeenBodies(() => now);
    seen.add('github', body('a'));
    now += byMs;
    expect(seen.add('github', body('a'))).toBe(false);
    expect(seen.add('github', body('b'))).toBe(true);
    expect(seen.add('github', body('b'))).toBe(false);
  });
});
