import { describe, expect, it } from 'vitest';
import { displayWidth } from './display-width.ts';
import { excerpt, splitLines } from './source-excerpt.ts';

const lines = (text: string): readonly string[] => splitLines(new TextEncoder().encode(text));

describe('an excerpt', () => {
  it('has a caret under the column, whatever script the line is written in', () => {
    expect(excerpt(lines('a\r\nname: x\n'), 2, 7)).toStrictEqual(['  2 | name: x', '    |       ^']);
    expect(excerpt(['店: x'], 1, 4)).toStrictEqual(['  1 | 店: x', '    |     ^']);
    expect(excerpt(['\t\tx'], 1, 3)).toStrictEqual(['  1 |   x', '    |   ^']);
    expect(excerpt(['\u001bx'], 1, 2)).toStrictEqual(['  1 | \\x1bx', '    |     ^']);
  });

  it('is empty where there is nothing to show', () => {
    for (const [line, column] of [
      [0, 1],
      [1, 1],
      [7, 1],
    ] as const)
      expect(excerpt(['  '], line, column)).toStrictEqual([]);
  });

  it('of a very long line is the part around the column', () => {
    const [line = '', caret = ''] = excerpt([`${'a'.repeat(5_000)}!${'b'.repeat(5_000)}`], 1, 5_001);
    expect(displayWidth(line)).toBeLessThan(200);
    expect(line[caret.indexOf('^')]).toBe('!');
    expect(line).toMatch(/^ {2}1 \| …a+!b+…$/);
    expect(excerpt(['abc'], 1, 9_999)[1]).toBe('    |    ^');
  });
});
