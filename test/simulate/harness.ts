import {
  type CommitSha,
  type ComponentName,
  type EnvironmentId,
  EphError,
  type Event,
  type Identity,
  type ProjectId,
  type ProviderName,
  projectId,
  providerName,
  type ResolvedComponent,
  type Source,
  type SourceRef,
  shippedSections,
  sourceKey,
} from '@eph/contract';
import { gitBranchGenerator, gitTagGenerator } from '@eph/engine/desired/git-ref-triggers';
import { identify } from '@eph/engine/desired/identity';
import { ImageResolver } from '@eph/engine/images/image-resolver';
import type { ConfiguredProject } from '@eph/engine/loop/context';
import { Engine } from '@eph/engine/loop/engine';
import type { Telemetry } from '@eph/engine/loop/telemetry';
import { silentTelemetry } from '@eph/engine/loop/telemetry.fake';
import { defaultDeletionBound, guardDeletions } from '@eph/engine/plan/guard';
import { type Behaviour, createFakeInfrastructure } from '@eph/engine/provider/provider.fake';
import { FakeRenderer } from '@eph/engine/render/renderer.fake';
import type { Report } from '@eph/engine/report/reporter';
import { Configuration } from '@eph/engine/source/configuration';
import { FakeRepository } from '@eph/engine/source/forge.fake';
import { ManualClock } from '@eph/engine/time/clock.fake';
import { extrasSection } from '../../packages/contract/spec/section.fake.ts';
import { appRepository, Builds } from './builds.ts';
import { type Call, Calls, describeProgress, untilBlocked, type Waiting } from './calls.ts';
import type { Content } from './contents.ts';
import { InvariantChecker, type Place, type RunningImage, type Truth } from './invariants.ts';
import type { Plant } from './plants.ts';
import { mix, Random } from './random.ts';
import { SimulatedForge } from './simulated-forge.ts';
import { type SimulatedInfrastructure, SimulatedProvider } from './simulated-provider.ts';
import { registryParty, SimulatedRegistry } from './simulated-registry.ts';

/** The settings of an episode, chosen by its seed. */
interface Profile {
  readonly projects: readonly [ProjectId, ...ProjectId[]];
  readonly workers: number;
  /** How many previews a project may have at once. */
  readonly previews: number;
  /** How long a version takes to get ready. */
  readonly startMs: number;
  /** How likely a call fails at each of its moments. */
  readonly faultRate: number;
  /** Weight of a crash among the steps. */
  readonly crashes: number;
  /** A provider that may call a listing complete that is not. */
  readonly liar: ProviderName | undefined;
  /** How many calls a removal refuses before it is over. */
  readonly refusals: number;
  /** Projects whose forge limits how often it is read. Webhooks announce what changes in them. */
  readonly limited: ReadonlySet<ProjectId>;
  /** Of all limited projects together. */
  readonly readingsPerMinute: number;
}

/** In the order of ephd's file. */
const providerTypes: ReadonlyMap<ProviderName, string> = new Map([
  [providerName('process'), 'process'],
  [providerName('local'), 'process'],
  [providerName('spare'), 'toy'],
]);

const providerNames = [...providerTypes.keys()] as [ProviderName, ...ProviderName[]];

const profileOf = (random: Random): Profile => {
  const projects = ['shop', 'blog', 'mail', 'wiki'].slice(0, 2 + random.below(3)).map(projectId) as [ProjectId, ...ProjectId[]];
  return {
    projects,
    workers: 1 + random.below(6),
    previews: random.pick([3, 8, 10, 10, 12, 28]),
    startMs: random.pick([0, 900, 4_000, 15_000]),
    faultRate: random.pick([0.02, 0.05, 0.1, 0.2]),
    crashes: random.pick([0, 2, 6, 30]),
    liar: random.chance(0.1) ? random.pick(providerNames) : undefined,
    refusals: random.pick([0, 0, 1, 2]),
    limited: new Set(random.chance(0.4) ? [] : projects.slice(random.below(projects.length))),
    readingsPerMinute: random.pick([1, 3, 10]),
  };
};

/** One table for all engines: a schema is made for it once. */
const sections = [...shippedSections, extrasSection];

/** What a process is started with. */
export interface StartOptions {
  readonly projects?: readonly ProjectId[];
  /** Providers that are no longer in ephd's file. */
  readonly retired?: ReadonlySet<ProviderName>;
}

const none: ReadonlySet<ProviderName> = new Set();

/** The variables a component was started with. */
export const environmentOf = ({ values }: ResolvedComponent): { readonly [name: string]: string } =>
  (values['env'] ?? {}) as { readonly [name: string]: string };

/** Where a version of a component is reached. */
export const addressOf = (provider: ProviderName, { name, revision }: ResolvedComponent): string =>
  `http://${name}.${provider}.test/${revision}`;

/** Repositories, infrastructure and a clock that outlive every engine, and the engine that runs now. */
export class SimulationHarness implements Truth {
  readonly providers = providerNames;
  readonly profile: Profile;
  readonly projects: readonly ProjectId[];
  readonly repositories: ReadonlyMap<ProjectId, FakeRepository>;
  readonly infrastructures: ReadonlyMap<ProviderName, SimulatedInfrastructure>;
  readonly builds: Builds;
  readonly calls = new Calls();
  readonly invariants: InvariantChecker;
  /** Components of commits that never get ready, as `commit/component`. */
  readonly broken = new Set<string>();
  /** Parties that hardly answer at the moment. */
  readonly outages = new Set<string>();
  /** Parties of which every call fails. */
  readonly away = new Set<string>();
  /** Projects whose forge shows half of the sources at the next listing and calls that complete. */
  readonly lieOnce = new Set<string>();
  /** Providers that list only half of many environments, and say so. */
  readonly halved = new Set<string>();
  /** Whether the registry says of everything that it is not there, or fails and lies at random. */
  registryFault: 'denies everything' | 'is unreliable' | undefined;
  /** The last report of each environment. */
  readonly reports = new Map<EnvironmentId, string>();
  /** Deleted sources that may come back. */
  readonly vanished: Source[] = [];
  clock = new ManualClock();
  serverKey = 'key 0';
  /** Passes finished so far, by all engines. */
  passes = 0;
  /** Passes that count for convergence: every limited project has been read since the one before. */
  fullPasses = 0;
  configured: readonly ProjectId[];
  retired: ReadonlySet<ProviderName> = none;
  forges = new Map<ProjectId, SimulatedForge>();
  simulated: readonly SimulatedProvider[] = [];
  engine!: Engine;
  #resolver!: ImageResolver;
  readonly #seed: number;
  readonly #plant: Plant;
  readonly #contents = new Map<CommitSha, Content>();
  readonly #past = new Map<string, readonly Source[]>();
  readonly #ids = new Map<string, EnvironmentId>();
  #starts = 0;
  #jumped = 0;

  constructor(seed: number, plant: Plant) {
    this.#seed = seed;
    this.#plant = plant;
    this.profile = profileOf(new Random(mix(seed, 0)));
    this.projects = this.profile.projects;
    this.configured = this.projects;
    this.invariants = new InvariantChecker(this);
    this.builds = new Builds(this.projects);
    this.repositories = new Map(this.profile.projects.map((id) => [id, new FakeRepository(id, () => this.clock.now())]));
    this.infrastructures = new Map(providerNames.map((name) => [name, { ...createFakeInfrastructure(), removals: new Map() }]));
  }

  /** A process starts. The one before it, if any, crashed at this moment. */
  start({ projects = this.profile.projects, retired = none }: StartOptions = {}): void {
    this.configured = projects;
    this.retired = retired;
    this.#starts += 1;
    this.calls.drop();
    this.clock = new ManualClock(this.clock.now());
    this.invariants.started(projects);
    this.engine = this.#createEngine();
    this.engine.start();
    if (this.#plant.twoEngines === true) this.#createEngine().start();
  }

  /** A project leaves while the process runs. Calls to its forge that are under way may still be answered. */
  leave(id: ProjectId): void {
    this.configured = this.configured.filter((one) => one !== id);
    this.forges.delete(id);
    this.invariants.left(id);
    this.engine.removeProjects(new Set([id]));
  }

  /** Projects return, or were not there when the process started. */
  join(ids: readonly ProjectId[]): void {
    this.configured = this.profile.projects.filter((id) => this.configured.includes(id) || ids.includes(id));
    for (const id of ids) this.invariants.joined(id);
    this.engine.addProjects(this.#configureProjects(ids));
  }

  /** Resolves when the engine can do nothing before a call or the clock goes on. */
  async untilBlocked(): Promise<void> {
    await untilBlocked();
    this.invariants.blocked();
  }

  get missing(): readonly ProjectId[] {
    return this.profile.projects.filter((id) => !this.configured.includes(id));
  }

  /** Whether the process has everything. */
  get isFullyConfigured(): boolean {
    return this.missing.length === 0 && this.retired.size === 0;
  }

  /** All faults end, but for components that do not get ready. */
  endFaults(): void {
    this.outages.clear();
    this.away.clear();
    this.halved.clear();
    this.lieOnce.clear();
    this.registryFault = undefined;
    this.calls.hung.clear();
  }

  /** An operator releases an environment; false if it is not held. */
  release(id: EnvironmentId): boolean {
    const project = this.engine.environment(id)?.project;
    if (project === undefined || !this.engine.release(id)) return false;
    this.invariants.released(id, project);
    return true;
  }

  /** What an operator can release: held by the guard, or on a retired provider. */
  releasable(): readonly EnvironmentId[] {
    return this.engine
      .environments()
      .filter(({ id, held }) => held || [...this.retired].some((name) => this.infrastructures.get(name)?.environments.has(id)))
      .map(({ id }) => id);
  }

  /** Lets a call go on, without other faults than those that last, and describes it. */
  letGo(waiting: Waiting, random: Random): string {
    const { call, moment } = waiting;
    const isRegistry = call.party === registryParty;
    const isUnreliable = isRegistry && this.registryFault === 'is unreliable';
    if (this.away.has(call.party) || (isUnreliable && random.chance(0.3))) {
      waiting.fail(new EphError(isRegistry ? 'registry.unreachable' : 'provider.unreachable', 'no answer'));
      return `${call.operation} ${call.about} fails: away`;
    }
    const isWide = call.operation === 'list' && !call.key.startsWith('environment:');
    if (isWide && this.halved.has(call.party)) call.loss = 'half';
    const isSources = call.operation === 'sources' && moment === 'before';
    if (isSources && this.lieOnce.delete(call.party)) call.loss = 'lying half';
    if (isRegistry && this.registryFault === 'denies everything') call.loss = 'lying empty';
    if (isUnreliable && moment === 'before' && random.chance(0.3)) call.loss = random.pick(['lying half', 'lying empty']);
    waiting.goOn();
    return describeProgress(waiting);
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

  /** The registry announces a push. */
  announceImages(project: ProjectId): void {
    this.#resolver.forget(appRepository(project));
    this.engine.announceImages(appRepository(project));
  }

  /** The last few commits of a source. */
  pastOf(project: ProjectId, ref: SourceRef): readonly Source[] {
    return this.#past.get(`${project} ${sourceKey(ref)}`) ?? [];
  }

  sources(project: ProjectId): readonly Source[] {
    return [...this.#repository(project).refs.values()];
  }

  /** Somebody sets the clock. Components take as long to start as before. */
  jump(ms: number): void {
    this.#jumped += ms;
    this.clock.jump(ms);
  }

  sourceOf(project: ProjectId, ref: SourceRef): Source | undefined {
    return this.#repository(project).refs.get(sourceKey(ref));
  }

  contentAt(commit: CommitSha): Content {
    const content = this.#contents.get(commit);
    if (content === undefined) throw new Error(`there is no commit ${commit}`);
    return content;
  }

  identify(project: ProjectId, ref: SourceRef): EnvironmentId {
    const key = `${project} ${sourceKey(ref)}`;
    let id = this.#ids.get(key);
    if (id === undefined) this.#ids.set(key, (id = identify(project, ref)));
    return id;
  }

  allowedFor({ shape, choice }: Content, component: string): readonly ProviderName[] {
    const configured = providerNames.filter((name) => !this.retired.has(name));
    const ofType = (type: string): readonly ProviderName[] => configured.filter((name) => providerTypes.get(name) === type);
    if (shape !== undefined && Object.hasOwn(shape.extras, component)) return ofType('toy').slice(0, 1);
    const find = (asked: string): readonly ProviderName[] => {
      const named = configured.filter((name) => name === asked);
      return named.length > 0 ? named : ofType(asked);
    };
    return [...new Set(choice.flatMap(find))];
  }

  holdersOf(id: EnvironmentId): ReadonlyMap<ProviderName, Identity> {
    const holders = new Map<ProviderName, Identity>();
    for (const [name, { environments }] of this.infrastructures) {
      const held = environments.get(id);
      if (held !== undefined) holders.set(name, held.identity);
    }
    return holders;
  }

  isHeldOn(provider: ProviderName, id: EnvironmentId): boolean {
    return this.infrastructures.get(provider)?.environments.get(id)?.held === true;
  }

  stateOf(id: EnvironmentId, { provider, component }: Place): 'absent' | 'not ready' | 'ready' {
    const slot = this.infrastructures.get(provider)?.environments.get(id)?.slots.get(component);
    if (slot === undefined) return 'absent';
    return slot.current === undefined ? 'not ready' : 'ready';
  }

  /** The components of each environment of which a version is ready. */
  readyComponents(): ReadonlyMap<EnvironmentId, ReadonlySet<ComponentName>> {
    const ready = new Map<EnvironmentId, Set<ComponentName>>();
    for (const { environments } of this.infrastructures.values())
      for (const [id, { slots }] of environments)
        for (const [name, { current }] of slots) if (current !== undefined) ready.set(id, (ready.get(id) ?? new Set()).add(name));
    return ready;
  }

  *identities(): Iterable<Identity> {
    for (const { environments } of this.infrastructures.values())
      for (const { identity } of environments.values()) yield identity;
  }

  usersOf(id: EnvironmentId, place: Place, stopped: 'every version' | 'the version before'): readonly Place[] {
    const { provider, component } = place;
    const slot = this.infrastructures.get(provider)?.environments.get(id)?.slots.get(component);
    if (slot === undefined) return [];
    const { current, retiring = [] } = slot;
    const versions = stopped === 'every version' && current !== undefined ? [current, ...retiring] : retiring;
    const addresses = new Set(versions.map((version) => addressOf(provider, version.component)));
    // A version that became current again has the same address as its retiring copy.
    if (stopped === 'the version before' && current !== undefined) addresses.delete(addressOf(provider, current.component));
    if (addresses.size === 0) return [];
    const used = this.#usedBy(id, component);
    const users: Place[] = [];
    for (const [name, { environments }] of this.infrastructures)
      for (const [user, { current: version }] of environments.get(id)?.slots ?? []) {
        if (version === undefined || used.has(user) || (name === provider && user === component)) continue;
        if (Object.values(environmentOf(version.component)).some((value) => addresses.has(value)))
          users.push({ provider: name, component: user });
      }
    return users;
  }

  /** Everything that a component refers to by name, also through others, on any provider and in any version that runs. */
  #usedBy(id: EnvironmentId, component: ComponentName): ReadonlySet<ComponentName> {
    const used = new Set<ComponentName>();
    const left = [component];
    for (let one = left.pop(); one !== undefined; one = left.pop())
      for (const { environments } of this.infrastructures.values()) {
        const slot = environments.get(id)?.slots.get(one);
        for (const version of [slot?.current, slot?.next])
          for (const name of version?.component.dependsOn ?? [])
            if (!used.has(name)) {
              used.add(name);
              left.push(name);
            }
      }
    return used;
  }

  isImageFor(reference: string, purpose: CommitSha | 'latest' | 'fixed'): boolean {
    return this.builds.isFor(reference, purpose);
  }

  imagesOf(id: EnvironmentId): readonly RunningImage[] {
    return [...this.infrastructures.values()].flatMap(({ environments }) =>
      [...(environments.get(id)?.slots.values() ?? [])].flatMap(({ current, next }) =>
        [current, next].flatMap((version) =>
          Object.entries(version?.component.images ?? {}).map(([name, image]) => ({ name, image })),
        ),
      ),
    );
  }

  hasRecord(id: EnvironmentId): boolean {
    return this.engine.environment(id) !== undefined;
  }

  isRecordedOn(provider: ProviderName, id: EnvironmentId): boolean {
    return this.engine.environment(id)?.observed?.components.some((one) => one.provider === provider) === true;
  }

  isQueueEmpty(): boolean {
    return this.engine.load.ready === 0;
  }

  isHung(party: string): boolean {
    return this.calls.hung.has(party);
  }

  #repository(project: ProjectId): FakeRepository {
    const repository = this.repositories.get(project);
    if (repository === undefined) throw new Error(`there is no project ${project}`);
    return repository;
  }

  #createProviders(): readonly SimulatedProvider[] {
    const { calls, invariants } = this;
    const { startMs, refusals } = this.profile;
    return Array.from(this.infrastructures, ([name, infrastructure]) => {
      const now = (): number => this.clock.now() - this.#jumped;
      const behaviourOf = (component: ResolvedComponent): Behaviour => this.#behaviourOf(component);
      const type = providerTypes.get(name) ?? '';
      return new SimulatedProvider({ name, type, infrastructure, now, startMs, behaviourOf, refusals, calls, invariants });
    });
  }

  #configureProjects(ids: readonly ProjectId[]): ReadonlyMap<ProjectId, ConfiguredProject> {
    const { calls, invariants, profile } = this;
    const shared = {
      forks: 'deny',
      trusted: false,
      network: 'shared',
      team: undefined,
      variables: {},
    } as const;
    const limit = { account: 'forge', readingsPerMinute: profile.readingsPerMinute };
    return new Map(
      ids.map((id) => {
        const forge = new SimulatedForge(this.#repository(id), calls, invariants, (...args) => this.identify(...args));
        this.forges.set(id, forge);
        const limited = profile.limited.has(id) ? { limit } : {};
        return [id, { ...shared, ...limited, forge: this.#plant.forge?.(forge) ?? forge, repository: id }];
      }),
    );
  }

  #createEngine(): Engine {
    const random = new Random(mix(~this.#seed, this.#starts));
    this.forges.clear();
    this.simulated = this.#createProviders();
    const providers = this.#plant.providers?.(this.simulated) ?? this.simulated;
    this.#resolver = this.#createResolver();
    return new Engine({
      projects: this.#configureProjects(this.configured),
      configuration: new Configuration({ documents: [] }),
      providers: new Map(providers.map((provider) => [provider.name, provider])),
      retired: this.retired,
      sections,
      generators: [gitBranchGenerator, gitTagGenerator],
      renderer: new FakeRenderer(),
      resolver: this.#plant.resolver?.(this.#resolver) ?? this.#resolver,
      clock: this.clock,
      random: () => random.next(),
      workers: this.profile.workers,
      telemetry: this.#telemetry(),
      serverKey: this.serverKey,
      urlOf: (name) => `http://${name}.localhost`,
      ownerOf: () => undefined,
      aliasesOf: () => [],
      deletionBound: defaultDeletionBound,
      guard: this.#plant.guard ?? guardDeletions,
      record: (event) => this.#record(event),
      deliver: (report) => this.#deliver(report),
      changed: () => {},
    });
  }

  #createResolver(): ImageResolver {
    const { calls, invariants, clock } = this;
    return new ImageResolver({
      registry: new SimulatedRegistry({ pushed: this.builds.registry, calls, invariants, clock }),
      // No file asks for notes.
      readNote: () => Promise.resolve(undefined),
      now: () => clock.now(),
      times: { fallbackAfterMs: 40_000, giveUpAfterMs: 100_000, freshForMs: 10_000 },
    });
  }

  #behaviourOf({ commit, name }: { readonly commit: CommitSha; readonly name: ComponentName }): Behaviour {
    return this.broken.has(`${commit}/${name}`) ? 'never ready' : 'gets ready';
  }

  #telemetry(): Telemetry {
    return {
      ...silentTelemetry,
      passFinished: () => this.#notePass(),
      projectRead: (project) => this.invariants.readings.accepted(project),
      failed: (key, failure) => {
        // A key of the queue appears here only if a run threw; other failures carry the name of an environment.
        if (/^(pass|project:.*|environment:[0-9a-f]{16})$/.test(key))
          this.invariants.fail('no run throws', `${key}: ${failure.message}`);
      },
    };
  }

  #notePass(): void {
    this.passes += 1;
    const limited = [...this.forges.values()].filter(({ project }) => this.profile.limited.has(project));
    if (limited.some(({ isRead }) => !isRead)) return;
    this.fullPasses += 1;
    for (const forge of limited) forge.isRead = false;
  }

  #record({ type, project, environment }: Event): void {
    if (project === null || environment === null) return;
    if (type === 'deletion.held') this.invariants.held(project, environment);
    if (type === 'environment.removed') this.invariants.removed(environment);
  }

  async #deliver({ project, environment, source, text }: Report): Promise<void> {
    const key = `report:${environment}`;
    const call: Call = {
      operation: 'deliver',
      key,
      about: `${project} ${sourceKey(source)}`,
      party: 'reporter',
      signal: undefined,
      loss: undefined,
    };
    this.invariants.callBegins(call);
    try {
      await this.calls.pause(call, 'before');
      this.reports.set(environment, text);
      await this.calls.pause(call, 'after');
    } finally {
      this.invariants.callEnds(call);
    }
  }
}
