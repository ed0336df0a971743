import {
  type EnvironmentId,
  type ObservedEnvironment,
  type ProjectId,
  type ProviderName,
  type Reading,
  type Source,
  type SourceRef,
  sourceKey,
} from '@eph/contract';
import type { Wanted } from './contents.ts';

/** A reading of a project, Git and providers, that the engine acted on. */
export interface ProjectReading {
  readonly number: number;
  /** Whether Git was read completely. */
  readonly complete: boolean;
  /** Which of two listings the engine used cannot be known. */
  readonly isUncertain: boolean;
  /** Environments of which some are known to be on a provider that did not show all of it. */
  readonly unread: ReadonlyMap<EnvironmentId, ProviderName>;
  /** The most candidates that may be removed, now or later. */
  readonly allowed: number;
  /** The engine may hold candidates if there are more than this. */
  readonly tolerated: number;
  /** Environments that no source wanted then and that were not read as wanted since. */
  readonly candidates: Set<EnvironmentId>;
  /** Those whose removal began, the released ones not counted. */
  readonly begun: Set<EnvironmentId>;
}

type Listing = Reading<ObservedEnvironment>;

/** The answers of all providers to one listing. */
type Listings = Map<ProviderName, { reading: Listing | undefined; readonly isIgnored: () => boolean }>;

const waitedFor = { isIgnored: () => false };

/** What the engine has read of a project and not used yet. */
interface ProjectInput {
  /** The run that uses `observed` has not ended. */
  isBegun: boolean;
  sources: Reading<Source> | undefined;
  /** The listings of this project alone. */
  own: Listings | undefined;
  /** Its share of the listings of a pass. */
  ofPass: Listings | undefined;
  /** It was replaced when time ran out for a provider, and a run at the same moment may still have used the one before. */
  isUncertain: boolean;
  /** The listings that the reading under way compares with Git. */
  observed: Listings | undefined;
  /** A file could not be read: the number of candidates is only an upper bound. */
  doubtful: boolean;
  /** A complete reading has been made since the start. */
  readBefore: boolean;
}

export interface ReadingsOptions {
  /** Also those that have left. */
  readonly projects: readonly ProjectId[];
  readonly providers: readonly ProviderName[];
  readonly retired: ReadonlySet<ProviderName>;
  readonly wantedBy: (source: Source) => Wanted;
  readonly identify: (project: ProjectId, ref: SourceRef) => EnvironmentId;
  /** These providers have listed an environment. */
  readonly listed: (id: EnvironmentId, providers: readonly ProviderName[]) => void;
  /** Whether the engine knows some of an environment to be on the provider. */
  readonly isRecordedOn: (provider: ProviderName, id: EnvironmentId) => boolean;
  /** Whether this process has decided to hold an environment. */
  readonly isHeld: (id: EnvironmentId) => boolean;
  /** Git may want this environment again. */
  readonly seenAgain: (id: EnvironmentId) => void;
}

/** The readings of all projects by one process, and how many deletions they allow. */
export class ProjectReadings {
  readonly #options: ReadingsOptions;
  readonly #inputs = new Map<ProjectId, ProjectInput>();
  readonly #latest = new Map<ProjectId, ProjectReading>();
  /** Readings with more candidates than allowed. The bound holds until the rest is released or wanted again. */
  readonly #excesses = new Map<ProjectId, readonly ProjectReading[]>();
  readonly #released = new Map<EnvironmentId, ProjectId>();
  #pass: Listings | undefined;
  #count = 0;

  constructor(options: ReadingsOptions) {
    this.#options = options;
  }

  passListingBegins(provider: ProviderName, isNew: boolean, isIgnored: () => boolean): void {
    if (isNew) this.#handOutPass();
    if (isNew || this.#pass === undefined) this.#pass = new Map();
    this.#pass.set(provider, { reading: undefined, isIgnored });
  }

  passListed(provider: ProviderName, reading: Listing): void {
    this.#pass?.set(provider, { reading, ...waitedFor });
    this.#handOutPass();
  }

  listingBegins(provider: ProviderName, isNew: boolean, project: ProjectId): void {
    const input = this.#inputOf(project);
    if (isNew || input.own === undefined) input.own = new Map();
    input.own.set(provider, { reading: undefined, ...waitedFor });
  }

  listed(provider: ProviderName, project: ProjectId, reading: Listing): void {
    this.#inputOf(project).own?.set(provider, { reading, ...waitedFor });
  }

  begins(project: ProjectId): void {
    this.#handOutPass();
    const input = this.#inputOf(project);
    // The engine asks no provider that it knows to hang.
    input.observed = input.own ?? input.ofPass ?? new Map();
    if (input.own === undefined) input.ofPass = undefined;
    input.own = undefined;
    input.doubtful = false;
    input.isBegun = true;
  }

  /** A run may use the sources of the reading before. It then begins with its first file, or when it is accepted. */
  ensureBegun(project: ProjectId): void {
    if (!this.#inputOf(project).isBegun) this.begins(project);
  }

  /** No run is under way; none is to come either if the queue is empty. One that found nothing to do was not accepted. */
  ended(project: ProjectId, isQueueEmpty: boolean): void {
    const used = { isBegun: false, own: undefined };
    Object.assign(this.#inputOf(project), isQueueEmpty ? { ...used, ofPass: undefined, isUncertain: false } : used);
  }

  /** The project has left. Its share of a pass that ends later is for when it returns. */
  forget(project: ProjectId): void {
    const { ofPass } = this.#inputOf(project);
    this.#inputs.delete(project);
    this.#inputOf(project).ofPass = ofPass;
    this.#latest.delete(project);
    this.#excesses.delete(project);
    for (const [id, of] of this.#released) if (of === project) this.#released.delete(id);
  }

  sourcesRead(project: ProjectId, reading: Reading<Source>): void {
    this.#inputOf(project).sources = reading;
  }

  fileUnreadable(project: ProjectId): void {
    this.#inputOf(project).doubtful = true;
  }

  /** The engine acts on what it has read. */
  accepted(project: ProjectId): void {
    this.ensureBegun(project);
    const input = this.#inputOf(project);
    const { sources, observed } = input;
    // A run that found nothing to do may have ended unseen, and the next have used its sources with the listings of a pass since.
    const isUncertain = input.isUncertain || input.ofPass !== undefined;
    input.isBegun = false;
    if (sources === undefined || observed === undefined) return;
    const wanted = new Map(sources.items.map((source) => [sourceKey(source.ref), this.#options.wantedBy(source)]));
    const listed = new Map<EnvironmentId, Wanted>();
    const holders = new Map<EnvironmentId, ProviderName[]>();
    const held = new Set<EnvironmentId>();
    const unread = new Map<EnvironmentId, ProviderName>();
    const incomplete = new Set<ProviderName>();
    for (const provider of this.#options.providers) {
      const reading = observed.get(provider)?.reading;
      if (reading?.complete !== true) incomplete.add(provider);
      for (const { identity, components, complete, held: isHeld } of reading?.items ?? []) {
        const { id } = identity;
        if (identity.project !== project) continue;
        listed.set(id, wanted.get(sourceKey(identity.source)) ?? (sources.complete ? 'no' : 'unclear'));
        if (components.length > 0) holders.set(id, [...(holders.get(id) ?? []), provider]);
        if (!complete) unread.set(id, provider);
        if (isHeld || this.#options.isHeld(id) || this.#options.retired.has(provider)) held.add(id);
      }
    }
    for (const [id, providers] of holders) this.#options.listed(id, providers);
    const candidates = new Set([...listed].flatMap(([id, answer]) => (answer === 'no' ? [id] : [])));
    for (const provider of incomplete)
      for (const id of candidates)
        if (holders.get(id)?.includes(provider) === true || this.#options.isRecordedOn(provider, id)) unread.set(id, provider);
    const limit = Math.max(5, Math.floor(listed.size * 0.2));
    const { complete } = sources;
    const isWhole = complete && incomplete.size === 0;
    const vanished = complete && sources.items.length === 0 && listed.size > 2;
    // What was released while its project was away need not have been held.
    const isFresh = (id: EnvironmentId): boolean => !held.has(id) && !unread.has(id) && !this.#released.has(id);
    const exceeds = vanished || (complete && !input.doubtful && [...candidates].filter(isFresh).length > limit);
    // Beside a provider that is away the engine may count fewer candidates, so only the bound itself is certain.
    const allowed = vanished || (exceeds && isWhole && !input.readBefore) ? 0 : limit;
    const tolerated = vanished ? 0 : limit;
    input.readBefore ||= isWhole;
    this.#count += 1;
    const reading: ProjectReading = {
      number: this.#count,
      complete,
      isUncertain,
      unread: isUncertain ? new Map() : unread,
      allowed,
      tolerated,
      candidates,
      begun: new Set(),
    };
    this.#latest.set(project, reading);
    for (const { ref } of sources.items) {
      const seen = wanted.get(sourceKey(ref)) !== 'no';
      if (seen || input.doubtful) this.#seenAgain(project, this.#options.identify(project, ref), seen);
    }
    const certain = new Set([...candidates].filter((id) => !unread.has(id)));
    if (exceeds && isWhole && !isUncertain) this.#rememberExcess(project, { ...reading, candidates: certain });
  }

  latest(project: ProjectId): ProjectReading | undefined {
    return this.#latest.get(project);
  }

  release(id: EnvironmentId, project: ProjectId): void {
    this.#released.set(id, project);
  }

  isReleased(id: EnvironmentId): boolean {
    return this.#released.has(id);
  }

  /** A removal begins that `authority` allowed. Returns the reading of which too many are removed now. */
  exceededBy(project: ProjectId, id: EnvironmentId, authority: ProjectReading): ProjectReading | undefined {
    if (this.#released.has(id)) return undefined;
    const excesses = (this.#excesses.get(project) ?? []).filter(
      (one) => one.number <= authority.number && one.candidates.has(id),
    );
    for (const reading of [authority, ...excesses]) {
      reading.begun.add(id);
      if (reading.begun.size > reading.allowed) return reading;
    }
    return undefined;
  }

  /** An environment that is, or may be, wanted again is a new candidate later. If it certainly is, its release has ended. */
  #seenAgain(project: ProjectId, id: EnvironmentId, certainly: boolean): void {
    if (certainly) this.#released.delete(id);
    for (const excess of this.#excesses.get(project) ?? []) excess.candidates.delete(id);
    this.#options.seenAgain(id);
  }

  /** The engine uses the listings of a pass once it waits for no provider any more. */
  #handOutPass(): void {
    const pass = this.#pass;
    if (pass === undefined) return;
    let isLate = false;
    for (const { reading, isIgnored } of pass.values()) {
      if (reading !== undefined) continue;
      if (!isIgnored()) return;
      isLate = true;
    }
    for (const id of this.#options.projects) {
      const input = this.#inputOf(id);
      input.isUncertain = isLate && input.ofPass !== undefined;
      input.ofPass = pass;
    }
    this.#pass = undefined;
  }

  #rememberExcess(project: ProjectId, reading: ProjectReading): void {
    const excesses = this.#excesses.get(project) ?? [];
    const isKnown = excesses.some((one) => one.allowed <= reading.allowed && reading.candidates.isSubsetOf(one.candidates));
    if (!isKnown) this.#excesses.set(project, [...excesses, reading]);
  }

  #inputOf(project: ProjectId): ProjectInput {
    let input = this.#inputs.get(project);
    if (input === undefined) {
      input = {
        isBegun: false,
        sources: undefined,
        own: undefined,
        ofPass: undefined,
        isUncertain: false,
        observed: undefined,
        doubtful: false,
        readBefore: false,
      };
      this.#inputs.set(project, input);
    }
    return input;
  }
}
