import { environmentQuerySchema, failure, incompleteReading, projectId, projectQuerySchema } from '@eph/contract';
import { FakeEventLog } from '@eph/engine/history/event-log.fake';
import { EngineHarness, shop } from '@eph/engine/loop/engine-harness.fake';
import { Registry } from 'prom-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { administrator } from './api/authenticate.ts';
import type { Caller } from './api/handlers.ts';
import { createEnvironmentHandlers } from './environments/environment-handlers.ts';
import { computeHeadline } from './environments/environment-view.ts';
import { createHealthHandlers } from './health/health-handlers.ts';
import { Leadership } from './leadership.ts';
import { createProjectHandlers } from './projects/project-handlers.ts';

const bank = projectId('bank');
const reason = 'whose environment bank-secret-merger-7 is cannot be read (and 41 more)';
const neutral = { code: 'provider.incomplete', message: 'provider process could not be read completely' };

/** Its provider lists everything, and says that something of another project could not be read. */
const start = async () => {
  const harness = new EngineHarness().start();
  onTestFinished(() => harness.engine.close());
  harness.push('preview/a');
  await harness.live(60);
  const { provider } = harness;
  const list = provider.list.bind(provider);
  provider.list = async (scope) => {
    const reading = await list(scope);
    return 'environment' in scope ? reading : incompleteReading(reading.items, failure('provider.incomplete', reason));
  };
  harness.push('preview/b');
  await harness.live(60);
  const engine = () => harness.engine;
  const projects = new Map([shop, bank].map((id) => [id, { id, location: `/git/${id}`, forge: undefined }]));
  const addresses = { urlOf: (name: string) => name, aliasOf: () => undefined, away: () => harness.engine.away() };
  const handlers = {
    ...createEnvironmentHandlers({
      engine,
      clock: harness.clock,
      ...addresses,
      providerOf: (name) => harness.providers.get(name),
    }),
    ...createProjectHandlers({ engine, projects, providers: () => [] }),
    ...createHealthHandlers({
      leadership: new Leadership(
        () => {},
        () => Promise.resolve(),
      ),
      engine,
      events: new FakeEventLog(),
      providers: harness.providers,
      budgets: () => [],
      projects,
      registry: new Registry(),
      version: '1.0.0',
    }),
  };
  return { harness, handlers, addresses };
};

const callOf = (may: Caller['may']) =>
  ({
    body: undefined,
    caller: { identity: administrator, how: 'file', session: undefined, may },
    lastEventId: undefined,
    addToAudit: () => undefined,
    signIn: () => undefined,
    narrowTo: () => undefined,
    signal: new AbortController().signal,
  }) as const;

describe('why a provider could not be read', () => {
  it('is told to nobody who does not see every project, since it may be about any of them', async () => {
    const { harness, handlers, addresses } = await start();
    const call = callOf((_, project) => project === shop);
    const environment = harness.record('preview/a');
    const ofServer = { ...call, path: {}, query: undefined, environment: undefined };
    const ofOne = { ...call, path: { id: environment.id }, query: undefined, environment };
    const answers = {
      server: await handlers.readServer(ofServer),
      projects: await handlers.listProjects({ ...ofServer, query: projectQuerySchema.parse({}) }),
      plan: await handlers.readPlan(ofServer),
      list: await handlers.listEnvironments({ ...ofServer, query: environmentQuerySchema.parse({}) }),
      detail: await handlers.readEnvironment(ofOne),
      status: await handlers.readStatus(ofOne),
      why: await handlers.readWhy(ofOne),
      streamed: computeHeadline(environment, addresses.away()),
    };
    const texts = Object.entries(answers).map(([name, answer]) => [name, JSON.stringify(answer)] as const);
    expect(texts.filter(([, text]) => text.includes('bank') || text.includes('41 more'))).toEqual([]);
    // Each of them says that something is not known.
    expect(texts.filter(([, text]) => !text.includes(neutral.message))).toEqual([]);
    expect(answers.server).toMatchObject({ away: { process: neutral }, faults: { shop: [neutral] } });
    expect(answers.projects).toMatchObject({ projects: [{ id: 'shop', faults: [neutral] }] });
    expect(answers.plan).toMatchObject({ faults: [neutral] });
  });

  it('is told to those who do, as the state of ephd', async () => {
    const { handlers } = await start();
    const { away } = await handlers.readServer({ ...callOf(() => true), path: {}, query: undefined, environment: undefined });
    expect(away).toEqual({ process: { code: 'provider.incomplete', message: reason } });
  });
});
