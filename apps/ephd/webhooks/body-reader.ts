import { Refusal } from './refusal.ts';

export interface BodyLimits {
  /** Of one body. */
  readonly bytes: number;
  /** Of all that are being read or looked at. */
  readonly bytesAtOnce: number;
  /** From the first byte to the last. */
  readonly timeMs: number;
}

/** What a request carries. */
export interface IncomingBody {
  /** The header `content-length`, whatever it says. */
  readonly announcedLength: string | undefined;
  readonly chunks: AsyncIterator<Uint8Array>;
}

/**
 * Reads bodies of strangers. Nobody is known before all of a body is there, so none may be large or slow, and all together may not
 * fill the memory: whoever cannot be heard now costs nothing but a hint.
 */
export class BodyReader {
  readonly #limits: BodyLimits;
  #held = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** Gives the whole body to `use` and counts it as held until that is done. */
  async withBody<T>(body: IncomingBody, use: (body: Uint8Array) => T): Promise<T> {
    const { bytes, timeMs } = this.#limits;
    // Only a hint: what arrives is counted.
    if (Number(body.announcedLength) > bytes) throw this.#tooLarge();
    const chunks: Uint8Array[] = [];
    let length = 0;
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Refusal(408, `a body must be here within ${timeMs} ms`)), timeMs);
    try {
      for (;;) {
        const chunk = await Promise.race([readChunk(body.chunks), late.promise]);
        if (chunk === undefined) break;
        chunks.push(chunk);
        length += chunk.byteLength;
        this.#held += chunk.byteLength;
        this.#check(length);
      }
      return use(Buffer.concat(chunks, length));
    } finally {
      clearTimeout(timer);
      this.#held -= length;
    }
  }

  #check(length: number): void {
    if (length > this.#limits.bytes) throw this.#tooLarge();
    if (this.#held > this.#limits.bytesAtOnce) throw new Refusal(503, 'too much arrives at once; nothing is lost by that');
  }

  #tooLarge(): Refusal {
    return new Refusal(413, `a body may have ${this.#limits.bytes} bytes and no more`);
  }
}

/** Not ended when it is given up: that would close the connection before the answer is on it. */
const readChunk = async (chunks: AsyncIterator<Uint8Array>): Promise<Uint8Array | undefined> => {
  try {
    const chunk = await chunks.next();
    return chunk.done === true ? undefined : chunk.value;
  } catch {
    // The sender went away, which is no fault of ours and not worth a trace.
    throw new Refusal(400, 'the body broke off');
  }
};
