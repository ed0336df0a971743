import type { UnderlyingSource } from 'node:stream/web';
import { EphError, type Log, toFailure } from '@eph/contract';
import type { Cancel, Clock } from '@eph/engine/time/clock';
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { LongUse } from './long-use.ts';

/** Proxies close connections on which nothing happens for a minute. */
const heartbeatMs = 15_000;
/** How long a reader may leave what it was sent unread. */
const patienceMs = 30_000;

const heartbeat = ':\n\n';

export interface StreamOptions {
  readonly clock: Clock;
  readonly log: Log;
}

const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };

/**
 * Sends items as server-sent events, each when the reader has taken the one before it. A stream that ephd ends has a last
 * event named `end`, which says why. One that ends by itself, such as a log that is not followed, has none.
 */
export const serveStream = (
  c: Context,
  items: AsyncIterable<unknown>,
  use: LongUse,
  outgoing: HttpBindings['outgoing'] | undefined,
  { clock, log }: StreamOptions,
): Response => {
  const source = new EventSource(items, use, clock, {
    failed: (reason) => log.warn({ path: c.req.path, reason }, 'a stream failed'),
    disconnect: () => outgoing?.destroy(),
  });
  outgoing?.once('close', () => source.close());
  // Without a queue, `pull` is called only for a reader that has taken everything.
  return c.body(new ReadableStream(source, { highWaterMark: 0 }), 200, headers);
};

interface Connection {
  readonly failed: (reason: string) => void;
  readonly disconnect: () => void;
}

class EventSource implements UnderlyingSource<Uint8Array> {
  readonly #items: AsyncIterator<unknown>;
  readonly #use: LongUse;
  readonly #clock: Clock;
  readonly #connection: Connection;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** Of the next heartbeat while there is nothing to send, else of the end of a reader that does not read. */
  #cancelTimer: Cancel = () => undefined;

  constructor(items: AsyncIterable<unknown>, use: LongUse, clock: Clock, connection: Connection) {
    this.#items = items[Symbol.asyncIterator]();
    this.#use = use;
    this.#clock = clock;
    this.#connection = connection;
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
    const { signal } = this.#use;
    const end = (): void => this.#end(signal.reason);
    if (signal.aborted) return end();
    signal.addEventListener('abort', end, { once: true });
    this.#send(': connected\n\n');
  }

  async pull(): Promise<void> {
    this.#beat();
    try {
      const next = await this.#items.next();
      if (next.done === true) return this.#end(undefined);
      this.#send(encodeItem(next.value));
      this.#setTimer(patienceMs, () => this.#end(new EphError('api.too_slow', tooSlow)));
    } catch (error) {
      this.#end(error);
    }
  }

  cancel(): void {
    this.close();
  }

  /** Nobody reads any more. */
  close(): void {
    this.#controller = undefined;
    this.#cancelTimer();
    this.#release();
  }

  #beat(): void {
    this.#setTimer(heartbeatMs, () => {
      if (this.#controller?.desiredSize === 0) this.#send(heartbeat);
      this.#beat();
    });
  }

  #send(text: string): void {
    this.#controller?.enqueue(Buffer.from(text));
  }

  #end(reason: unknown): void {
    const controller = this.#controller;
    if (controller === undefined) return;
    if (reason !== undefined) {
      const { code, message } = toFailure(reason);
      if (code === 'internal') this.#connection.failed(message);
      this.#send(`event: end\ndata: ${JSON.stringify({ code, message })}\n\n`);
    }
    this.#controller = undefined;
    controller.close();
    // What is left is sent if the reader takes it soon.
    this.#cancelTimer();
    this.#cancelTimer = this.#clock.after(patienceMs, this.#connection.disconnect);
    this.#release();
  }

  #release(): void {
    this.#use[Symbol.dispose]();
    // Why it could not end concerns nobody.
    void this.#items.return?.()?.catch(() => undefined);
  }

  #setTimer(ms: number, callback: () => void): void {
    if (this.#controller === undefined) return;
    this.#cancelTimer();
    this.#cancelTimer = this.#clock.after(ms, callback);
  }
}

const tooSlow = 'you did not read what ephd sent; connect again to go on';

const encodeItem = (item: unknown): string => {
  const { event } = item as { readonly event?: { readonly id: string | null } };
  // An event that is stored has an id, after which a client can go on.
  const id = typeof event?.id === 'string' ? `id: ${event.id}\n` : '';
  return `${id}data: ${JSON.stringify(item)}\n\n`;
};
