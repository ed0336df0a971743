import {
  dnsLabel,
  type EnvironmentId,
  type EventFilter,
  environmentId,
  eventId,
  eventTypes,
  type ProjectId,
  projectId,
  type StoredEvent,
  type StreamItem,
} from '@eph/contract';
import type { EventLog, EventQuery } from '@eph/engine/history/event-log';
import type { EnvironmentRecord } from '@eph/engine/loop/record';
import { findProject, type ProjectIds } from '../api/find-project.ts';
import type { Caller, Handlers } from '../api/handlers.ts';
import { mergeStreams } from '../environments/merge-streams.ts';
import { followEvents } from './follow-events.ts';
import type { StatusChange, StatusChanges } from './status-changes.ts';

export interface HistoryHandlersOptions {
  readonly events: EventLog;
  readonly projects: ProjectIds;
  readonly find: (text: string, caller: Caller) => EnvironmentRecord;
  readonly projectOf: (id: EnvironmentId) => ProjectId | undefined;
  readonly statuses: Pick<StatusChanges, 'follow'>;
}

type HistoryRoute = 'listEvents' | 'listEventsOfEnvironment' | 'listAudit' | 'followChanges';

export const createHistoryHandlers = (options: HistoryHandlersOptions): Handlers<HistoryRoute> => {
  const { events, projects, find } = options;
  const visibleTo = (caller: Caller, only?: string): Pick<EventFilter, 'projects'> => {
    // Also of projects that are not configured any more; what a rule denies is left out by `readVisible`.
    if (caller.may('rules.read')) return only === undefined ? {} : { projects: dnsLabel.test(only) ? [projectId(only)] : [] };
    const visible = [...projects.keys()].filter((one) => caller.may('environments.read', one));
    // Those without a project are about ephd itself.
    return { projects: only === undefined ? [...visible, null] : visible.filter((one) => one === only) };
  };
  const read = (query: EventQuery, caller: Caller): Promise<StoredEvent[]> =>
    readVisible(events, query, (project) => project === null || caller.may('environments.read', project));
  /** History outlives the environment, so an id is enough to ask for it. */
  const identify = (text: string, caller: Caller): EnvironmentId =>
    /^[0-9a-f]{16}$/.test(text) ? environmentId(text) : find(text, caller).id;
  return {
    async listEvents({ query: { project, type = typesShown, ...paging }, caller }) {
      return { events: await read({ ...visibleTo(caller, project), types: type, ...readPaging(paging) }, caller) };
    },
    async listEventsOfEnvironment({ path, query: { type = typesShown, ...paging }, caller }) {
      const environment = identify(path.id, caller);
      return { events: await read({ environment, ...visibleTo(caller), types: type, ...readPaging(paging) }, caller) };
    },
    async listAudit({ query: { project, type = ['audit.'], ...paging }, caller }) {
      return { events: await read({ ...visibleTo(caller, project), types: type, ...readPaging(paging) }, caller) };
    },
    followChanges({ query, caller, lastEventId, narrowTo, signal }) {
      const environment = query.environment === undefined ? undefined : identify(query.environment, caller);
      const project = query.project === undefined ? undefined : findProject(query.project, projects, caller);
      const only = project ?? (environment && options.projectOf(environment));
      const after = lastEventId ?? (query.after === undefined ? undefined : eventId(query.after));
      // Rules change while the stream runs.
      const isVisible = (of: ProjectId | null): boolean => of === null || caller.may('environments.read', of);
      // That an environment exists in a project which the caller may not see must not show.
      if (only !== undefined && isVisible(only)) narrowTo(only);
      const filter = { types: typesShown, ...(environment && { environment }), ...(project && { projects: [project] }) };
      const isAsked = (change: StatusChange): boolean =>
        (environment ?? change.environment) === change.environment && (project ?? change.project) === change.project;
      return mergeStreams<StreamItem>([
        followEvents(events.follow({ ...filter, ...(after && { after }) }, signal), isVisible),
        options.statuses.follow((change) => isAsked(change) && isVisible(change.project), signal),
      ]);
    },
  };
};

/** Which projects a caller may not see is known only of events that were read, so one page may take several readings. */
const readVisible = async (
  events: Pick<EventLog, 'read'>,
  query: EventQuery,
  isVisible: (project: ProjectId | null) => boolean,
): Promise<StoredEvent[]> => {
  const { limit, after } = query;
  const found: StoredEvent[] = [];
  for (let next = query; ; ) {
    const read = await events.read(next);
    const visible = read.filter(({ project }) => isVisible(project));
    if (after === undefined) found.unshift(...visible);
    else found.push(...visible);
    const [first, last] = [read[0], read.at(-1)];
    if (first === undefined || last === undefined || read.length < next.limit || found.length >= limit)
      return after === undefined ? found.slice(-limit) : found.slice(0, limit);
    next = { ...query, limit: mostRead, ...(after === undefined ? { before: first.id } : { after: last.id }) };
  }
};

const mostRead = 1_000;

const typesShown = eventTypes.filter((type) => !type.startsWith('audit.'));

interface Paging {
  readonly text?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly after?: string | undefined;
  readonly before?: string | undefined;
  readonly limit: number;
}

const readPaging = ({ text, since, until, after, before, limit }: Paging): EventQuery => ({
  ...(text !== undefined && { text }),
  ...(since !== undefined && { since: new Date(since) }),
  ...(until !== undefined && { until: new Date(until) }),
  ...(after !== undefined && { after: eventId(after) }),
  ...(before !== undefined && { before: eventId(before) }),
  limit,
});
