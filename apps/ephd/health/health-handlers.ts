import { EphError, type Failure, type ProjectId, type ProviderName, type ServerView } from '@eph/contract';
import type { EventLog } from '@eph/engine/history/event-log';
import type { Engine } from '@eph/engine/loop/engine';
import { withoutReasons } from '@eph/engine/provider/observe';
import type { Provider } from '@eph/engine/provider/provider';
import type { Registry } from 'prom-client';
import type { Handlers } from '../api/handlers.ts';
import type { ConfiguredForge } from '../config.ts';
import type { Leadership } from '../leadership.ts';

export interface HealthOptions {
  readonly leadership: Leadership;
  readonly engine: () => Engine | undefined;
  readonly events: EventLog;
  readonly providers: ReadonlyMap<ProviderName, Provider>;
  readonly budgets: () => ServerView['budgets'];
  readonly projects: ReadonlyMap<ProjectId, { readonly forge: Pick<ConfiguredForge, 'name'> | undefined }>;
  readonly registry: Registry;
  readonly version: string;
}

export const createHealthHandlers = ({
  leadership,
  engine,
  events,
  providers,
  budgets,
  projects,
  registry,
  version,
}: HealthOptions): Handlers<'readHealth' | 'readReadiness' | 'readServer' | 'readVersion' | 'readMetrics'> => {
  // Once ready, always ready: projects that join later have not been read yet.
  const ready = new WeakSet<Engine>();
  const waitsFor = (leader = engine(), isShown = (_: ProjectId): boolean => true): string | null => {
    if (leader === undefined)
      return leadership.state.state === 'standby' ? `${leadership.state.holder} leads` : 'leadership is not decided yet';
    if (ready.has(leader)) return null;
    const unread = [...leader.projects()].flatMap(([id, { isRead }]) => (isRead ? [] : [id]));
    if (unread.length > 0) return `a first complete reading of ${unread.filter(isShown).join(', ') || 'a project'}`;
    ready.add(leader);
    return null;
  };
  return {
    readHealth: () => ({ status: 'ok' }),
    readReadiness() {
      if (waitsFor() !== null) throw new EphError('api.starting', 'ephd is not ready yet');
      return { status: 'ready' };
    },
    readServer({ caller }) {
      const isVisible = (id: ProjectId): boolean => caller.may('environments.read', id);
      const hidden = [...projects].filter(([id]) => !isVisible(id));
      const all = engine()?.away() ?? new Map<ProviderName, Failure>();
      const away = hidden.length === 0 ? all : withoutReasons(all);
      return {
        version,
        leadership: leadership.state,
        waitsFor: waitsFor(engine(), isVisible),
        history: events.health(),
        isolation: Object.fromEntries(Array.from(providers, ([name, { isolation }]) => [name, isolation])),
        away: Object.fromEntries(Array.from(away, ([name, failure]) => [name, toFault(failure)])),
        // Accounts are those of repositories, and what is left depends on all of them.
        budgets: budgets().filter(({ forge: name }) => !hidden.some(([, { forge }]) => forge?.name === name)),
        faults: faultsOf(engine(), isVisible),
      };
    },
    readVersion: () => ({ version }),
    readMetrics: () => registry.metrics(),
  };
};

const faultsOf = (engine: Engine | undefined, isVisible: (id: ProjectId) => boolean): ServerView['faults'] =>
  Object.fromEntries(
    [...(engine?.projects() ?? [])].flatMap(([id, { faults }]) =>
      faults.length === 0 || !isVisible(id) ? [] : [[id, faults.map(toFault)]],
    ),
  );

const toFault = ({ code, message }: Failure): ServerView['faults'][string][number] => ({ code, message });
