import { type ProjectId, type ProjectView, projectId, redact, sourceKey } from '@eph/contract';
import type { Engine } from '@eph/engine/loop/engine';
import { explainPolling } from '@eph/engine/polling/polling-state';
import type { Provider } from '@eph/engine/provider/provider';
import type { Handlers } from '../api/handlers.ts';
import type { ConfiguredProject } from '../config.ts';
import { webUrlOf } from '../forge-types.ts';

type ListedProject = Pick<ConfiguredProject, 'id' | 'location' | 'forge'>;

export interface ProjectHandlersOptions {
  /** Throws while another ephd leads. */
  readonly engine: () => Engine;
  readonly projects: ReadonlyMap<ProjectId, ListedProject>;
  /** Without those that are configured no more. */
  readonly providers: () => readonly Pick<Provider, 'name' | 'type' | 'isolation' | 'holdsSecrets'>[];
}

export const createProjectHandlers = ({
  engine,
  projects,
  providers,
}: ProjectHandlersOptions): Handlers<'listProjects' | 'listSources' | 'listHeld' | 'listCapabilities'> => ({
  listProjects({ query, caller }) {
    const known = engine().projects();
    const polling = engine().polling();
    const visible = [...projects.values()].filter(({ id }) => caller.may('environments.read', id));
    const { items, next } = takePage(visible, ({ id }) => id, query);
    const view = ({ id, location, forge }: ListedProject): ProjectView => {
      const record = known.get(id);
      const state = polling.get(id);
      return {
        id,
        location: redact(location),
        address: redact(forge === undefined ? location : `${webUrlOf(forge)}/${location}`),
        forge: forge?.type ?? null,
        environments: record?.environments.size ?? 0,
        read: record?.isRead ?? false,
        faults: (record?.faults ?? []).map(({ code, message }) => ({ code, message })),
        polling: state === undefined ? null : explainPolling(state),
        webhooks: state?.isAnnounced ?? false,
      };
    };
    return { projects: items.map(view), next };
  },
  listSources({ path, query }) {
    const decided = engine().projects().get(projectId(path.project))?.decided.values() ?? [];
    const { state: states } = query;
    const matching = states === undefined ? decided : decided.filter(({ decision }) => states.includes(decision.state));
    const { items, next } = takePage(matching, ({ source }) => sourceKey(source.ref), query);
    const sources = items.map(({ source: { ref, commit, pull }, decision: { state, because }, environment = null }) => ({
      ...ref,
      commit,
      title: pull?.title ?? null,
      author: pull?.author ?? null,
      labels: [...(pull?.labels ?? [])],
      head: pull?.fork === null ? pull.head : null,
      state,
      because,
      environment,
    }));
    return { sources, next };
  },
  listHeld({ query, caller }) {
    const matching = engine()
      .environments()
      .filter(({ held, project }) => held && (query.project ?? project) === project && caller.may('held.read', project));
    const { items, next } = takePage(matching, ({ name }) => name, query);
    const environments = items.map(({ id, name, project, decision, status, observed }) => ({
      id,
      name,
      project,
      because: status?.summary || decision.because,
      createdAt: observed?.identity.createdAt ?? null,
    }));
    return { environments, next };
  },
  listCapabilities: () => ({
    providers: providers().map(({ name, type, isolation, holdsSecrets }) => ({ name, type, isolation, holdsSecrets })),
  }),
});

interface PageQuery {
  readonly text?: string | undefined;
  readonly limit: number;
  readonly after?: string | undefined;
}

/** A page of those whose key has the text in it, by key. */
const takePage = <T>(
  all: readonly T[],
  keyOf: (one: T) => string,
  { text, limit, after }: PageQuery,
): { readonly items: readonly T[]; readonly next: string | null } => {
  const wanted = text?.toLowerCase();
  const sorted = all
    .map((one) => ({ one, key: keyOf(one) }))
    .filter(({ key }) => (wanted === undefined || key.toLowerCase().includes(wanted)) && (after === undefined || key > after))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const shown = sorted.slice(0, limit);
  return { items: shown.map(({ one }) => one), next: sorted.length > limit ? (shown.at(-1)?.key ?? null) : null };
};
