import { EphError, type Log, toEnd, toFailure } from '@eph/contract';
import type { Cancel, Clock } from '@eph/engine/time/clock';
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { LongUse } from './long-use.ts';

/** Proxies close connections on which nothing happens for a minute. */
const heartbeatMs = 15_000;
/** How long a reader may leave what it was sent unread. */
const patienceMs = 30_000;

export interface StreamOptions {
  readonly clock: Clock;
  readonly log: Log;
}

type Outgoing = HttpBindings['outgoing'];

const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'transfer-encoding': 'chunked' };

/**
 * Sends items as server-sent events. A stream that ephd ends has a last event named `end`, which says why. One that ends by
 * itself, such as a log that is not followed, has none.
 */
export const serveStream = (
  c: Context,
  items: AsyncIterable<unknown>,
  use: LongUse,
  outgoing: Outgoing,
  { clock, log }: StreamOptions,
): Response => {
  const failed = (reason: string): void => log.warn({ path: c.req.path, reason }, 'a stream failed');
  const sender = new EventSender(items, use, outgoing, clock, failed);
  // The server keeps a promise for each chunk of a body until the body ends, so items go past it. It sends the head before it
  // asks for the body, and closes the response after it.
  const body = new ReadableStream(
    {
      async pull(controller) {
        await sender.run();
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return c.body(body, 200, headers);
};

class EventSender {
  readonly #items: AsyncIterator<unknown>;
  readonly #use: LongUse;
  readonly #outgoing: Outgoing;
  readonly #clock: Clock;
  readonly #failed: (reason: string) => void;
  readonly #ended = Promise.withResolvers<void>();
  #isOpen = true;
  /** Of the next heartbeat while there is nothing to send, else of the end of a reader that does not read. */
  #cancelTimer: Cancel = () => undefined;

  constructor(items: AsyncIterable<unknown>, use: LongUse, outgoing: Outgoing, clock: Clock, failed: (reason: string) => void) {
    this.#items = items[Symbol.asyncIterator]();
    this.#use = use;
    this.#outgoing = outgoing;
    this.#clock = clock;
    this.#failed = failed;
    if (outgoing.destroyed) this.#close();
    else outgoing.once('close', () => this.#close());
  }

  /** Until everything is sent, or the stream is ended. */
  run(): Promise<void> {
    const { signal } = this.#use;
    const end = (): void => this.#end(signal.reason);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
    this.#send(': connected\n\n');
    void this.#sendItems();
    return this.#ended.promise;
  }

  async #sendItems(): Promise<void> {
    try {
      while (this.#isOpen) {
        this.#beat();
        const next = await this.#items.next();
        if (next.done === true) return this.#end();
        if (!this.#send(encodeItem(next.value))) await this.#drained();
      }
    } catch (error) {
      this.#end(error);
    }
  }

  /** False if the reader should read first. */
  #send(text: string): boolean {
    return this.#isOpen ? this.#outgoing.write(text) : true;
  }

  #drained(): Promise<void> {
    this.#setTimer(patienceMs, () => this.#end(new EphError('api.too_slow', tooSlow)));
    return new Promise((resolve) => this.#outgoing.once('drain', resolve));
  }

  #beat(): void {
    this.#setTimer(heartbeatMs, () => {
      this.#send(':\n\n');
      this.#beat();
    });
  }

  #end(reason?: unknown): void {
    if (!this.#isOpen) return;
    if (reason !== undefined) {
      const failure = toFailure(reason);
      if (failure.code === 'internal') this.#failed(failure.message);
      this.#send(`event: end\ndata: ${JSON.stringify(toEnd(failure))}\n\n`);
    }
    // What is left is sent if the reader takes it soon.
    this.#setTimer(patienceMs, () => this.#outgoing.destroy());
    this.#release();
  }

  /** Nobody reads any more. */
  #close(): void {
    this.#cancelTimer();
    this.#release();
  }

  #release(): void {
    this.#isOpen = false;
    this.#use[Symbol.dispose]();
    // Why it could not end concerns nobody.
    void this.#items.return?.()?.catch(() => undefined);
    this.#ended.resolve();
  }

  #setTimer(ms: number, callback: () => void): void {
    if (!this.#isOpen) return;
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
