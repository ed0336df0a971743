import { Refusal } from './refusal.ts';

export interface BodyLimits {
  readonly bytes: number;
  /** Of all bodies in memory. */
  readonly bytesAtOnce: number;
  /** From the first byte to the last. */
  readonly timeMs: number;
}

export interface IncomingBody {
  /** The header `content-length`, unchecked. */
  readonly announcedLength: string | undefined;
  readonly chunks: AsyncIterator<Uint8Array>;
}

/**
 * Reads untrusted bodies. A signature can be checked only when all of a body is there, so each one is limited in size and time, and
 * all together in memory. A refused webhook does no harm: it is only a hint, and the loop reads Git anyway.
 */
export class BodyReader {
  readonly #limits: BodyLimits;
  #held = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** Calls `use` with the whole body, which counts as held until then. */
  async withBody<T>(body: IncomingBody, use: (body: Uint8Array) => T): Promise<T> {
    const { bytes, timeMs } = this.#limits;
    // The header may be wrong, so what arrives is counted too.
    if (Number(body.announcedLength) > bytes) throw this.#tooLarge();
    const chunks: Uint8Array[] = [];
    let length = 0;
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Refusal(408, `the body did not arrive within ${timeMs} ms`)), timeMs);
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
    if (this.#held > this.#limits.bytesAtOnce)
      throw new Refusal(503, 'too many webhooks at once; nothing is lost, as Eph also polls');
  }

  #tooLarge(): Refusal {
    return new Refusal(413, `a body may have at most ${this.#limits.bytes} bytes`);
  }
}

/** Does not end the iterator: that would close the connection before the answer is sent. */
const readChunk = async (chunks: AsyncIterator<Uint8Array>): Promise<Uint8Array | undefined> => {
  try {
    const chunk = await chunks.next();
    return chunk.done === true ? undefined : chunk.value;
  } catch {
    // The sender closed the connection; its error is of no use in the log.
    throw new Refusal(400, 'the body is incomplete');
  }
};
