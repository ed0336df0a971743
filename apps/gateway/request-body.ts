import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

/** Requests with neither header have no body, whatever the method (RFC 9112, 6.3). */
export const hasBody = (request: IncomingMessage): boolean =>
  request.headers['transfer-encoding'] !== undefined || (request.headers['content-length'] ?? '0') !== '0';

/** The client holds its body back until it is told to go on. Anything but `100-continue` was refused by the server before. */
export const awaitsContinue = (request: IncomingMessage): boolean =>
  request.headers.expect !== undefined && request.httpVersion === '1.1' && hasBody(request);

/**
 * The body of a request on its way to the upstream. A stream of its own, because the upstream client destroys what it was given
 * when the upstream fails or answers early, and destroying the request itself would cut the client off before it is told.
 */
export class RequestBody extends Readable {
  readonly #request: IncomingMessage;
  readonly #sendContinue: () => void;
  #begun = false;

  /** `sendContinue` is called before the first byte is wanted: the moment to tell a client that waits for it to go on. */
  constructor(request: IncomingMessage, sendContinue: () => void) {
    super();
    this.#request = request;
    this.#sendContinue = sendContinue;
    // Whoever reads learns of an error from its own listener; between two attempts nobody reads, and nothing is lost.
    this.on('error', () => undefined);
  }

  override _read(): void {
    if (!this.#begun) this.#begin();
    this.#request.resume();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#request.off('data', this.#onData);
    // The rest is read and dropped, so that the client gets to read its answer and may go on using the connection.
    if (this.#begun) this.#request.resume();
    callback(error);
  }

  #begin(): void {
    this.#begun = true;
    this.#sendContinue();
    this.#request.on('data', this.#onData);
    this.#request.on('end', () => this.push(null));
  }

  readonly #onData = (chunk: Buffer): void => {
    if (!this.push(chunk)) this.#request.pause();
  };
}
