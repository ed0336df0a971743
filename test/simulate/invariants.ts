import type {
  CommitSha,
  ComponentName,
  EnvironmentId,
  Identity,
  ObservedEnvironment,
  PinnedImage,
  ProjectId,
  ProviderName,
  Reading,
  ResolvedComponent,
  Source,
  SourceRef,
} from '@eph/contract';
import type { Scope } from '@eph/engine/provider/provider';
import { nameOf, questionOf } from './builds.ts';
import type { Call } from './calls.ts';
import { type Content, componentsOf, isFromTemplate } from './contents.ts';
import { ListingCalls } from './listing-calls.ts';
import { type ProjectReading, ProjectReadings } from './project-readings.ts';

export type Invariant =
  | 'nothing wanted is removed'
  | 'no removal on an incomplete reading'
  | 'a removal ends when every provider has answered'
  | 'deletions per pass are bounded'
  | 'a hold has a reason'
  | 'what is held stays'
  | 'holds are written before removals begin'
  | 'one run per key'
  | 'no two effects on a component at once'
  | 'an aborted run begins nothing'
  | 'nothing unread is changed'
  | 'nothing in use is stopped'
  | 'a version runs the image of its commit'
  | 'a fall-back replaces no right image'
  | 'a moved component is removed last'
  | 'a retired provider gets nothing new'
  | 'a retired provider keeps what it holds'
  | 'a project that left keeps what it has'
  | 'an environment keeps its identity'
  | 'no environment is made twice'
  | 'no two environments share a name'
  | 'no run throws'
  | 'environments converge'
  | 'nothing is left behind'
  | 'environments converge while one provider is away'
  | 'a registry stops nothing that runs'
  | 'an idle pass is cheap'
  | 'every status is reported';

export interface Violation {
  readonly invariant: Invariant;
  readonly message: string;
}

/** A component on one provider. */
export interface Place {
  readonly provider: ProviderName;
  readonly component: ComponentName;
}

export interface RunningImage {
  /** As the file calls it. */
  readonly name: string;
  readonly image: PinnedImage;
}

/** The state of the repositories and the infrastructure, independent of any reading. */
export interface Truth {
  readonly projects: readonly ProjectId[];
  readonly providers: readonly ProviderName[];
  readonly retired: ReadonlySet<ProviderName>;
  sourceOf(project: ProjectId, ref: SourceRef): Source | undefined;
  contentAt(commit: CommitSha): Content;
  identify(project: ProjectId, ref: SourceRef): EnvironmentId;
  /** The configured providers that a file allows for a component. */
  allowedFor(content: Content, component: string): readonly ProviderName[];
  /** The providers that hold some of it, each with the identity it was given there. */
  holdersOf(id: EnvironmentId): ReadonlyMap<ProviderName, Identity>;
  isHeldOn(provider: ProviderName, id: EnvironmentId): boolean;
  /** Whether the provider holds the component, and whether a version of it is ready. */
  stateOf(id: EnvironmentId, place: Place): 'absent' | 'not ready' | 'ready';
  identities(): Iterable<Identity>;
  /** Components of the environment that use the version which is about to be stopped. */
  usersOf(id: EnvironmentId, place: Place, stopped: 'every version' | 'the version before'): readonly Place[];
  /** Whether an image was ever pushed for a commit, or is a fall-back or a fixed tag. */
  isImageFor(reference: string, purpose: CommitSha | 'latest' | 'fixed'): boolean;
  /** What the versions of all components run, on all providers. */
  imagesOf(id: EnvironmentId): readonly RunningImage[];
  isHung(party: string): boolean;
  /** Whether nothing waits for a worker of the engine. */
  isQueueEmpty(): boolean;
  /** Whether the engine has a record of it. */
  hasRecord(id: EnvironmentId): boolean;
  /** Whether that record shows some of it on the provider. */
  isRecordedOn(provider: ProviderName, id: EnvironmentId): boolean;
}

/** What the run of an environment has read. */
interface RunKnowledge {
  /** For each provider that was asked, whether the environment was read completely. */
  readonly complete: Map<ProviderName, boolean>;
  /** Answers that the engine does not use before the others are there. */
  readonly answers: Map<ProviderName, ObservedEnvironment | undefined>;
  /** The identities it was shown under. */
  readonly identities: Identity[];
  /** Providers that had shown some of it before. */
  readonly holders: ReadonlySet<ProviderName>;
  /** The latest project reading when the source was read again. */
  authority?: ProjectReading | undefined;
  /** Where the source really was when it was read again. */
  source?: Source | 'gone';
}

/**
 * Sees every call of the engine to forges and providers, and compares what the engine does with the truth at that moment. It
 * asks only for what the engine can know: what a provider holds counts once that provider has shown it, and a provider that called
 * a listing complete that was not excuses wrong names, holds and identities until the next start.
 */
export class InvariantChecker {
  /** The first one found. */
  violation: Violation | undefined;
  /** Effects begun so far. */
  effects = 0;
  readonly #truth: Truth;
  readonly #written = new WeakSet<Identity>();
  /** Environments that got their name after a lie: it may be that of another one. */
  readonly #misnamed = new Set<EnvironmentId>();
  /** Environments whose hold was written, by any process, and that were neither released nor read as wanted since. */
  readonly #holds = new Set<EnvironmentId>();
  #configured = new Set<ProjectId>();
  #active = new Map<string, Set<Call>>();
  #effects = new Set<string>();
  #runs = new Map<EnvironmentId, RunKnowledge>();
  /** What each provider has shown this process. */
  #shown = new Map<ProviderName, Set<EnvironmentId>>();
  /** The names of environments that this process has begun to remove: they may be made again under the same name. */
  #oldNames = new Map<EnvironmentId, string>();
  /** Providers that this process has listed completely. */
  #listed = new Set<ProviderName>();
  /** The same for holds that this process decided, written or not, with the number of the project reading. */
  #newHolds = new Map<EnvironmentId, { readonly project: ProjectId; readonly reading: number }>();
  /** What operators have released since the start. */
  #released = new Map<EnvironmentId, ProjectId>();
  /** What the registry has answered to this process. */
  #said = new Set<string>();
  #readings: ProjectReadings;
  #listings = new ListingCalls();
  #liedTo = false;

  constructor(truth: Truth) {
    this.#truth = truth;
    this.#readings = this.#noReadings();
  }

  /** What the engine has read of its projects. */
  get readings(): ProjectReadings {
    return this.#readings;
  }

  /** A process starts with nothing in memory. */
  started(configured: readonly ProjectId[]): void {
    this.#configured = new Set(configured);
    this.#active = new Map();
    this.#effects = new Set();
    this.#runs = new Map();
    this.#shown = new Map();
    this.#oldNames = new Map();
    this.#listed = new Set();
    this.#newHolds = new Map();
    this.#released = new Map();
    this.#said = new Set();
    this.#listings = new ListingCalls();
    this.#readings = this.#noReadings();
    this.#liedTo = false;
  }

  /** The engine forgets what it knows of a project, and holds all of its environments. Only holds that are written outlast that. */
  left(project: ProjectId): void {
    this.#configured.delete(project);
    this.#readings.forget(project);
    // A run ends with the first of its calls that fails, and does not wait for the others.
    this.#active.delete(`project:${project}`);
    for (const [id, hold] of this.#newHolds) if (hold.project === project) this.#newHolds.delete(id);
    for (const [id, of] of this.#released) if (of === project) this.#released.delete(id);
  }

  joined(project: ProjectId): void {
    this.#configured.add(project);
  }

  /** The engine can do nothing more: the run of a project has ended if it waits for no call. */
  blocked(): void {
    const isQueueEmpty = this.#truth.isQueueEmpty();
    for (const id of this.#configured) {
      const calls = [...(this.#active.get(`project:${id}`) ?? [])];
      if (calls.every((call) => this.#listings.isIgnored(call))) this.#readings.ended(id, isQueueEmpty);
    }
  }

  fail(invariant: Invariant, message: string): void {
    this.violation ??= { invariant, message };
  }

  /** Whether this process has listed every provider completely. */
  hasListed(providers: readonly ProviderName[]): boolean {
    return providers.every((name) => this.#listed.has(name));
  }

  /** A run makes calls of one kind at a time, and none of them twice. Nobody waits for a provider that hangs. */
  callBegins(call: Call): void {
    const active = this.#active.get(call.key) ?? new Set();
    this.#active.set(call.key, active);
    for (const other of active) {
      if (this.#truth.isHung(other.party) || this.#listings.isIgnored(other)) continue;
      const isSame = other.about === call.about && other.party === call.party && call.operation !== 'readFile';
      if (other.operation !== call.operation || isSame)
        this.fail(
          'one run per key',
          `two runs of ${call.key} at once: ${other.operation} ${other.about}, and ${call.operation} ${call.about}`,
        );
    }
    active.add(call);
  }

  callEnds(call: Call): void {
    const active = this.#active.get(call.key);
    active?.delete(call);
    if (active?.size === 0) this.#active.delete(call.key);
  }

  listingBegins(provider: ProviderName, scope: Scope, call: Call): void {
    const isNew = this.#listings.begins(provider, call);
    if ('all' in scope) return this.#readings.passListingBegins(provider, isNew, () => this.#listings.isIgnored(call));
    if ('project' in scope) return this.#readings.listingBegins(provider, isNew, scope.project);
    const { environment } = scope;
    const run = this.#runs.get(environment);
    if (run !== undefined && !isNew) return void run.complete.set(provider, false);
    // Of a project that is not configured, a pass alone has shown it.
    const isKnownOn = (name: ProviderName): boolean =>
      this.#hasShown(name, environment) || this.#truth.isRecordedOn(name, environment);
    const holders = new Set(this.#truth.providers.filter(isKnownOn));
    this.#runs.set(environment, { complete: new Map([[provider, false]]), answers: new Map(), identities: [], holders });
  }

  listed(provider: ProviderName, scope: Scope, call: Call, reading: Reading<ObservedEnvironment>, lie: boolean): void {
    const isIgnored = this.#listings.isIgnored(call);
    this.#listings.ends(provider, call);
    if (isIgnored) return;
    this.#liedTo ||= lie;
    if ('all' in scope) {
      if (reading.complete) this.#listed.add(provider);
      return this.#readings.passListed(provider, reading);
    }
    if ('project' in scope) return this.#readings.listed(provider, scope.project, reading);
    const [observed] = reading.items;
    const complete = reading.complete && observed?.complete !== false;
    const run = this.#runs.get(scope.environment);
    run?.complete.set(provider, complete);
    run?.answers.set(provider, observed);
    if (run?.answers.size === run?.complete.size) this.#useAnswers(scope.environment);
  }

  /** The run of an environment knows what providers have shown of it, unless one that holds some of it could not be read. */
  #useAnswers(id: EnvironmentId): RunKnowledge | undefined {
    const run = this.#runs.get(id);
    if (run === undefined) return undefined;
    const holders = [...run.answers].flatMap(([name, observed]) => (observed === undefined ? [] : [name]));
    if ([...run.holders, ...holders].some((name) => run.complete.get(name) !== true)) return run;
    for (const [provider, observed] of run.answers)
      if (observed === undefined) {
        if (run.complete.get(provider) === true) this.#shownOn(provider).delete(id);
      } else {
        // Without a component, the engine does not know which provider has shown it.
        if (observed.components.length > 0) this.#shownOn(provider).add(id);
        run.identities.push(observed.identity);
      }
    run.answers.clear();
    return run;
  }

  rereadBegins(project: ProjectId, ref: SourceRef): void {
    const run = this.#useAnswers(this.#truth.identify(project, ref));
    if (run !== undefined) run.authority = this.#readings.latest(project);
  }

  reread(project: ProjectId, ref: SourceRef): void {
    const run = this.#runs.get(this.#truth.identify(project, ref));
    if (run !== undefined) run.source = this.#truth.sourceOf(project, ref) ?? 'gone';
  }

  /**
   * The engine decides to hold an environment. It has a reason if too many are to be removed, or if its provider is retired. A listing from
   * before its removal may show it once more.
   */
  held(project: ProjectId, id: EnvironmentId): void {
    const reading = this.#readings.latest(project);
    this.#newHolds.set(id, { project, reading: reading?.number ?? 0 });
    if (reading !== undefined && (reading.candidates.size > reading.tolerated || reading.isUncertain)) return;
    const holders = [...this.#truth.holdersOf(id).keys()];
    if (
      this.#liedTo ||
      holders.length === 0 ||
      holders.some((name) => this.#truth.retired.has(name) || this.#truth.isHeldOn(name, id))
    )
      return;
    this.fail(
      'a hold has a reason',
      `${id} is held, and ${reading?.candidates.size} are to be removed where ${reading?.tolerated} may be`,
    );
  }

  /**
   * Only once every provider that holds some of it has the hold, it cannot be overlooked while one of them is away. A hold may be
   * written after its release, by a run that had begun before.
   */
  holdWritten({ id, name }: Identity, held: boolean): void {
    const isWritten = [...this.#truth.holdersOf(id).keys()].every((provider) => this.#truth.isHeldOn(provider, id));
    if (held && isWritten && !this.#readings.isReleased(id)) this.#holds.add(id);
    if (!held && this.#holds.has(id))
      this.fail('what is held stays', `the hold of ${name} is taken away, and nobody released it`);
  }

  released(id: EnvironmentId, project: ProjectId): void {
    this.#readings.release(id, project);
    this.#released.set(id, project);
    this.#endHold(id);
  }

  /** The engine takes an environment for removed. After a lie it can be mistaken. */
  removed(id: EnvironmentId): void {
    const [left] = this.#truth.holdersOf(id);
    if (left === undefined || this.#liedTo) return;
    const [provider, { name }] = left;
    this.fail('a removal ends when every provider has answered', `${name} counts as removed, and ${provider} holds some of it`);
  }

  /**
   * What is in use runs until its users are replaced or removed. A user on a provider that has not shown it to this process
   * cannot be known, and one on a retired provider stays for the operator alone. The infrastructure names what a component uses
   * without its provider: of two that moved and use each other by name, either may go first.
   */
  stops(identity: Identity, place: Place, versions: 'every version' | 'the version before'): void {
    this.#useAnswers(identity.id);
    if (this.#liedTo) return;
    const users = this.#truth.usersOf(identity.id, place, versions);
    const user = users.find(({ provider }) => this.#hasShown(provider, identity.id) && !this.#truth.retired.has(provider));
    if (user !== undefined)
      this.fail(
        'nothing in use is stopped',
        `${versions} of ${describe(identity, place)} is stopped, and ${user.component} on ${user.provider} uses it`,
      );
  }

  /** An answer, whether it is right or not. */
  registrySaid(question: string): void {
    this.#said.add(question);
  }

  effectBegins(identity: Identity, place: Place, run: AbortSignal): void {
    this.effects += 1;
    const what = describe(identity, place);
    if (!this.#configured.has(identity.project) && !this.#readings.isReleased(identity.id))
      this.fail('a project that left keeps what it has', `${what} is changed, and nobody released it`);
    if (run.aborted) this.fail('an aborted run begins nothing', `an aborted run changes ${what}`);
    if (this.#effects.has(`${identity.id} ${place.provider}/${place.component}`))
      this.fail('no two effects on a component at once', `two effects on ${what} at once`);
    this.#effects.add(`${identity.id} ${place.provider}/${place.component}`);
    const unread = this.#findUnread(identity.id, place.provider);
    if (unread !== undefined) this.fail('nothing unread is changed', `${what} is changed, and ${unread} could not be read`);
    const { identities = [] } = this.#runs.get(identity.id) ?? {};
    if (identities.length === 0 || this.#liedTo) return;
    if (!identities.some(({ name, createdAt }) => name === identity.name && createdAt === identity.createdAt))
      this.fail('an environment keeps its identity', `${identities[0]?.name} is taken for ${identity.name}`);
  }

  effectEnds(identity: Identity, { provider, component }: Place): void {
    this.#effects.delete(`${identity.id} ${provider}/${component}`);
  }

  makingBegins(identity: Identity, provider: ProviderName, component: ResolvedComponent): void {
    const { id } = identity;
    this.#useAnswers(id);
    const place = { provider, component: component.name };
    if (this.#truth.retired.has(provider) && this.#truth.stateOf(id, place) === 'absent')
      this.fail('a retired provider gets nothing new', `${describe(identity, place)} is made`);
    const content = this.#truth.contentAt(component.commit);
    this.#checkImage(identity, component, content);
    const unread = this.#findUnreadFor(id, content) ?? this.#findUnasked(identity, component.commit, content);
    if (unread !== undefined)
      this.fail('nothing unread is changed', `${describe(identity, place)} is made, and ${unread} could not be read`);
    this.#checkNewName(identity);
  }

  /** Never a guess: the image of the commit, or what the file names in its place. */
  #checkImage({ id, name }: Identity, { name: component, commit, images }: ResolvedComponent, { shape }: Content): void {
    const kind = shape?.images[component];
    const [image] = Object.values(images ?? {});
    if (kind === undefined && image === undefined) return;
    const isFallback = image?.fallback === true && kind === 'replaced';
    const purpose = kind === 'fixed' ? kind : isFallback ? 'latest' : commit;
    if (kind === undefined || image === undefined || !this.#truth.isImageFor(image.reference, purpose))
      return this.fail(
        'a version runs the image of its commit',
        `${name}/${component} of ${commit.slice(0, 7)} is made with ${image?.reference}`,
      );
    const isRight = (one: RunningImage): boolean =>
      one.name === kind && one.image.commit === commit && one.image.fallback !== true;
    if (isFallback && !this.#liedTo && this.#truth.imagesOf(id).some(isRight))
      this.fail('a fall-back replaces no right image', `${name}/${component} of ${commit.slice(0, 7)} runs its right image`);
  }

  /** An image of the commit that nobody has asked for in vain or found, and that does not run already. */
  #findUnasked({ id, project }: Identity, commit: CommitSha, { shape }: Content): string | undefined {
    if (this.#liedTo) return undefined;
    for (const kind of Object.values(shape?.images ?? {})) {
      const question = questionOf(project, commit, kind);
      const runs = this.#truth
        .imagesOf(id)
        .some(({ name, image }) => nameOf(project, kind) === name && image.commit === (kind === 'fixed' ? null : commit));
      if (!runs && !this.#said.has(question)) return `the answer to ${question}`;
    }
    return undefined;
  }

  /**
   * Until every provider has been listed since the start, one that has not may hold an environment, or its name. A name that is not from
   * a template is nobody else's, so that environment may be made; if its file moved it meanwhile, it then exists twice for a while.
   */
  #checkNewName({ id, name }: Identity): void {
    if (!isFromTemplate(name) || this.#liedTo || this.hasListed(this.#truth.providers)) return;
    if (this.#oldNames.get(id) === name) return;
    if ([...this.#truth.holdersOf(id).keys()].some((holder) => this.#hasShown(holder, id))) return;
    const unread = this.#truth.providers.find((one) => !this.#listed.has(one));
    this.fail('no environment is made twice', `${name} is made, and ${unread} has not been listed since the start`);
  }

  identityWritten(identity: Identity): void {
    if (this.#written.has(identity)) return;
    this.#written.add(identity);
    if (this.#liedTo) this.#misnamed.add(identity.id);
    if (this.#misnamed.has(identity.id)) return;
    for (const other of this.#truth.identities())
      if (other.name === identity.name && other.id !== identity.id && !this.#misnamed.has(other.id) && !this.#isHidden(other))
        this.fail('no two environments share a name', `${other.id} and ${identity.id} are both called ${identity.name}`);
  }

  /** Of an environment that was made twice, the engine sees the older name. That is the newer one if the clock was set back between. */
  #isHidden({ id, name, createdAt }: Identity): boolean {
    return [...this.#truth.holdersOf(id).values()].some((one) => one.name !== name && one.createdAt < createdAt);
  }

  removalBegins(identity: Identity, place: Place): void {
    const { id, name, project } = identity;
    const { provider, component } = place;
    this.stops(identity, place, 'every version');
    this.#oldNames.set(id, name);
    if (this.#truth.retired.has(provider) && !this.#released.has(id))
      this.fail('a retired provider keeps what it holds', `${describe(identity, place)} is removed, and nobody released it`);
    if (!this.#configured.has(project)) {
      if (!this.#readings.isReleased(id))
        this.fail('nothing wanted is removed', `${name} is of an unknown project, and nobody released it`);
      return;
    }
    const { source, authority } = this.#runs.get(id) ?? {};
    if (source === undefined) return this.fail('nothing wanted is removed', `the source of ${name} was not read again`);
    if (source !== 'gone') {
      const content = this.#truth.contentAt(source.commit);
      const wanted = content.wants(source.ref);
      if (wanted === 'yes' && content.shape !== undefined) {
        if (!componentsOf(content.shape).includes(component)) return;
        const others = this.#truth.allowedFor(content, component).filter((one) => one !== provider);
        if (others.some((one) => this.#truth.stateOf(id, { provider: one, component }) === 'ready')) return;
        if (!this.#truth.allowedFor(content, component).includes(provider))
          return this.fail(
            'a moved component is removed last',
            `${describe(identity, place)} is removed, and it is not ready on ${others.join(' or ')}`,
          );
      }
      if (wanted !== 'no')
        return this.fail('nothing wanted is removed', `${describe(identity, place)} is removed; wanted: ${wanted}`);
    }
    this.#checkAuthority(identity, authority);
  }

  #checkAuthority({ id, name, project }: Identity, authority: ProjectReading | undefined): void {
    if (authority?.complete !== true)
      return this.fail('no removal on an incomplete reading', `${name} is removed after an incomplete reading of Git`);
    const unread = authority.unread.get(id);
    if (unread !== undefined)
      return this.fail('no removal on an incomplete reading', `${name} is removed after an incomplete reading of ${unread}`);
    if (this.#holds.has(id) || (this.#newHolds.get(id)?.reading ?? Number.POSITIVE_INFINITY) <= authority.number)
      return this.fail('what is held stays', `${name} is removed, and nobody released it`);
    if (!this.#readings.isReleased(id)) this.#checkNewHolds(name, project, authority);
    const exceeded = this.#readings.exceededBy(project, id, authority);
    if (exceeded === undefined || (this.#liedTo && exceeded !== authority)) return;
    const { begun, allowed } = exceeded;
    this.fail('deletions per pass are bounded', `${name} is number ${begun.size} to be removed where ${allowed} may be`);
  }

  /** A hold that is not written yet would be lost by a crash, and the next start would then find few enough to remove. */
  #checkNewHolds(removed: string, project: ProjectId, authority: ProjectReading): void {
    for (const [id, { project: of, reading }] of this.#newHolds) {
      const holders = [...this.#truth.holdersOf(id)].filter(([name]) => this.#hasShown(name, id));
      const unwritten = holders.find(([name]) => !this.#truth.isHeldOn(name, id));
      if (unwritten !== undefined && of === project && reading <= authority.number)
        this.fail('holds are written before removals begin', `${removed} is removed, and ${unwritten[1].name} is to be held`);
    }
  }

  /** A provider that the run has to know, and could not read: the one it changes, and every other that has shown some of it. */
  #findUnread(id: EnvironmentId, changed: ProviderName): ProviderName | undefined {
    const run = this.#runs.get(id);
    if (run?.complete.get(changed) !== true) return changed;
    if (this.#liedTo) return undefined;
    return [...this.#truth.holdersOf(id).keys()].find(
      (name) => run.holders.has(name) && this.#hasShown(name, id) && run.complete.get(name) !== true,
    );
  }

  /** A provider that could not be read and that alone may make some component of the file. */
  #findUnreadFor(id: EnvironmentId, content: Content): ProviderName | undefined {
    const run = this.#runs.get(id);
    for (const component of content.shape === undefined ? [] : componentsOf(content.shape)) {
      const [only, ...others] = this.#truth.allowedFor(content, component);
      if (only !== undefined && others.length === 0 && run?.complete.get(only) !== true) return only;
    }
    return undefined;
  }

  #endHold(id: EnvironmentId): void {
    this.#holds.delete(id);
    this.#newHolds.delete(id);
  }

  #hasShown(provider: ProviderName, id: EnvironmentId): boolean {
    return this.#shown.get(provider)?.has(id) === true;
  }

  #shownOn(provider: ProviderName): Set<EnvironmentId> {
    let shown = this.#shown.get(provider);
    if (shown === undefined) this.#shown.set(provider, (shown = new Set()));
    return shown;
  }

  #noReadings(): ProjectReadings {
    return new ProjectReadings({
      projects: this.#truth.projects,
      providers: this.#truth.providers,
      retired: this.#truth.retired,
      wantedBy: (source) => this.#truth.contentAt(source.commit).wants(source.ref),
      identify: (project, ref) => this.#truth.identify(project, ref),
      listed: (id, providers) => {
        // Of an environment with a record, the engine learns from its runs alone what providers hold.
        if (this.#truth.hasRecord(id)) return;
        for (const name of providers) this.#shownOn(name).add(id);
      },
      isRecordedOn: (provider, id) => this.#truth.isRecordedOn(provider, id),
      isHeld: (id) => this.#newHolds.has(id),
      seenAgain: (id) => this.#endHold(id),
    });
  }
}

const describe = ({ name }: Identity, { provider, component }: Place): string => `${name}/${component} on ${provider}`;
