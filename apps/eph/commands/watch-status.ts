import { setTimeout as sleep } from 'node:timers/promises';
import type { EnvironmentDetailView, EnvironmentView } from '@eph/contract';
import { CommandFailure } from '../command-failure.ts';
import type { Context } from '../context.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { formatTime } from '../figures.ts';
import { findEnvironment } from '../find-environment.ts';
import { safeLine, safeLines } from '../safe-text.ts';
import { describeStates, noEnvironments, renderEnvironment, renderOverview } from '../status-view.ts';

/** What one look at ephd brought. */
type Look =
  | { readonly state: 'seen'; readonly environments: readonly EnvironmentView[]; readonly only?: EnvironmentDetailView }
  | { readonly state: 'lost'; readonly message: string };

type Show = (look: Look) => Promise<void>;

/** Shows what is, again and again, until Ctrl-C or until the one environment is gone. An ephd that restarts is waited for. */
export const watchStatus = async (context: Context, name: string | undefined, intervalSeconds: number): Promise<ExitCode> => {
  const { client, err } = context;
  const signal = context.interruption();
  const watched = name === undefined ? undefined : await findEnvironment(client, name);
  const show = chooseShow(context);
  const look = async (): Promise<Look> => {
    if (watched === undefined) return { state: 'seen', environments: await client.listEnvironments(signal) };
    const only = await client.readEnvironment(watched.id, signal);
    return { state: 'seen', environments: [only], only };
  };

  // The first look may fail like any other command; only then is there something to come back to.
  let first = true;
  while (!signal.aborted) {
    try {
      await show(await look());
    } catch (error) {
      if (signal.aborted) break;
      if (!(error instanceof CommandFailure)) throw error;
      if (watched !== undefined && error.exitCode === exitCodes.notFound) {
        await err.lines([safeLine(`${watched.name} is gone.`)]);
        break;
      }
      if (first || error.exitCode !== exitCodes.unreachable) throw error;
      await show({ state: 'lost', message: error.message });
    }
    first = false;
    await sleep(intervalSeconds * 1_000, undefined, { signal }).catch(() => undefined);
  }
  return exitCodes.ok;
};

const chooseShow = (context: Context): Show => {
  if (context.json) return showJsonChanges(context);
  return context.out.isTerminal ? showScreen(context) : showChanges(context);
};

const clearScreen = '\x1b[2J';
const toTopLeft = '\x1b[H';
const clearRestOfLine = '\x1b[K';
const clearRestOfScreen = '\x1b[J';
/** A line that is too long is clipped, so that a line stays a line. */
const wrapOff = '\x1b[?7l';
const wrapOn = '\x1b[?7h';

const showScreen = ({ out, now }: Context): Show => {
  let body: readonly string[] = [];
  let start = clearScreen;
  return async (look) => {
    if (look.state === 'seen') body = renderBody(look);
    const title = `${formatTime(now())}  Ctrl-C ends`;
    const heading =
      look.state === 'seen' ? out.paint('faint', title) : out.paint('bad', safeLine(look.message.split('\n')[0] ?? ''));
    const lines = clip([heading, '', ...body], out.rows);
    await out.write(
      `${start}${wrapOff}${toTopLeft}${lines.map((line) => `${line}${clearRestOfLine}\n`).join('')}${clearRestOfScreen}${wrapOn}`,
    );
    start = '';
  };

  function renderBody({ environments, only }: Extract<Look, { state: 'seen' }>): readonly string[] {
    if (only !== undefined) return renderEnvironment(out, only, now());
    return environments.length === 0 ? [noEnvironments] : renderOverview(out, environments);
  }
};

/** The last row stays empty: a line break there would scroll the first one away. */
const clip = (lines: readonly string[], rows = Number.POSITIVE_INFINITY): readonly string[] => {
  if (lines.length < rows) return lines;
  const kept = Math.max(1, rows - 2);
  return [...lines.slice(0, kept), `… and ${lines.length - kept} more lines`];
};

const showChanges = ({ out, err, now }: Context): Show => {
  let before: ReadonlyMap<string, string> = new Map();
  let lost = false;
  return async (look) => {
    if (look.state === 'lost') {
      if (!lost) await err.lines([safeLines(`${look.message.split('\n')[0]} Still trying.`)]);
      lost = true;
      return;
    }
    lost = false;
    const after = describeStates(look.environments);
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
  return async (look) => {
    if (look.state === 'lost') return;
    const after = JSON.stringify(look.environments, (key, value: unknown) => (key === 'usage' ? undefined : value));
    if (after !== before) await out.jsonLine(look.only ?? { environments: look.environments });
    before = after;
  };
};
