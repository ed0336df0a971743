import {
  completeReading,
  type EnvironmentId,
  type Identity,
  type ObservedEnvironment,
  type ProjectId,
  projectId,
  type Reading,
  type SourceRef,
  silentLog,
} from '@eph/contract';
import { prLabelGenerator } from '@eph/engine/desired/pull-triggers';
import type { Engine } from '@eph/engine/loop/engine';
import { createFakeInfrastructure, FakeProvider } from '@eph/engine/provider/provider.fake';
import { FakeForge, FakeRepository } from '@eph/engine/source/forge.fake';
import type { Hono } from 'hono';
import { createWebhookRoutes } from '../../apps/ephd/webhooks/webhook-routes.ts';
import { createBenchEngine } from './engine-harness.ts';

const spec = `version: "1.0"
name: shop
triggers: [{ type: pr_label, labels: [preview] }]
process:
  services:
    web: { command: run web }
`;

/** Caches what it has observed until it changes, as real providers do, and calls `onEnsure` when something is applied. */
class WatchedProvider extends FakeProvider {
  readonly #kept = new Map<ProjectId, Map<EnvironmentId, ObservedEnvironment>>();
  onEnsure = (): void => undefined;

  override async list(...[scope]: Parameters<FakeProvider['list']>): Promise<Reading<ObservedEnvironment>> {
    if ('environment' in scope) return await super.list(scope);
    const kept = 'project' in scope ? [this.#keptOf(scope.project)] : [...this.#kept.values()];
    const items = kept.flatMap((environments) => [...environments.values()]);
    this.calls.list += 1;
    return completeReading(items);
  }

  override async ensure(...args: Parameters<FakeProvider['ensure']>): Promise<void> {
    this.onEnsure();
    await super.ensure(...args);
    await this.#look(args[0]);
  }

  override async remove(...args: Parameters<FakeProvider['remove']>): Promise<void> {
    await super.remove(...args);
    await this.#look(args[0]);
  }

  async #look({ id, project }: Identity): Promise<void> {
    const [seen] = (await super.list({ environment: id })).items;
    if (seen === undefined) this.#keptOf(project).delete(id);
    else this.#keptOf(project).set(id, seen);
  }

  #keptOf(project: ProjectId): Map<EnvironmentId, ObservedEnvironment> {
    const kept = this.#kept.get(project) ?? new Map<EnvironmentId, ObservedEnvironment>();
    this.#kept.set(project, kept);
    return kept;
  }
}

export interface WebhookHarness {
  readonly engine: Engine;
  readonly webhooks: Hono;
  readonly environments: number;
  /** A pull request that has no environment. */
  readonly quiet: SourceRef;
  readonly repository: FakeRepository;
  /** Resolves with the time of the next call that applies something. */
  firstApply(): Promise<number>;
}

export const fullNameOf = (project: ProjectId): string => `acme/${project}`;

/** The real engine and the real webhook routes over environments of pull requests, all of them up to date. */
export const createWebhookHarness = async (projects: number, each: number, secret: string): Promise<WebhookHarness> => {
  const ids = Array.from({ length: projects }, (_, index) => projectId(`shop-${index}`));
  const repositories = new Map(ids.map((id) => [id, new FakeRepository(id)]));
  for (const repository of repositories.values()) fill(repository, each);
  const [repository] = repositories.values();
  if (repository === undefined) throw new Error('there is no project');
  const quiet = repository.pullRequests.open({ head: 'work' });
  const provider = new WatchedProvider(createFakeInfrastructure(), { now: () => Date.now() });
  const engine = createEngine(repositories, provider);
  engine.start();
  await engine.idle();
  while (engine.environments().some((known) => !known.settled)) {
    engine.wakeAll();
    await engine.idle();
  }
  const webhooks = createWebhookRoutes({
    forgeOf: () => ({ type: 'github', secret }),
    projectOf: (_, name) => ids.find((id) => name === fullNameOf(id)),
    wake: (id) => engine.wakeProject(id),
    registries: [],
    wakeWaiting: () => {},
    wakeOrganisations: () => {},
    now: Date.now,
    log: silentLog,
  });
  return {
    engine,
    webhooks,
    environments: engine.environments().length,
    quiet,
    repository,
    firstApply: () =>
      new Promise((resolve) => {
        provider.onEnsure = () => {
          provider.onEnsure = () => undefined;
          resolve(performance.now());
        };
      }),
  };
};

const fill = (repository: FakeRepository, count: number): void => {
  repository.push({ kind: 'branch', name: 'work' }, { 'eph.yaml': spec });
  for (let index = 0; index < count; index += 1) repository.pullRequests.open({ head: 'work', labels: ['preview'] });
};

const createEngine = (repositories: ReadonlyMap<ProjectId, FakeRepository>, provider: FakeProvider): Engine =>
  createBenchEngine(
    [...repositories].map(([id, repository]) => new FakeForge(id, repository)),
    [provider],
    [prLabelGenerator],
  );
