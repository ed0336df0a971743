import { setTimeout as sleep } from 'node:timers/promises';
import type { EventType, EventView, StreamItem } from '@eph/contract';
import { CommandFailure } from '../command-failure.ts';
import type { Context } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import { formatTime } from '../figures.ts';
import { safeLine, safeLines } from '../safe-text.ts';

const retryMs = 1_000;

type StreamedEvent = Extract<StreamItem, { readonly type: 'event' }>['event'];

export interface EventChoice {
  readonly project?: string;
  /** As they were typed: ephd says which there are. */
  readonly type?: readonly EventType[];
  readonly text?: string;
}

/** Prints these events and what follows them until Ctrl-C. After a loss of the connection it goes on where it was. */
export const followEvents = async (
  context: Context,
  environment: string | undefined,
  { project, type, text = '' }: EventChoice,
  past: readonly EventView[],
): Promise<void> => {
  const { client, out, err, json } = context;
  const signal = context.interruption();
  const matches = (event: StreamedEvent): boolean =>
    (type?.some((one) => one === event.type) ?? true) && event.message.toLowerCase().includes(text.toLowerCase());
  const print = (event: StreamedEvent): Promise<void> =>
    json ? out.jsonLine(event) : out.lines([render(event, environment === undefined)]);
  for (const event of past) await print(event);
  let after = past.at(-1)?.id;
  let isConnected = true;
  const take = async (item: StreamItem): Promise<void> => {
    isConnected = true;
    if (item.type === 'history')
      await err.lines([item.reachable ? 'History can be read again.' : safeLines(`History cannot be read: ${item.message}`)]);
    if (item.type !== 'event') return;
    after = item.event.id ?? after;
    if (matches(item.event)) await print(item.event);
  };
  while (!signal.aborted) {
    const loss = await readUntilLost(client.followChanges({ query: { project, environment, after }, signal }), take);
    if (signal.aborted) return;
    if (isConnected) await err.lines([safeLines(`${loss} Trying again.`)]);
    isConnected = false;
    await sleep(retryMs, undefined, { signal }).catch(() => undefined);
  }
};

/** Returns why a stream ended that can be resumed. */
const readUntilLost = async (stream: AsyncIterable<StreamItem>, take: (item: StreamItem) => Promise<void>): Promise<string> => {
  try {
    for await (const item of stream) await take(item);
    return 'The connection to ephd was closed.';
  } catch (error) {
    const canResume =
      error instanceof CommandFailure && (error.exitCode === exitCodes.unreachable || error.code === 'api.too_slow');
    if (!canResume) throw error;
    return error.message;
  }
};

const render = ({ at, environment, details, type, message }: StreamedEvent, withName: boolean): string => {
  const name = typeof details['name'] === 'string' ? details['name'] : (environment ?? '-');
  return [formatTime(at), ...(withName ? [name] : []), type, message].map(safeLine).join('  ');
};
