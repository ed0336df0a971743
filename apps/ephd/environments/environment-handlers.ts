import {
  type ComponentName,
  EphError,
  type LogLine,
  mostLogLines,
  type ObservedComponent,
  type ProviderName,
  parseDuration,
  redact,
} from '@eph/contract';
import type { Engine } from '@eph/engine/loop/engine';
import type { EnvironmentRecord } from '@eph/engine/loop/record';
import type { LogEntry, Provider } from '@eph/engine/provider/provider';
import type { Clock } from '@eph/engine/time/clock';
import type { Handlers } from '../api/handlers.ts';
import { type Addresses, viewDetail, viewEnvironment } from './environment-view.ts';
import { listEnvironments } from './list-environments.ts';
import { mergeStreams } from './merge-streams.ts';
import { readUsage } from './read-usage.ts';
import { UsageSamples } from './usage-samples.ts';

export interface EnvironmentHandlersOptions extends Addresses {
  /** Throws while another ephd leads. */
  readonly engine: () => Engine;
  readonly clock: Clock;
  readonly providerOf: (name: ProviderName) => Provider | undefined;
}

const never = new AbortController().signal;

const linesShown = 100;

const parseSince = (text: string | undefined, now: number): Date | undefined => {
  if (text === undefined) return undefined;
  const seconds = parseDuration(text);
  const time = seconds === undefined ? Date.parse(/^\d{4}-\d\d-\d\d/.test(text) ? text : '') : now - seconds * 1000;
  const since = new Date(time);
  if (Number.isNaN(since.getTime()))
    throw new EphError(
      'api.bad_request',
      `since ${JSON.stringify(text)} is neither a time such as 2026-01-05T09:00:00Z nor a duration such as 10m`,
    );
  return since;
};

type EnvironmentRoute =
  | 'listEnvironments'
  | 'readEnvironment'
  | 'readStatus'
  | 'readUsage'
  | 'readWhy'
  | 'readConfig'
  | 'readRendered'
  | 'releaseEnvironment'
  | 'readLogs'
  | 'exec'
  | 'forwardPort'
  | 'readPlan'
  | 'redeployEnvironment'
  | 'scaleEnvironment';

export const createEnvironmentHandlers = (options: EnvironmentHandlersOptions): Handlers<EnvironmentRoute> => {
  const { engine } = options;
  const samples = new UsageSamples(options.clock, async (id) => {
    const components = engine().environment(id)?.observed?.components ?? [];
    const usageOf = await readUsage(id, components, options.providerOf, never);
    const measured = components.flatMap((one) => {
      const usage = usageOf(one);
      return usage === undefined ? [] : [{ name: one.name, ...usage }];
    });
    return { at: new Date(options.clock.now()).toISOString(), components: measured };
  });
  const view = (known: EnvironmentRecord): ReturnType<typeof viewEnvironment> => viewEnvironment(known, options);
  return {
    listEnvironments: ({ query, caller }) => listEnvironments(engine().environmentsByName(), query, caller, view),
    async readEnvironment({ environment: known, signal }) {
      const { observed, incomplete } = await engine().look(known.id, signal);
      const read = observed?.components.filter(({ provider }) => !incomplete.has(provider)) ?? [];
      const usageOf = await readUsage(known.id, read, options.providerOf, signal);
      const last = options.away();
      const away = () => ({ has: (name: ProviderName) => incomplete.has(name) || last.has(name) });
      return viewDetail({ ...known, observed }, usageOf, { ...options, away });
    },
    readStatus({ environment }) {
      const { id, name, phase, summary, url, conditions } = view(environment);
      return { id, name, phase, summary, url, conditions };
    },
    async readUsage({ environment: { id, name } }) {
      return { id, name, samples: [...(await samples.ask(id))] };
    },
    readWhy: ({ environment: { id, name } }) => ({ id, name, lines: [...(engine().explain(id) ?? [])] }),
    async readConfig({ environment: { id, name, project, source }, signal }) {
      const values = await engine().explainValues(id, signal);
      return { id, name, project, commit: source?.commit ?? null, ...values };
    },
    async readRendered({ environment: { id, name, source }, signal }) {
      return { id, name, commit: source?.commit ?? null, ...(await engine().renderValues(id, signal)) };
    },
    releaseEnvironment({ environment: { id, name } }) {
      if (!engine().release(id)) throw new EphError('api.conflict', `${name} is not held`);
      return undefined;
    },
    async redeployEnvironment({ environment: { id }, body, signal, addToAudit }) {
      addToAudit({ components: body.components?.join(' ') ?? 'all' });
      return { components: [...(await engine().redeploy(id, body.components, signal))] };
    },
    scaleEnvironment({ environment: { name, observed }, body: { component, replicas }, addToAudit }) {
      addToAudit({ component, replicas });
      const found = observed?.components.find((one) => one.name === component);
      if (found === undefined) throw new EphError('api.not_found', `${name} has no component ${JSON.stringify(component)}`);
      throw new EphError('feature.unavailable', `provider ${found.provider} runs one copy of each component and cannot scale`);
    },
    readLogs({ environment: known, query, signal }) {
      const since = parseSince(query.since, options.clock.now());
      const { tail = since === undefined ? linesShown : mostLogLines, follow = false, previous = false } = query;
      const logOptions = { tail, follow, signal, ...(since && { since }), ...(previous && { previous }) };
      const shared = new Map<string, ComponentName>();
      return mergeStreams(
        chooseComponents(known, query.component).map(({ name, provider }) =>
          labelled(name, options.providerOf(provider)?.logs(known.id, name, logOptions), shared),
        ),
      );
    },
    exec({ environment: known, query: { component, command, terminal, columns, rows }, addToAudit, signal }) {
      const { chosen, provider } = chooseOne(known, component, options);
      // Arguments may be secrets.
      addToAudit({ component: chosen.name, program: command[0] ?? null });
      const request = { command, signal, ...(terminal && { terminal: { columns, rows, type: terminal } }) };
      return provider.exec(known.id, chosen.name, request);
    },
    forwardPort({ environment: known, query: { component, port }, addToAudit, signal }) {
      const { chosen, provider } = chooseOne(known, component, options);
      addToAudit({ component: chosen.name, port });
      return provider.connect(known.id, chosen.name, port, signal);
    },
    async readPlan({ caller, signal }) {
      const { plans, faults } = await engine().plan((project) => caller.may('environments.read', project), signal);
      return { plans: plans.map((plan) => ({ ...plan, actions: [...plan.actions] })), faults: [...faults] };
    },
  };
};

/** What components share is shown with the first that has it. */
async function* labelled(
  component: ComponentName,
  entries: AsyncIterable<LogEntry> | undefined,
  shownWith: Map<string, ComponentName>,
): AsyncIterable<LogLine> {
  for await (const { at, part, shared, text } of entries ?? []) {
    if (shared !== undefined && !shownWith.has(shared)) shownWith.set(shared, component);
    if (shared !== undefined && shownWith.get(shared) !== component) continue;
    yield { component, at, part, ...(shared && { shared: true }), text: redact(text) };
  }
}

/** Without a name, the one that answers requests. */
const chooseOne = (
  known: EnvironmentRecord,
  asked: string | undefined,
  { providerOf }: EnvironmentHandlersOptions,
): { readonly chosen: ObservedComponent; readonly provider: Provider } => {
  const components = chooseComponents(known, asked);
  const chosen = components.find(({ entry }) => entry) ?? components[0];
  const provider = chosen && providerOf(chosen.provider);
  if (chosen === undefined || provider === undefined)
    throw new EphError('api.conflict', `${known.name} has no component that runs here`);
  return { chosen, provider };
};

const chooseComponents = (known: EnvironmentRecord, asked: string | undefined): readonly ObservedComponent[] => {
  const components = known.observed?.components ?? [];
  if (asked === undefined) return components;
  const chosen = components.filter((component) => component.name === asked);
  if (chosen.length > 0) return chosen;
  const names = components.map((component) => component.name).join(', ');
  throw new EphError('api.not_found', `${known.name} has no component ${JSON.stringify(asked)}; it has: ${names || 'none yet'}`);
};
