import {
  type ObservedEnvironment,
  type ProviderName,
  projectId,
  type Reading,
  type Source,
  shippedSections,
} from '@eph/contract';
import type { Generator } from '@eph/engine/desired/generator';
import { gitBranchGenerator } from '@eph/engine/desired/git-ref-triggers';
import type { Resolver } from '@eph/engine/images/resolver';
import { FakeResolver } from '@eph/engine/images/resolver.fake';
import { Engine } from '@eph/engine/loop/engine';
import { silentTelemetry } from '@eph/engine/loop/telemetry.fake';
import { defaultDeletionBound, guardDeletions } from '@eph/engine/plan/guard';
import type { PollingLimit } from '@eph/engine/polling/polling';
import type { Provider } from '@eph/engine/provider/provider';
import { createFakeInfrastructure, FakeProvider } from '@eph/engine/provider/provider.fake';
import { FakeRenderer } from '@eph/engine/render/renderer.fake';
import { Configuration } from '@eph/engine/source/configuration';
import type { Forge } from '@eph/engine/source/forge';
import { FakeForge, FakeRepository } from '@eph/engine/source/forge.fake';
import type { Clock } from '@eph/engine/time/clock';
import { systemClock } from '@eph/engine/time/system-clock';
import { extrasSection } from '../../packages/contract/spec/section.fake.ts';

const specOf = (provider: string, extras = ''): string => `version: "1.0"
name: shop
provider: ${provider}
process:
  services:
    web: { command: run web, entry: true, env: { API: outputs/api/url } }
    api: { command: run api }
${extras}`;

/** Lists from memory, anew on every call. */
export class ListingProvider extends FakeProvider {
  isAway = false;
  #before: ReadonlySet<object> = new Set();

  override async list(...args: Parameters<FakeProvider['list']>): Promise<Reading<ObservedEnvironment>> {
    if (!this.isAway || !('all' in args[0])) return await super.list(...args);
    this.calls.list += 1;
    throw new Error('no answer');
  }

  /** Two listings share no object. */
  async checkFreshness(): Promise<number> {
    const { items } = await super.list({ all: true });
    const objects = items.flatMap((one) => [
      one,
      one.identity,
      ...one.components,
      ...one.components.map(({ current }) => current),
    ]);
    if (objects.some((one) => one !== null && this.#before.has(one))) throw new Error('a listing was handed out twice');
    this.#before = new Set(objects.filter((one) => one !== null));
    return items.length;
  }
}

/** Hands out its last reading, as a forge does that answers "not modified". */
class UnchangedForge extends FakeForge {
  #reading: Reading<Source> | undefined;

  override async sources(): Promise<Reading<Source>> {
    this.#reading ??= await super.sources();
    return this.#reading;
  }
}

export interface EngineHarness {
  readonly engine: Engine;
  readonly providers: readonly ListingProvider[];
  readonly observed: readonly ObservedEnvironment[];
}

/** The real loop, reporting to nobody. */
export const createBenchEngine = (
  forges: readonly Forge[],
  providers: readonly Provider[],
  generators: readonly Generator[],
  {
    clock = systemClock,
    limit,
    resolver = new FakeResolver(),
  }: { readonly clock?: Clock; readonly limit?: PollingLimit; readonly resolver?: Resolver } = {},
): Engine =>
  new Engine({
    projects: new Map(
      forges.map((forge) => [
        forge.project,
        {
          forge,
          forks: 'deny',
          trusted: false,
          network: 'shared',
          repository: forge.project,
          team: undefined,
          variables: {},
          limit,
        },
      ]),
    ),
    configuration: new Configuration({ documents: [] }),
    providers: new Map<ProviderName, Provider>(providers.map((provider) => [provider.name, provider])),
    retired: new Set(),
    sections: [...shippedSections, extrasSection],
    generators,
    renderer: new FakeRenderer(),
    resolver,
    clock,
    random: Math.random,
    workers: 8,
    telemetry: silentTelemetry,
    serverKey: 'bench',
    urlOf: (name) => `http://${name}.localhost`,
    ownerOf: () => undefined,
    aliasesOf: () => [],
    deletionBound: defaultDeletionBound,
    guard: guardDeletions,
    record: () => {},
    deliver: () => Promise.resolve(),
    changed: () => {},
  });

/** The real loop over so many environments on three providers, every tenth with components on two of them, all as they should be. */
export const createEngineHarness = async (count: number): Promise<EngineHarness> => {
  const project = projectId('shop');
  const repository = new FakeRepository(project);
  const names = [
    { name: 'process', type: 'process' },
    { name: 'local', type: 'process' },
    { name: 'toys', type: 'toy' },
  ];
  const commits = ['process', 'local', 'process'].map((provider, index) =>
    repository.push({ kind: 'branch', name: `preview/${index}` }, { 'eph.yaml': specOf(provider, index === 2 ? extras : '') }),
  );
  for (let index = 0; index < count; index += 1) {
    const commit = commits[index % 10 === 0 ? 2 : index % 2];
    if (commit !== undefined) repository.point({ kind: 'branch', name: `preview/${index}` }, commit);
  }
  const providers = names.map((one) => new ListingProvider(createFakeInfrastructure(), { ...one, now: () => Date.now() }));
  const engine = createBenchEngine([new UnchangedForge(project, repository)], providers, [gitBranchGenerator]);
  engine.start();
  await engine.idle();
  while (engine.environments().some((record) => !record.settled)) {
    engine.wakeAll();
    await engine.idle();
  }
  const observed = engine.environments().flatMap((record) => record.observed ?? []);
  const held = await Promise.all(providers.map((provider) => provider.checkFreshness()));
  for (const provider of providers) await provider.checkFreshness();
  if (observed.length !== count || held.reduce((sum, one) => sum + one, 0) !== count + Math.ceil(count / 10))
    throw new Error(`${observed.length} of ${count} environments exist, ${held.join(' + ')} on the providers`);
  return { engine, providers, observed };
};

const extras = 'extras:\n  cache: {}\n';
