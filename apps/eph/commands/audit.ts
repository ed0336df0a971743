import { type FileHandle, open } from 'node:fs/promises';
import { beforeAllEvents, type EventListView, parseDuration } from '@eph/contract';
import { CommandFailure } from '../command-failure.ts';
import type { Context } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import { count, formatTime } from '../figures.ts';
import { safeJson, safeLine } from '../safe-text.ts';
import { renderTable, shrinking } from '../table.ts';

export interface AuditOptions {
  readonly project?: string;
  readonly type?: readonly string[];
  readonly text?: string;
  readonly since?: string;
  readonly until?: string;
  readonly limit: number;
  /** True for standard output. */
  readonly export?: string | true;
  readonly after?: string;
  readonly quiet?: boolean;
}

type Event = EventListView['events'][number];
type Filter = NonNullable<NonNullable<Parameters<Context['client']['listAudit']>[0]>['query']>;

const columns = ['TIME', 'EVENT', shrinking('WHO'), shrinking('MESSAGE')];

export const audit = async (context: Context, options: AuditOptions): Promise<void> => {
  const { client, out, print, now } = context;
  const { project, type, text, since, until, after, limit } = options;
  const filter: Filter = {
    project,
    type: type?.map(parseType),
    text,
    since: since && toTime(since, now()),
    until: until && toTime(until, now()),
  };
  if (options.export !== undefined) return exportAll(context, filter, options);
  const answer = await client.listAudit({ query: { ...filter, after, limit } });
  const rows = answer.events.map((event) => [formatTime(event.at), event.type, whoOf(event), event.message]);
  await print(answer, () => (rows.length === 0 ? ['No events yet.'] : renderTable(out, columns, rows)));
};

const types = ['audit.changed', 'audit.signed_in', 'audit.refused'] as const;

const parseType = (text: string): (typeof types)[number] => {
  const found = types.find((one) => one === text || one === `audit.${text}`);
  if (found !== undefined) return found;
  throw new CommandFailure('cli.usage', `--type is changed, signed_in or refused, not ${JSON.stringify(text)}.`, {
    exitCode: exitCodes.usage,
  });
};

const whoOf = ({ details: { person, how } }: Event): string => (typeof person === 'string' ? person : String(how ?? ''));

/** A time, or an age such as `10m`. */
const toTime = (text: string, now: number): string => {
  const age = parseDuration(text);
  const time = age === undefined ? Date.parse(text) : now - age * 1_000;
  if (!Number.isNaN(time)) return new Date(time).toISOString();
  throw new CommandFailure('cli.usage', `${JSON.stringify(text)} is neither a time nor an age such as 10m.`, {
    exitCode: exitCodes.usage,
  });
};

const pageSize = 1_000;

/** Everything, oldest first, a line of JSON for each event. Says where to go on, also when it fails half-way. */
const exportAll = async (context: Context, filter: Filter, options: AuditOptions): Promise<void> => {
  const { err } = context;
  const { after = beforeAllEvents, quiet = false } = options;
  let [written, last]: [number, string] = [0, after];
  const target = await openTarget(context, options);
  try {
    for await (const events of readAll(context, filter, after)) {
      await target.write(events.map((event) => `${safeJson(event)}\n`).join(''));
      written += events.length;
      last = events.at(-1)?.id ?? last;
    }
  } finally {
    await target.close();
    if (!quiet) await err.lines([safeLine(`Wrote ${count(written, 'event')}. Go on after them with --after ${last}.`)]);
  }
};

async function* readAll({ client }: Context, filter: Filter, first: string): AsyncGenerator<readonly Event[]> {
  let after = first;
  for (;;) {
    const { events } = await client.listAudit({ query: { ...filter, after, limit: pageSize } });
    const last = events.at(-1);
    if (last === undefined) return;
    yield events;
    if (events.length < pageSize) return;
    after = last.id;
  }
}

interface Target {
  readonly write: (text: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

const openTarget = async ({ out }: Context, { export: path, after }: AuditOptions): Promise<Target> => {
  if (typeof path !== 'string' || path === '-') return { write: (text) => out.write(text), close: async () => undefined };
  // It names people and what they did.
  const file = await open(path, after === undefined ? 'wx' : 'a', 0o600).catch(explainOpening(path));
  return { write: (text) => file.appendFile(text), close: () => file.close() };
};

const explainOpening =
  (path: string) =>
  (error: unknown): FileHandle => {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST') throw new CommandFailure('cli.file', `${path} cannot be written: ${message}.`);
    throw new CommandFailure('cli.exists', `${path} already exists. Go on with it by --after and the id of its last event.`);
  };
