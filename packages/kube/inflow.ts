import { Readable } from 'node:stream';
import type { Channels } from './channels.ts';

/** What comes on channels, as streams. As long as one of them is full, nothing is read from the connection. */
export class Inflow {
  readonly #full = new Set<Readable>();
  #channels: Channels | undefined;

  /** Known only after streams exist: something may come at once. */
  connect(channels: Channels): void {
    this.#channels = channels;
    if (this.#full.size > 0) channels.pause();
  }

  createStream(): Readable {
    const stream = new Readable({
      read: () => this.#hasRoom(stream),
      // Whoever wants no more does not stop the others.
      destroy: (error, done) => {
        this.#hasRoom(stream);
        done(error);
      },
    });
    return stream;
  }

  push(stream: Readable, bytes: Buffer): void {
    if (stream.destroyed || stream.readableEnded || bytes.length === 0 || stream.push(bytes)) return;
    this.#full.add(stream);
    this.#channels?.pause();
  }

  #hasRoom(stream: Readable): void {
    if (this.#full.delete(stream) && this.#full.size === 0) this.#channels?.resume();
  }
}
