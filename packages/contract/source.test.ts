import { describe, expect, it } from 'vitest';
import { cutCheckText } from './source.ts';

const limit = 64 * 1024;

describe('the text of a check', () => {
  it.each([
    ['', ''],
    ['without an end', 'without an end'],
    ['x'.repeat(limit), 'x'.repeat(limit)],
    [`${'x'.repeat(limit - 1)}\n`, `${'x'.repeat(limit - 1)}\n`],
    [`${'x'.repeat(limit - 1)}\ny`, `${'x'.repeat(limit - 1)}\n`],
    [`a\n${'x'.repeat(limit)}`, 'a\n'],
    ['x'.repeat(limit + 1), ''],
    [`${'x'.repeat(limit)}\n`, ''],
  ])('is whole lines of at most 64 Ki characters (row %#)', (text, expected) => {
    expect(cutCheckText(text) === expected).toBe(true);
  });
});
