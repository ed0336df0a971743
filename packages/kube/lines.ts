import type { EphError } from '@eph/contract';

const newline = 10;

/**
 * Text as lines, without their ends; also the last one, where nothing ends it. A line that is longer than the limit is an error, or with
 * `cut` comes without the rest of it: nothing that is longer is kept in memory.
 */
export async function* readLines(
  chunks: AsyncIterable<Uint8Array>,
  limitBytes: number,
  tooLong: 'cut' | (() => EphError),
): AsyncGenerator<string, void> {
  let held: Uint8Array[] = [];
  let length = 0;

  const hold = (part: Uint8Array): void => {
    const room = limitBytes - length;
    if (part.length > room && tooLong !== 'cut') throw tooLong();
    if (room <= 0 || part.length === 0) return;
    held.push(part.length > room ? part.subarray(0, room) : part);
    length += Math.min(part.length, room);
  };

  const take = (): string => {
    const line = Buffer.concat(held, length).toString();
    held = [];
    length = 0;
    return line;
  };

  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, from)) {
      hold(chunk.subarray(from, at));
      yield take();
      from = at + 1;
    }
    hold(chunk.subarray(from));
  }
  if (length > 0) yield take();
}
