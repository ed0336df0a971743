import { EphError, type EventFilter, environmentId, eventId, eventTypes } from '@eph/contract';
import type { EventLog, EventQuery } from '@eph/engine/history/event-log';
import type { EnvironmentRecord } from '@eph/engine/loop/record';
import type { ProjectIds } from '../api/find-project.ts';
import type { Caller, Handlers } from '../api/handlers.ts';

export interface HistoryHandlersOptions {
  readonly events: EventLog;
  readonly projects: ProjectIds;
  readonly find: (text: string, caller: Caller) => EnvironmentRecord;
}

type HistoryRoute = 'listEvents' | 'listEventsOfEnvironment' | 'listAudit' | 'followChanges';

export const createHistoryHandlers = ({ events, projects, find }: HistoryHandlersOptions): Handlers<HistoryRoute> => {
  const visibleTo = (caller: Caller, only?: string): Pick<EventFilter, 'projects'> => {
    // Also of projects that are not configured any more.
    if (only === undefined && caller.may('rules.read')) return {};
    const visible = [...projects.keys()].filter((one) => caller.may('environments.read', one));
    // Those without a project are about ephd itself.
    return { projects: only === undefined ? [...visible, null] : visible.filter((one) => one === only) };
  };
  return {
    async listEvents({ query: { project, type = typesShown, ...paging }, caller }) {
      return { events: [...(await events.read({ ...visibleTo(caller, project), types: type, ...readPaging(paging) }))] };
    },
    async listEventsOfEnvironment({ path, query: { type = typesShown, ...paging }, caller }) {
      // History outlives the environment, so an id is enough to ask for it.
      const environment = isEnvironmentId(path.id) ? environmentId(path.id) : find(path.id, caller).id;
      return { events: [...(await events.read({ environment, ...visibleTo(caller), types: type, ...readPaging(paging) }))] };
    },
    async listAudit({ query: { project, type = ['audit.'], ...paging }, caller }) {
      return { events: [...(await events.read({ ...visibleTo(caller, project), types: type, ...readPaging(paging) }))] };
    },
    followChanges() {
      throw new EphError('feature.unavailable', 'the stream is not served yet');
    },
  };
};

const isEnvironmentId = (text: string): boolean => /^[0-9a-f]{16}$/.test(text);

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
