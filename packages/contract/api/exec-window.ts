/** How many bytes one side of an exec sends before the other has passed them on. */
export const execWindow = 256 * 1024;

const mostInFrame = 32 * 1024;

/**
 * Limits what one side sends. Pausing the connection instead is not possible in a browser. It could also block for ever: a command
 * that waits until its output is read, while its input is in front of the frame that says so.
 */
export class ExecWindow {
  #free = execWindow;
  #grown = Promise.withResolvers<void>();

  /** Yields each piece as soon as it may be sent. */
  async *split(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
    let rest = bytes;
    while (rest.length > 0) {
      while (this.#free === 0) await this.#grown.promise;
      const piece = rest.subarray(0, Math.min(this.#free, mostInFrame));
      this.#free -= piece.length;
      rest = rest.subarray(piece.length);
      yield piece;
    }
  }

  /** The other side has passed so many bytes on. */
  grow(length: number): void {
    this.#free = Math.min(execWindow, this.#free + length);
    this.#grown.resolve();
    this.#grown = Promise.withResolvers();
  }
}
