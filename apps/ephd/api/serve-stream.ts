import { toFailure } from '@eph/contract';
import type { Context } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { LongUse } from './long-use.ts';

/** Sends items as server-sent events. A stream that ephd ends has a last event named `end`, which says why. */
export const serveStream = (c: Context, items: AsyncIterable<unknown>, use: LongUse | undefined): Response =>
  streamSSE(c, async (stream) => {
    using _ = use;
    stream.onAbort(() => use?.clientHasGone());
    for await (const item of items) await stream.writeSSE({ data: JSON.stringify(item), ...idOf(item) });
    if (use === undefined || !use.signal.aborted || use.isClientGone) return;
    const { code, message } = toFailure(use.signal.reason);
    await stream.writeSSE({ event: 'end', data: JSON.stringify({ code, message }) });
  });

/** An event that is stored has an id, after which a client can go on. */
const idOf = (item: unknown): { readonly id?: string } => {
  const { event } = item as { readonly event?: { readonly id: string | null } };
  return event?.id === undefined || event.id === null ? {} : { id: event.id };
};
