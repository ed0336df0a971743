import { EphError } from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readLines } from './lines.ts';

const pieces = async function* (...parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts;
};

const tooLong = (): EphError => new EphError('cluster.unreachable', 'too long');

const read = (parts: readonly Uint8Array[], limit = 1_000, long: 'cut' | (() => EphError) = tooLong): Promise<string[]> =>
  Array.fromAsync(readLines(pieces(...parts), limit, long));

const bytes = (text: string): Uint8Array => Buffer.from(text);

describe('lines', () => {
  it('are the same wherever a connection cuts the text, also within a character', async () => {
    const cases = fc.record({
      lines: fc.array(fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\n', ' '))),
      size: fc.integer({ min: 1, max: 7 }),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ lines, size }) => {
        const whole = bytes(lines.map((line) => `${line}\n`).join(''));
        const parts = Array.from({ length: Math.ceil(whole.length / size) }, (_, at) =>
          whole.subarray(at * size, (at + 1) * size),
        );
        const decoded = lines.map((line) => Buffer.from(line).toString());
        expect(await read(parts, 10_000)).toEqual(decoded);
      }),
    );
  });

  it('include the last one, which nothing ends', async () => {
    expect(await read([bytes('one\ntw'), bytes('o')])).toEqual(['one', 'two']);
  });

  it('that are too long are an error, in one piece or in many', async () => {
    await expect(read([bytes('x'.repeat(11))], 10)).rejects.toThrow('too long');
    await expect(
      read(
        Array.from({ length: 11 }, () => bytes('x')),
        10,
      ),
    ).rejects.toThrow('too long');
    expect(await read([bytes(`${'x'.repeat(10)}\n`)], 10)).toEqual(['x'.repeat(10)]);
  });

  it('are cut instead where that is asked for, and the next one is whole', async () => {
    expect(await read([bytes('123456'), bytes('789\nabc\n')], 5, 'cut')).toEqual(['12345', 'abc']);
  });
});
