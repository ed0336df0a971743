import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readEventStream } from './event-stream.ts';

const readEvents = (chunks: readonly string[]) => Array.fromAsync(readEventStream(toAsync(chunks)));

const read = async (chunks: readonly string[]): Promise<string[]> => (await readEvents(chunks)).map(({ data }) => data);

async function* toAsync(chunks: readonly string[]): AsyncGenerator<string> {
  yield* chunks;
}

describe('a stream of server-sent events', () => {
  it('gives the data of each event and leaves comments and other fields out', async () => {
    const stream = ': hello\n\nevent: log\nid: 1\ndata: one\n\ndata:two\ndata: lines\n\n:\n\n';
    expect(await read([stream])).toStrictEqual(['one', 'two\nlines']);
  });

  it('gives the name of each event', async () => {
    expect(await readEvents(['data: one\n\nevent: end\ndata: two\n\nevent:without data\n\ndata: three\n\n'])).toStrictEqual([
      { name: '', data: 'one' },
      { name: 'end', data: 'two' },
      { name: '', data: 'three' },
    ]);
  });

  it('does not care where the network cuts it or how lines end', async () => {
    const ends = fc.constantFrom('\n', '\r\n', '\r');
    const texts = fc.array(fc.stringMatching(/^[a-zäあ ]{0,12}$/), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(texts, ends, fc.integer({ min: 1, max: 7 }), async (data, end, size) => {
        const whole = data.map((one) => `data: ${one}${end}${end}`).join('') + `: bye${end}`;
        const chunks = whole.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
        expect(await read(chunks)).toStrictEqual(data);
      }),
    );
  });

  it('drops an event that was not finished', async () => {
    expect(await read(['data: whole\n\ndata: ha'])).toStrictEqual(['whole']);
  });

  it('gives up on an event without end instead of filling the memory', async () => {
    const chunks = Array.from({ length: 100 }, () => 'x'.repeat(64 * 1024));
    await expect(read(['data: ', ...chunks])).rejects.toThrow('longer than 4 MiB');
  });
});
