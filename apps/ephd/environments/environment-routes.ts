import {
  type ComponentName,
  type ConfigView,
  closest,
  EphError,
  type EventListView,
  environmentId,
  type LogLine,
  type ObservedComponent,
  type PlanView,
  type ProviderName,
  parseDuration,
  redact,
  type StatusView,
  type WhyView,
} from '@eph/contract';
import type { EventLog } from '@eph/engine/history/event-log';
import type { Engine } from '@eph/engine/loop/engine';
import type { EnvironmentRecord } from '@eph/engine/loop/record';
import type { LogEntry, Provider } from '@eph/engine/provider/provider';
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { type Addresses, viewDetail, viewEnvironment } from './environment-view.ts';
import { mergeStreams } from './merge-streams.ts';
import { readUsage } from './read-usage.ts';

export interface EnvironmentRoutesOptions extends Addresses {
  /** Absent while another ephd leads. */
  readonly engine: () => Engine;
  readonly events: EventLog;
  readonly providerOf: (name: ProviderName) => Provider | undefined;
  /** Ends log streams when ephd stops, so that their readers see an end and not a loss. */
  readonly closing: AbortSignal;
}

const isEnvironmentId = (text: string): boolean => /^[0-9a-f]{16}$/.test(text);

const whole = (text: string | undefined, fallback: number, most: number): number => {
  if (text === undefined) return fallback;
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0)
    throw new EphError('api.bad_request', `${JSON.stringify(text)} is not a whole number`);
  return Math.min(number, most);
};

const mostLines = 100_000;

const parseSince = (text: string | undefined): Date | undefined => {
  if (text === undefined) return undefined;
  const seconds = parseDuration(text);
  const time = seconds === undefined ? Date.parse(/^\d{4}-\d\d-\d\d/.test(text) ? text : '') : Date.now() - seconds * 1000;
  const since = new Date(time);
  if (Number.isNaN(since.getTime()))
    throw new EphError(
      'api.bad_request',
      `since ${JSON.stringify(text)} is neither a time such as 2026-01-05T09:00:00Z nor a duration such as 10m`,
    );
  return since;
};

export const createEnvironmentRoutes = (options: EnvironmentRoutesOptions): Hono => {
  const { engine, events } = options;
  const find = (text: string): EnvironmentRecord => findEnvironment(text, engine().environments(), options);
  const view = (known: EnvironmentRecord): ReturnType<typeof viewEnvironment> => viewEnvironment(known, options);

  return new Hono()
    .get('/environments', (c) => c.json({ environments: engine().environments().map(view) }))
    .get('/environments/:id', async (c) => {
      const known = find(c.req.param('id'));
      const observed = (await engine().look(known.id, c.req.raw.signal)) ?? known.observed;
      const usageOf = await readUsage(known.id, observed?.components ?? [], options.providerOf, c.req.raw.signal);
      return c.json(viewDetail({ ...known, observed }, usageOf, options));
    })
    .get('/environments/:id/status', (c) => {
      const { id, name, phase, summary, url, conditions } = view(find(c.req.param('id')));
      return c.json({ id, name, phase, summary, url, conditions } satisfies StatusView);
    })
    .get('/environments/:id/why', (c) => {
      const { id, name } = find(c.req.param('id'));
      return c.json({ id, name, lines: [...(engine().explain(id) ?? [])] } satisfies WhyView);
    })
    .get('/environments/:id/config', async (c) => {
      const { id, name, project, source } = find(c.req.param('id'));
      const values = await engine().explainValues(id, c.req.raw.signal);
      return c.json({ id, name, project, commit: source?.commit ?? null, ...values } satisfies ConfigView);
    })
    .post('/environments/:id/release', (c) => {
      const known = find(c.req.param('id'));
      if (!engine().release(known.id)) throw new EphError('api.conflict', `${known.name} is not held`);
      return c.body(null, 204);
    })
    .get('/environments/:id/events', async (c) => {
      const limit = whole(c.req.query('limit'), 100, 1000);
      // History outlives the environment, so an id is enough to ask for it.
      const asked = c.req.param('id');
      const environment = isEnvironmentId(asked) ? environmentId(asked) : find(asked).id;
      return c.json({ events: [...(await events.read({ environment, limit }))] } satisfies EventListView);
    })
    .get('/events', async (c) => {
      const limit = whole(c.req.query('limit'), 100, 1000);
      return c.json({ events: [...(await events.read({ limit }))] } satisfies EventListView);
    })
    .get('/plan', async (c) => {
      const { plans, faults } = await engine().plan(c.req.raw.signal);
      const body: PlanView = { plans: plans.map((plan) => ({ ...plan, actions: [...plan.actions] })), faults: [...faults] };
      return c.json(body);
    })
    .get('/environments/:id/logs', (c) => {
      const known = find(c.req.param('id'));
      const since = parseSince(c.req.query('since'));
      const tail = whole(c.req.query('tail'), since === undefined ? 100 : mostLines, mostLines);
      const follow = c.req.query('follow') === 'true';
      const wanted = chooseComponents(known, c.req.query('component'));
      return streamSSE(c, async (stream) => {
        const gone = new AbortController();
        stream.onAbort(() => gone.abort());
        const signal = AbortSignal.any([gone.signal, options.closing]);
        const logOptions = { tail, follow, signal, ...(since && { since }) };
        const shared = new Map<string, ComponentName>();
        const logs = wanted.map(({ name, provider }) =>
          labelled(name, options.providerOf(provider)?.logs(known.id, name, logOptions), shared),
        );
        for await (const line of mergeStreams(logs)) await stream.writeSSE({ data: JSON.stringify(line) });
      });
    });
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

const chooseComponents = (
  known: EnvironmentRecord,
  asked: string | undefined,
): readonly Pick<ObservedComponent, 'name' | 'provider'>[] => {
  const components = known.observed?.components ?? [];
  if (asked === undefined) return components;
  const chosen = components.filter((component) => component.name === asked);
  if (chosen.length > 0) return chosen;
  const names = components.map((component) => component.name).join(', ');
  throw new EphError('api.not_found', `${known.name} has no component ${JSON.stringify(asked)}; it has: ${names || 'none yet'}`);
};

/** By id, name or alias. */
export const findEnvironment = (text: string, all: readonly EnvironmentRecord[], { aliasOf }: Addresses): EnvironmentRecord => {
  const found = all.find((known) => known.id === text || known.name === text) ?? all.find((known) => aliasOf(known) === text);
  if (found !== undefined) return found;
  const near = closest(
    text,
    all.map((known) => known.name),
  );
  throw new EphError(
    'api.not_found',
    `there is no environment ${JSON.stringify(text)}${near === undefined ? '' : `; did you mean ${near}?`}`,
  );
};
