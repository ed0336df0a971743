import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

/** Requests with neither header have no body, whatever the method (RFC 9112, 6.3). */
export const hasBody = (request: IncomingMessage): boolean =>
  request.headers['transfer-encoding'] !== undefined || (request.headers['content-length'] ?? '0') !== '0';

/** The client waits for `100 Continue` before it sends its body. Node's server has refused any other expectation. */
export const awaitsContinue = (request: IncomingMessage): boolean =>
  request.headers.expect !== undefined && request.httpVersion === '1.1' && hasBody(request);

/**
 * The body of a request to the upstream. It is a separate stream, because undici destroys the body when the upstream fails or
 * answers early, and destroying the request itself would close the client's connection before the answer is sent.
 */
export class RequestBody extends Readable {
  readonly #request: IncomingMessage;
  readonly #sendContinue: () => void;
  #begun = false;

  /** `sendContinue` is called before the first byte is read. */
  constructor(request: IncomingMessage, sendContinue: () => void) {
    super();
    this.#request = request;
    this.#sendContinue = sendContinue;
    // A reader has its own listener; between two attempts there is none, and the error would crash the process.
    this.on('error', () => undefined);
  }

  override _read(): void {
    if (!this.#begun) this.#begin();
    this.#request.resume();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#request.off('data', this.#onData);
    // The rest is read and dropped, so that the client can read its answer and keep the connection.
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
