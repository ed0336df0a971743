import { type EventListView, type EventView, parseDuration } from '@eph/contract';
import type { Client } from '../client.ts';
import { CommandFailure } from '../command-failure.ts';
import type { Context } from '../context.ts';
import { exitCodes } from '../exit-codes.ts';
import { formatTime } from '../figures.ts';
import { findEnvironment, listEnvironments } from '../find-environment.ts';
import { type Cell, renderTable } from '../table.ts';
import type { EventChoice } from './follow-events.ts';

export interface EventsOptions extends EventChoice {
  readonly limit: number;
  readonly since?: string;
  readonly follow?: boolean;
}

export const events = async (context: Context, name: string | undefined, options: EventsOptions): Promise<void> => {
  const { client, out, json } = context;
  const environment = name === undefined ? undefined : await findEnvironment(client, name);
  const history = await readHistory(context, environment?.id, options);
  if (options.follow === true)
    return (await import('./follow-events.ts')).followEvents(context, environment?.id, options, history.events);
  if (json) await out.json(history);
  else if (history.events.length === 0) await out.lines([isFiltered(options) ? 'No event matches.' : 'No events yet.']);
  else if (environment !== undefined) await out.lines(renderTable(out, ofOne, withoutNames(history)));
  else await out.lines(renderTable(out, ofAll, await withNames(client, history)));
};

const readHistory = async (
  { client, now }: Context,
  environment: string | undefined,
  { limit, project, type, since, text }: EventsOptions,
): Promise<EventListView> => {
  if (limit === 0) return { events: [] };
  const query = { type, since: since === undefined ? undefined : parseSince(since, now()), text, limit };
  return environment === undefined
    ? await client.listEvents({ query: { ...query, project } })
    : await client.listEventsOfEnvironment({ path: { id: environment }, query });
};

const isFiltered = ({ project, type, since, text }: EventsOptions): boolean =>
  [project, type, since, text].some((one) => one !== undefined);

const parseSince = (text: string, now: number): string => {
  const seconds = parseDuration(text);
  const time = seconds === undefined ? Date.parse(/^\d{4}-\d\d-\d\d/.test(text) ? text : '') : now - seconds * 1_000;
  if (!Number.isNaN(new Date(time).getTime())) return new Date(time).toISOString();
  const message = `--since ${JSON.stringify(text)} is neither a time such as 2026-01-05T09:00:00Z nor a duration such as 10m.`;
  throw new CommandFailure('cli.usage', message, { exitCode: exitCodes.usage });
};

const ofOne = ['TIME', 'EVENT', 'MESSAGE'];
const ofAll = ['TIME', 'ENVIRONMENT', 'EVENT', 'MESSAGE'];

const withoutNames = ({ events }: EventListView): readonly (readonly Cell[])[] =>
  events.map(({ at, type, message }) => [formatTime(at), type, message]);

/** Events have ids only. Environments that no longer exist have no name. */
const withNames = async (client: Client, { events }: EventListView): Promise<readonly (readonly Cell[])[]> => {
  const names = new Map((await listEnvironments(client)).map(({ id, name }) => [id, name]));
  const nameOf = ({ environment, details }: EventView): string =>
    environment === null ? '' : (names.get(environment) ?? (typeof details['name'] === 'string' ? details['name'] : environment));
  return events.map((event) => [formatTime(event.at), nameOf(event), event.type, event.message]);
};
