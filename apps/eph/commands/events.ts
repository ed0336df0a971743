import type { EventListView } from '@eph/contract';
import type { Client } from '../client.ts';
import type { Context } from '../context.ts';
import { formatTime } from '../figures.ts';
import { findEnvironment, listEnvironments } from '../find-environment.ts';
import { type Cell, renderTable } from '../table.ts';

export const events = async (
  context: Context,
  name: string | undefined,
  { limit }: { readonly limit: number },
): Promise<void> => {
  const { client, out, json } = context;
  const environment = name === undefined ? undefined : await findEnvironment(client, name);
  const history = await (environment === undefined
    ? client.listEvents({ query: { limit } })
    : client.listEventsOfEnvironment({ path: { id: environment.id }, query: { limit } }));
  if (json) await out.json(history);
  else if (history.events.length === 0) await out.lines(['No events yet.']);
  else if (environment !== undefined) await out.lines(renderTable(out, ofOne, withoutNames(history)));
  else await out.lines(renderTable(out, ofAll, await withNames(client, history)));
};

const ofOne = ['TIME', 'EVENT', 'MESSAGE'];
const ofAll = ['TIME', 'ENVIRONMENT', 'EVENT', 'MESSAGE'];

const withoutNames = ({ events }: EventListView): readonly (readonly Cell[])[] =>
  events.map(({ at, type, message }) => [formatTime(at), type, message]);

/** Events have ids only. Environments that no longer exist have no name. */
const withNames = async (client: Client, { events }: EventListView): Promise<readonly (readonly Cell[])[]> => {
  const names = new Map((await listEnvironments(client)).map(({ id, name }) => [id, name]));
  const nameOf = (id: string | null): string => (id === null ? '' : (names.get(id) ?? id));
  return events.map(({ at, environment, type, message }) => [formatTime(at), nameOf(environment), type, message]);
};
