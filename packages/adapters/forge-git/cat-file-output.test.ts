import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCatFileParser, type GitObject } from './cat-file-output.ts';

const id = 'a'.repeat(40);

const parseAll = (chunks: readonly Buffer[], limitBytes: number): (GitObject | undefined)[] => {
  const answers: (GitObject | undefined)[] = [];
  const parse = createCatFileParser({ limit: () => limitBytes, answer: (object) => answers.push(object) });
  for (const chunk of chunks) parse(chunk);
  return answers;
};

const cut = (bytes: Buffer, places: readonly number[]): Buffer[] => {
  const sorted = [0, ...places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
  return sorted.slice(1).map((end, index) => bytes.subarray(sorted[index], end));
};

describe('the answers of git cat-file', () => {
  it('are the same however they arrive', () => {
    const contents = fc.array(fc.option(fc.uint8Array({ maxLength: 60 }), { nil: undefined }), { maxLength: 8 });
    fc.assert(
      fc.property(contents, fc.array(fc.nat(), { maxLength: 10 }), fc.nat({ max: 60 }), (objects, places, limitBytes) => {
        const stream = Buffer.concat(
          objects.map((content) =>
            content === undefined
              ? Buffer.from(`${id}^{commit} missing\n`)
              : Buffer.concat([Buffer.from(`${id} blob ${content.length}\n`), content, Buffer.from('\n')]),
          ),
        );
        const expected = objects.map((content) => {
          if (content === undefined) return undefined;
          return {
            id,
            type: 'blob',
            size: content.length,
            content: content.length > limitBytes ? undefined : Buffer.from(content),
          };
        });
        expect(parseAll(cut(stream, places), limitBytes)).toEqual(expected);
      }),
    );
  });

  it('that make no sense are an error, not an object', () => {
    expect(() => parseAll([Buffer.from('fatal: something\n')], 10)).toThrow('which is not a valid header');
    expect(() => parseAll([Buffer.alloc(10_000, 'x')], 10)).toThrow('too long');
  });
});
