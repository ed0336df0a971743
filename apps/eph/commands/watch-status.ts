import { setTimeout as sleep } from 'node:timers/promises';
import type { EnvironmentDetailView, EnvironmentView } from '@eph/contract';
import type { Client } from '../client.ts';
import { CommandFailure } from '../command-failure.ts';
import type { Context } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import { formatTime } from '../figures.ts';
import { listEnvironments } from '../find-environment.ts';
import { safeLine, safeLines } from '../safe-text.ts';
import { describeStates, noEnvironments, renderEnvironment, renderOverview } from '../status-view.ts';

export type Reading =
  | { readonly state: 'read'; readonly environments: readonly EnvironmentView[]; readonly only?: EnvironmentDetailView }
  | { readonly state: 'absent' }
  | { readonly state: 'unreachable'; readonly cause: CommandFailure };

type Show = (reading: Exclude<Reading, { state: 'absent' }>) => Promise<void>;

/** Refreshes until Ctrl-C or until the watched environment is gone. Waits for an ephd that restarts. */
export const watchStatus = async (
  context: Context,
  watched: EnvironmentDetailView | undefined,
  intervalSeconds: number,
): Promise<void> => {
  const { client, err } = context;
  const signal = context.interruption();
  const read =
    watched === undefined
      ? async (): Promise<Reading> => ({ state: 'read', environments: await listEnvironments(client, {}, signal) })
      : readOne(client, watched.id, signal);
  // The first reading fails like any other command; later ones wait for ephd to come back.
  let isFirst = true;
  const show = chooseShow(context);
  await repeatReading({ read, signal, intervalSeconds }, async (reading) => {
    if (reading.state === 'unreachable' && isFirst) throw reading.cause;
    isFirst = false;
    if (reading.state !== 'absent') await show(reading);
    else await err.lines([safeLine(`${watched?.name} is gone.`)]);
    return reading.state === 'absent' ? true : undefined;
  });
};

export const readOne = (client: Client, id: string, signal: AbortSignal) => async (): Promise<Reading> => {
  const only = await client.readEnvironment({ path: { id }, signal });
  return { state: 'read', environments: [only], only };
};

interface Repetition {
  readonly read: () => Promise<Reading>;
  readonly signal: AbortSignal;
  readonly intervalSeconds: number;
}

/** Until `take` returns something, which it returns, or until the signal aborts. */
export const repeatReading = async <T>(
  { read, signal, intervalSeconds }: Repetition,
  take: (reading: Reading) => Promise<T | undefined>,
): Promise<T | undefined> => {
  while (!signal.aborted) {
    const reading = await read().catch(toReading);
    if (signal.aborted) break;
    const result = await take(reading);
    if (result !== undefined) return result;
    await sleep(intervalSeconds * 1_000, undefined, { signal }).catch(() => undefined);
  }
  return undefined;
};

const toReading = (error: unknown): Reading => {
  if (!(error instanceof CommandFailure)) throw error;
  if (error.exitCode === exitCodes.notFound) return { state: 'absent' };
  // One slow answer says nothing about the next.
  if (error.exitCode === exitCodes.unreachable || error.code === 'api.timeout') return { state: 'unreachable', cause: error };
  throw error;
};

const chooseShow = (context: Context): Show => {
  if (context.json) return showJsonChanges(context);
  return context.out.isTerminal ? showScreen(context) : showChanges(context);
};

const clearScreen = '\x1b[2J';
const toTopLeft = '\x1b[H';
const clearRestOfLine = '\x1b[K';
const clearRestOfScreen = '\x1b[J';
/** Long lines are cut, so that each takes one row. */
const wrapOff = '\x1b[?7l';
const wrapOn = '\x1b[?7h';

const showScreen = ({ out, now }: Context): Show => {
  let body: readonly string[] = [];
  let start = clearScreen;
  return async (reading) => {
    if (reading.state === 'read') body = renderBody(reading);
    const title = `${formatTime(now())}  Ctrl-C to stop`;
    const heading =
      reading.state === 'read'
        ? out.paint('faint', title)
        : out.paint('bad', safeLine(reading.cause.message.split('\n')[0] ?? ''));
    const lines = clip([heading, '', ...body], out.rows);
    await out.write(
      `${start}${wrapOff}${toTopLeft}${lines.map((line) => `${line}${clearRestOfLine}\n`).join('')}${clearRestOfScreen}${wrapOn}`,
    );
    start = '';
  };

  function renderBody({ environments, only }: Extract<Reading, { state: 'read' }>): readonly string[] {
    if (only !== undefined) return renderEnvironment(out, only, now());
    return environments.length === 0 ? [noEnvironments] : renderOverview(out, environments);
  }
};

/** The last row stays empty: a line break there would scroll the screen. */
const clip = (lines: readonly string[], rows = Number.POSITIVE_INFINITY): readonly string[] => {
  if (lines.length < rows) return lines;
  const kept = Math.max(1, rows - 2);
  return [...lines.slice(0, kept), `… and ${lines.length - kept} more lines`];
};

export const showChanges = ({ out, err, now }: Context): Show => {
  let before: ReadonlyMap<string, string> = new Map();
  let lost = false;
  return async (reading) => {
    if (reading.state === 'unreachable') {
      if (!lost) await err.lines([safeLines(`${reading.cause.message.split('\n')[0]} Still trying.`)]);
      lost = true;
      return;
    }
    lost = false;
    const after = describeStates(reading.environments);
    await out.lines(changedLines(before, after).map((line) => safeLine(`${formatTime(now())}  ${line}`)));
    before = after;
  };
};

const changedLines = (before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): readonly string[] => [
  ...[...after].filter(([key, state]) => before.get(key) !== state).map(([key, state]) => `${key}  ${state}`),
  ...[...before.keys()].filter((key) => !after.has(key)).map((key) => `${key}  gone`),
];

/** One JSON document per line, whenever something other than CPU and memory has changed. */
const showJsonChanges = ({ out }: Context): Show => {
  let before = '';
  return async (reading) => {
    if (reading.state === 'unreachable') return;
    const after = JSON.stringify(reading.environments, (key, value: unknown) => (key === 'usage' ? undefined : value));
    if (after !== before) await out.jsonLine(reading.only ?? { environments: reading.environments });
    before = after;
  };
};
