import {
  completeReading,
  markListing,
  type ObservedEnvironment,
  projectId,
  type Reading,
  type Source,
  shippedSections,
} from '@eph/contract';
import type { Generator } from '@eph/engine/desired/generator';
import { gitBranchGenerator } from '@eph/engine/desired/git-ref-triggers';
import { commitTreeResolver } from '@eph/engine/images/commit-tree';
import { Engine } from '@eph/engine/loop/engine';
import { systemClock } from '@eph/engine/loop/system-clock';
import { silentTelemetry } from '@eph/engine/loop/telemetry';
import { defaultDeletionBound, guardDeletions } from '@eph/engine/plan/guard';
import type { Provider } from '@eph/engine/provider/provider';
import { createFakeInfrastructure, FakeProvider } from '@eph/engine/provider/provider.fake';
import { Configuration } from '@eph/engine/source/configuration';
import type { Forge } from '@eph/engine/source/forge';
import { FakeForge, FakeRepository } from '@eph/engine/source/forge.fake';

const spec = `version: "1.0"
name: shop
process:
  services:
    web: { command: run web, entry: true, env: { API: outputs/api/url } }
    api: { command: run api }
`;

/**
 * A provider whose listing costs nothing to make, so that what is measured is the pass: it hands out two equal listings in turn,
 * made of different objects, as a provider that reads afresh would.
 */
class ListedProvider extends FakeProvider {
  #listings: readonly Reading<ObservedEnvironment>[] = [];
  #turn = 0;

  async freeze(): Promise<readonly ObservedEnvironment[]> {
    const { items } = await super.list({ all: true });
    this.#listings = [completeReading(items, markListing(items)), completeReading(structuredClone(items), markListing(items))];
    return items;
  }

  override list(...args: Parameters<FakeProvider['list']>): Promise<Reading<ObservedEnvironment>> {
    const listing = this.#listings[this.#turn % 2];
    if (listing === undefined || !('all' in args[0])) return super.list(...args);
    this.calls.list += 1;
    this.#turn += 1;
    return Promise.resolve(listing);
  }
}

/** A forge with the same courtesy. */
class ListedForge extends FakeForge {
  #listing: Reading<Source> | undefined;

  override async sources(): Promise<Reading<Source>> {
    this.#listing ??= await super.sources();
    return this.#listing;
  }
}

export interface EngineWorld {
  readonly engine: Engine;
  readonly provider: ListedProvider;
  readonly observed: readonly ObservedEnvironment[];
}

/** The real loop, on the clock of this machine, telling nobody anything. */
export const createBenchEngine = (forges: readonly Forge[], provider: Provider, generators: readonly Generator[]): Engine =>
  new Engine({
    projects: new Map(
      forges.map((forge) => [
        forge.project,
        {
          forge,
          resolver: commitTreeResolver,
          forks: 'deny',
          repository: forge.project,
          team: undefined,
          variables: {},
        },
      ]),
    ),
    configuration: new Configuration({ documents: [] }),
    providers: new Map([[provider.name, provider]]),
    sections: shippedSections,
    generators,
    clock: systemClock,
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

/** The real loop over this many environments, all as they should be. */
export const createEngineWorld = async (count: number): Promise<EngineWorld> => {
  const project = projectId('shop');
  const repository = new FakeRepository(project);
  const commit = repository.push({ kind: 'branch', name: 'preview/0' }, { 'eph.yaml': spec });
  for (let index = 1; index < count; index += 1) repository.point({ kind: 'branch', name: `preview/${index}` }, commit);
  const provider = new ListedProvider(createFakeInfrastructure(), { now: () => Date.now() });
  const engine = createBenchEngine([new ListedForge(project, repository)], provider, [gitBranchGenerator]);
  engine.start();
  await engine.idle();
  while (engine.environments().some((known) => !known.settled)) {
    engine.wakeAll();
    await engine.idle();
  }
  const observed = await provider.freeze();
  if (observed.length !== count) throw new Error(`${observed.length} of ${count} environments exist`);
  return { engine, provider, observed };
};
