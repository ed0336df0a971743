import { type EnvironmentId, environmentId } from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseEnvironments, withBlock, withoutBlock } from './note-text.ts';

const one = environmentId('0000000000000001');
const two = environmentId('0000000000000002');
const three = environmentId('0000000000000003');
const none = Buffer.alloc(0);

const note = (...blocks: readonly (readonly [EnvironmentId, string])[]): Buffer =>
  blocks.reduce<Buffer>((text, [environment, body]) => withBlock(text, environment, 'branch:x', body), none);

/** Lines that people, or hostile repositories, may write. */
const line = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.constantFrom(`[eph ${one} branch:x]`, `[end ${one}]`, `[end ${two}]`, ` [end ${one}]`, '[eph ', '', ' '),
);
const text = fc.array(line, { maxLength: 6 }).map((lines) => lines.join('\n'));

describe('the text of a note', () => {
  it('is readable as it stands', () => {
    expect(note([one, 'ready\nat http://x'], [two, 'starting']).toString()).toBe(
      `[eph ${one} branch:x]\nready\nat http://x\n[end ${one}]\n\n[eph ${two} branch:x]\nstarting\n[end ${two}]\n`,
    );
  });

  it('replaces a block in its place', () => {
    const changed = withBlock(note([one, 'a'], [two, 'b'], [three, 'c']), two, 'branch:x', 'new');
    expect(changed).toEqual(note([one, 'a'], [two, 'new'], [three, 'c']));
  });

  it('keeps what people wrote around the blocks, in any encoding', () => {
    const theirs = Buffer.concat([Buffer.from('written by hand '), Buffer.from([0xff, 0xfe]), Buffer.from('\n')]);
    const both = withBlock(theirs, one, 'branch:x', 'ready');
    expect(both.subarray(0, theirs.length)).toEqual(theirs);
    expect(withoutBlock(both, one)).toEqual(theirs);
  });

  it('is empty when the last block is gone', () => {
    expect(withoutBlock(note([one, 'a']), one)).toEqual(none);
    expect(withoutBlock(note([one, 'a'], [two, 'b']), one)).toEqual(note([two, 'b']));
  });

  it('puts a title on one line', () => {
    expect(withBlock(none, one, 'branch:a\nb\u2028c', 'x').toString().split('\n')[0]).toBe(`[eph ${one} branch:a b\u2028c]`);
  });

  it.each([
    ['beginnings of one environment', `[eph ${one} x]\n`],
    ['beginnings of many', '[eph {} x]\n'],
    ['a beginning and the end of another', `[eph ${one} x]\n[end ${two}]\n`],
    ['ends', `[end ${one}]\n`],
    ['brackets', '['],
    ['half a beginning', `[eph ${one} `],
    ['empty lines', '\n'],
  ])('of 1 MiB with nothing but %s has no block, and gets one', { timeout: 10_000 }, (_, piece) => {
    const pieces = Array.from({ length: Math.floor(1024 ** 2 / piece.length) }, (__, index) =>
      piece.replace('{}', index.toString(16).padStart(16, '0')),
    );
    const hostile = Buffer.from(`${pieces.join('')}x\n`);
    expect(parseEnvironments(hostile)).toEqual([]);
    const both = withBlock(hostile, three, 'branch:x', 'ready');
    expect(parseEnvironments(both)).toEqual([three]);
    expect(parseEnvironments(withoutBlock(both, three))).toEqual([]);
  });

  it('has the blocks that a regular expression from marker to marker finds', () => {
    const pattern = /^\[eph ([0-9a-f]{16}) [^\n]*\]\n(?:[^\n]*\n)*?\[end \1\]\n?/gm;
    const lines = fc.array(
      fc.constantFrom(
        `[eph ${one} x]`,
        `[eph ${two} x]`,
        `[end ${one}]`,
        `[end ${two}]`,
        `[end ${one}]x`,
        `[eph ${one} ]x`,
        '',
        'x',
      ),
    );
    fc.assert(
      fc.property(lines, fc.boolean(), (given, isEnded) => {
        const written = given.join('\n') + (isEnded ? '\n' : '');
        const expected = [...written.matchAll(pattern)].map((match) => match[1]);
        expect(parseEnvironments(Buffer.from(written))).toEqual(expected);
      }),
    );
  });

  it('lets no text change the block of another environment', () => {
    fc.assert(
      fc.property(text, text, text, (first, second, third) => {
        const before = note([one, first], [two, second]);
        expect(parseEnvironments(before)).toEqual([one, two]);
        const after = withBlock(before, one, 'branch:x', third);
        expect(after).toEqual(note([one, third], [two, second]));
        expect(withBlock(after, one, 'branch:x', third)).toEqual(after);
        expect(parseEnvironments(withoutBlock(after, two))).toEqual([one]);
        expect(withoutBlock(withoutBlock(after, one), two)).toEqual(none);
      }),
    );
  });
});
