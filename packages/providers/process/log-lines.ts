import { redact } from '@eph/contract';

/** What is longer is cut: a line is for people. */
const longestLine = 64 * 1024;

/** Colour codes stay; every other control character could move the cursor of whoever reads the log. */
// oxlint-disable-next-line no-control-regex -- control characters are what it is about
const unprintable = /\x1b(?!\[[0-9;]*m)|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]/g;

export const cleanLine = (bytes: Buffer): string =>
  redact(bytes.toString('utf8').replaceAll('\r', '').replace(unprintable, '\ufffd'));

/** Bytes in, lines out. Holds back an unfinished line, but never more than the longest line. */
export class LineSplitter {
  #held: Buffer = Buffer.alloc(0);
  #cutting = false;

  /** `end` is where in these bytes a line ends. */
  push(bytes: Buffer): readonly { readonly text: string; readonly end: number }[] {
    const lines: { text: string; end: number }[] = [];
    let from = 0;
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, from)) {
      this.#hold(bytes.subarray(from, end));
      from = end + 1;
      lines.push({ text: this.#take(), end: from });
    }
    this.#hold(bytes.subarray(from));
    return lines;
  }

  /** The unfinished line at the end, if there is one. */
  finish(): string | undefined {
    return this.#held.length === 0 ? undefined : this.#take();
  }

  #hold(bytes: Buffer): void {
    const room = longestLine - this.#held.length;
    if (bytes.length > room) this.#cutting = true;
    if (bytes.length > 0 && room > 0) this.#held = Buffer.concat([this.#held, bytes.subarray(0, room)]);
  }

  #take(): string {
    const line = cleanLine(this.#held) + (this.#cutting ? ' …' : '');
    this.#held = Buffer.alloc(0);
    this.#cutting = false;
    return line;
  }
}
