import {
  type CommitSha,
  type ComponentName,
  type EnvironmentId,
  type Event,
  type Identity,
  type ProjectId,
  projectId,
  type ResolvedComponent,
  type Source,
  type SourceRef,
  shippedSections,
  sourceKey,
} from '@eph/contract';
import { gitBranchGenerator, gitTagGenerator } from '@eph/engine/desired/git-ref-triggers';
import { commitTreeResolver } from '@eph/engine/images/commit-tree';
import { ManualClock } from '@eph/engine/loop/clock.fake';
import { Engine } from '@eph/engine/loop/engine';
import { silentTelemetry, type Telemetry } from '@eph/engine/loop/telemetry';
import { defaultDeletionBound, guardDeletions } from '@eph/engine/plan/guard';
import { type Behaviour, createFakeInfrastructure } from '@eph/engine/provider/provider.fake';
import type { Report } from '@eph/engine/report/reporter';
import { Configuration } from '@eph/engine/source/configuration';
import { FakeRepository } from '@eph/engine/source/forge.fake';
import { type Call, Calls } from './calls.ts';
import type { Content } from './contents.ts';
import type { Plant } from './plants.ts';
import { mix, Random } from './random.ts';
import { SimulatedForge } from './simulated-forge.ts';
import { SimulatedProvider } from './simulated-provider.ts';
import { type Truth, Witness } from './witness.ts';

/** What kind of life this is: every seed has its own. */
interface Character {
  readonly projects: readonly [ProjectId, ...ProjectId[]];
  readonly workers: number;
  /** How many previews a project may have at once. */
  readonly previews: number;
  /** How long a version takes to get ready. */
  readonly startMs: number;
  /** How likely a call goes wrong at each moment it passes. */
  readonly mishaps: number;
  /** Weight of a crash among the steps. */
  readonly crashes: number;
  /** Whether the provider, too, may call a listing complete that is not. */
  readonly lyingProvider: boolean;
}

const characterOf = (random: Random): Character => ({
  projects: [projectId('shop'), ...['blog', 'mail', 'wiki'].slice(0, 1 + random.below(3)).map(projectId)],
  workers: 1 + random.below(6),
  previews: random.pick([3, 8, 10, 10, 12, 28]),
  startMs: random.pick([0, 900, 4_000, 15_000]),
  mishaps: random.pick([0.02, 0.05, 0.1, 0.2]),
  crashes: random.pick([0, 2, 6, 30]),
  lyingProvider: random.chance(0.1),
});

/** The variables a component was started with. */
export const environmentOf = ({ values }: ResolvedComponent): { readonly [name: string]: string } =>
  values['env'] as { readonly [name: string]: string };

/** Repositories, an infrastructure and a clock that outlive every engine, and the engine that happens to look after them now. */
export class Town implements Truth {
  readonly character: Character;
  readonly repositories: ReadonlyMap<ProjectId, FakeRepository>;
  readonly infrastructure = createFakeInfrastructure();
  readonly calls = new Calls();
  readonly witness = new Witness(this);
  /** Components of commits that never get ready, as `commit/component`. */
  readonly broken = new Set<string>();
  /** Who hardly answers at the moment: projects, for their forge, and the provider. */
  readonly outages = new Set<string>();
  /** The last report of each environment. */
  readonly reports = new Map<EnvironmentId, string>();
  /** Sources that vanished all at once and may come back. */
  readonly vanished: Source[] = [];
  clock = new ManualClock();
  serverKey = 'key 0';
  /** Passes finished since the town was founded. */
  passes = 0;
  configured: readonly ProjectId[];
  forges: ReadonlyMap<ProjectId, SimulatedForge> = new Map();
  provider!: SimulatedProvider;
  engine!: Engine;
  readonly #seed: number;
  readonly #plant: Plant;
  readonly #contents = new Map<CommitSha, Content>();
  readonly #past = new Map<string, readonly Source[]>();
  #starts = 0;
  #jumped = 0;

  constructor(seed: number, plant: Plant) {
    this.#seed = seed;
    this.#plant = plant;
    this.character = characterOf(new Random(mix(seed, 0)));
    this.configured = this.character.projects;
    this.repositories = new Map(this.character.projects.map((id) => [id, new FakeRepository(id)]));
  }

  /** A process starts; whatever was there before it has crashed at this very moment. */
  start(configured: readonly ProjectId[] = this.character.projects): void {
    this.configured = configured;
    this.#starts += 1;
    this.calls.drop();
    this.clock = new ManualClock(this.clock.now());
    this.witness.started(configured);
    this.engine = this.#createEngine();
    this.engine.start();
    if (this.#plant.twins === true) this.#createEngine().start();
  }

  push(project: ProjectId, ref: SourceRef, content: Content): CommitSha {
    const commit = this.#repository(project).push(ref, content.files(project));
    this.#contents.set(commit, content);
    this.point({ project, ref, commit });
    return commit;
  }

  point(source: Source): void {
    const { project, ref, commit } = source;
    this.#repository(project).point(ref, commit);
    const key = `${project} ${sourceKey(ref)}`;
    this.#past.set(key, [...(this.#past.get(key) ?? []), source].slice(-4));
  }

  /** Where a source was a few pushes ago. */
  pastOf(project: ProjectId, ref: SourceRef): readonly Source[] {
    return this.#past.get(`${project} ${sourceKey(ref)}`) ?? [];
  }

  sources(project: ProjectId): readonly Source[] {
    return [...this.#repository(project).refs.values()];
  }

  /** Somebody sets the clock. What runs does not start slower or faster for it. */
  jump(ms: number): void {
    this.#jumped += ms;
    this.clock.jump(ms);
  }

  sourceOf(project: ProjectId, ref: SourceRef): Source | undefined {
    return this.#repository(project).refs.get(sourceKey(ref));
  }

  contentOf(source: Source): Content {
    const content = this.#contents.get(source.commit);
    if (content === undefined) throw new Error(`nobody made commit ${source.commit}`);
    return content;
  }

  identityOf(id: EnvironmentId): Identity | undefined {
    return this.infrastructure.environments.get(id)?.identity;
  }

  *identities(): Iterable<Identity> {
    for (const { identity } of this.infrastructure.environments.values()) yield identity;
  }

  userOf(
    id: EnvironmentId,
    component: ComponentName,
    stopped: 'every version' | 'the version before',
  ): ComponentName | undefined {
    const slots = this.infrastructure.environments.get(id)?.slots ?? new Map<ComponentName, never>();
    const { current, retiring = [] } = slots.get(component) ?? {};
    const versions = stopped === 'every version' && current !== undefined ? [current, ...retiring] : retiring;
    const urls = new Set(versions.map((version) => `http://${component}.test/${version.component.revision}`));
    // An old version that was brought back has the same address.
    if (stopped === 'the version before') urls.delete(`http://${component}.test/${current?.component.revision}`);
    for (const [name, { current: user }] of slots)
      if (name !== component && user !== undefined && Object.values(environmentOf(user.component)).some((url) => urls.has(url)))
        return name;
    return undefined;
  }

  #repository(project: ProjectId): FakeRepository {
    const repository = this.repositories.get(project);
    if (repository === undefined) throw new Error(`there is no project ${project}`);
    return repository;
  }

  #createEngine(): Engine {
    const { calls, witness } = this;
    const forges = this.configured.map((id) => new SimulatedForge(id, this.#repository(id), calls, witness));
    const random = new Random(mix(~this.#seed, this.#starts));
    this.forges = new Map(forges.map((forge) => [forge.project, forge]));
    this.provider = new SimulatedProvider(
      this.infrastructure,
      {
        now: () => this.clock.now() - this.#jumped,
        startMs: this.character.startMs,
        behaviourOf: (component) => this.#behaviourOf(component),
      },
      calls,
      witness,
    );
    return new Engine({
      projects: new Map(
        forges.map((forge) => [
          forge.project,
          {
            forge: this.#plant.forge?.(forge) ?? forge,
            resolver: commitTreeResolver,
            forks: 'deny',
            repository: forge.project,
            team: undefined,
            variables: {},
          },
        ]),
      ),
      configuration: new Configuration({ documents: [] }),
      providers: new Map([[this.provider.name, this.#plant.provider?.(this.provider) ?? this.provider]]),
      sections: shippedSections,
      generators: [gitBranchGenerator, gitTagGenerator],
      clock: this.clock,
      random: () => random.next(),
      workers: this.character.workers,
      telemetry: this.#telemetry(),
      serverKey: this.serverKey,
      urlOf: (name) => `http://${name}.localhost`,
      ownerOf: () => undefined,
      aliasesOf: () => [],
      deletionBound: defaultDeletionBound,
      guard: this.#plant.guard ?? guardDeletions,
      record: (event) => this.#record(event),
      deliver: (report, signal) => this.#deliver(report, signal),
      changed: () => {},
    });
  }

  #behaviourOf({ commit, name }: ResolvedComponent): Behaviour {
    return this.broken.has(`${commit}/${name}`) ? 'never ready' : 'gets ready';
  }

  #telemetry(): Telemetry {
    return {
      ...silentTelemetry,
      passFinished: () => {
        this.passes += 1;
      },
      projectRead: (project) => this.witness.surveys.absorbed(project),
      failed: (key, failure) => {
        // Keys of the queue appear here only when a run threw; a failure that was foreseen carries the name of its environment.
        if (/^(pass|project:.*|environment:[0-9a-f]{16})$/.test(key))
          this.witness.accuse('no run throws', `${key}: ${failure.message}`);
      },
    };
  }

  #record(event: Event): void {
    if (event.type === 'deletion.held' && event.project !== null && event.environment !== null)
      this.witness.held(event.project, event.environment);
  }

  async #deliver({ environment, source, text }: Report, signal: AbortSignal): Promise<void> {
    const key = `report:${environment}`;
    const call: Call = { operation: 'deliver', key, about: sourceKey(source), party: 'reporter', loss: undefined };
    this.witness.callBegins(key, signal);
    try {
      await this.calls.pause(call, 'before');
      this.reports.set(environment, text);
      await this.calls.pause(call, 'after');
    } finally {
      this.witness.callEnds(key);
    }
  }
}
