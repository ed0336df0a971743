import type {
  Action,
  CommitSha,
  ConfigurationView,
  EnvironmentId,
  EnvironmentName,
  EnvironmentStatus,
  Failure,
  ObservedEnvironment,
  ProjectId,
  ProviderName,
  Source,
  SourceRef,
  Trigger,
} from '@eph/contract';
import type { Observation } from '../provider/observe.ts';
import { type Decision, Decisions } from './decisions.ts';
import type { Expiry } from './expiry.ts';

/** What is known of an environment: what Git said last, what providers showed last, and what follows. `Records` alone writes it. */
export interface EnvironmentRecord {
  readonly id: EnvironmentId;
  readonly project: ProjectId;
  readonly ref: SourceRef;
  readonly name: EnvironmentName;
  readonly decision: Decision;
  /** What it is made of; absent once the source is gone. */
  readonly source: Source | undefined;
  /** The commit of the source when that was decided: another one than it is made of where a comment asked for one. */
  readonly head: CommitSha | undefined;
  readonly observed: ObservedEnvironment | undefined;
  /** The component that should get the traffic, as `provider/name`. */
  readonly entry: string | undefined;
  readonly actions: readonly Action[];
  readonly status: EnvironmentStatus | undefined;
  /** Nothing to do until something changes. */
  readonly settled: boolean;
  /** The deletion guard keeps it until an operator releases it. */
  readonly held: boolean;
  /** The guard permits its removal, provided its source is still gone. */
  readonly permitted: boolean;
  /** The platform's configuration that it was last computed with. */
  readonly configuration: ConfigurationView | undefined;
  /** The mark of what environments that refer to this one have seen. */
  readonly publishedMark: string | undefined;
  /** Names and aliases of other environments that it refers to. */
  readonly namespaces: readonly string[];
  /** When it expires, as last computed from this source and policy. */
  readonly lifetime: { readonly of: string; readonly expiry: Expiry | undefined } | undefined;
  /** Why it goes, if Git does not say it: it expired. */
  readonly endedBecause: string | undefined;
  /** The triggers known last: once it is gone, they say how to bring it back. */
  readonly triggers: readonly Trigger[];
  /** The commit of the last report; the report of its removal goes there too. */
  readonly reportedCommit: CommitSha | undefined;
}

type New = Pick<EnvironmentRecord, 'id' | 'project' | 'ref' | 'name' | 'decision' | 'source' | 'head' | 'observed'>;

export const createRecord = (fresh: New): EnvironmentRecord => ({
  ...fresh,
  entry: undefined,
  actions: [],
  status: undefined,
  settled: false,
  held: false,
  permitted: false,
  configuration: undefined,
  publishedMark: undefined,
  namespaces: [],
  lifetime: undefined,
  endedBecause: undefined,
  triggers: [],
  reportedCommit: undefined,
});

/** Whether one of these providers holds a component of it. */
export const isOn = (
  observed: ObservedEnvironment | undefined,
  providers: { has(name: ProviderName): boolean; readonly size: number },
): boolean => providers.size > 0 && observed?.components.some(({ provider }) => providers.has(provider)) === true;

export interface ProjectRecord {
  /** As of the last reading. */
  decided: Decisions;
  readonly environments: Map<EnvironmentId, EnvironmentRecord>;
  readonly released: Set<EnvironmentId>;
  faults: readonly Failure[];
  /** Providers that were incomplete at the last reading. */
  incomplete: readonly ProviderName[];
  /** Git has been read completely since the start. */
  isRead: boolean;
  /** So have all providers, at the same time. */
  surveyed: boolean;
  /** The last reading left nothing to do. */
  atRest: boolean;
  /** When something other than a pass last asked for a reading. */
  wokenAt: number;
}

interface ListingFacts {
  readonly at: number;
  readonly providers: Iterable<ProviderName>;
  readonly names: boolean;
}

/**
 * What one ephd remembers between two runs. All of it can be lost at any moment: it makes an unchanged pass cheap and answers the
 * API, and nothing in it is more than a copy of what Git and the providers said.
 */
export class Records {
  readonly #projects = new Map<ProjectId, ProjectRecord>();
  readonly #environments = new Map<EnvironmentId, EnvironmentRecord>();
  readonly #names = new Map<EnvironmentName, EnvironmentId>();
  /** Of environments that the last listing of everything showed and that have no record yet. */
  #otherNames: ReadonlyMap<EnvironmentName, EnvironmentId> = new Map();
  readonly #listings = new Map<ProjectId, Observation>();
  /** Providers that have been read completely since the start. */
  readonly #read = new Set<ProviderName>();
  #away: ReadonlyMap<ProviderName, Failure> = new Map();
  #listedAt = Number.NEGATIVE_INFINITY;

  /** When the last listing of everything began. */
  get listedAt(): number {
    return this.#listedAt;
  }

  /** Providers that the last listing of everything could not read completely. */
  get away(): ReadonlyMap<ProviderName, Failure> {
    return this.#away;
  }

  project(id: ProjectId): ProjectRecord {
    let project = this.#projects.get(id);
    if (project === undefined) {
      project = {
        decided: new Decisions(),
        environments: new Map(),
        released: new Set(),
        faults: [],
        incomplete: [],
        isRead: false,
        surveyed: false,
        atRest: false,
        wokenAt: Number.NEGATIVE_INFINITY,
      };
      this.#projects.set(id, project);
    }
    return project;
  }

  get(id: EnvironmentId): EnvironmentRecord | undefined {
    return this.#environments.get(id);
  }

  /** In the order in which they were found. */
  all(): Iterable<EnvironmentRecord> {
    return this.#environments.values();
  }

  add(fresh: New): EnvironmentRecord {
    const record = createRecord(fresh);
    this.#environments.set(record.id, record);
    this.project(record.project).environments.set(record.id, record);
    if (!this.isNameTaken(record.name, record.id)) this.#names.set(record.name, record.id);
    return record;
  }

  /** Writes what changed about an environment. The name is kept unique by `rename`. */
  update(record: EnvironmentRecord, changes: Partial<Omit<EnvironmentRecord, 'id' | 'project' | 'ref' | 'name'>>): void {
    Object.assign(record, changes);
    const name = changes.observed?.identity.name;
    if (name !== undefined && name !== record.name) this.rename(record, name);
  }

  rename(record: EnvironmentRecord, name: EnvironmentName): void {
    if (this.#names.get(record.name) === record.id) this.#names.delete(record.name);
    Object.assign(record, { name });
    this.#names.set(name, record.id);
  }

  forget(record: EnvironmentRecord): void {
    this.#environments.delete(record.id);
    const project = this.project(record.project);
    project.environments.delete(record.id);
    project.released.delete(record.id);
    if (this.#names.get(record.name) === record.id) this.#names.delete(record.name);
  }

  /** Projects of which anything is known, configured or not. */
  projects(): Iterable<ProjectId> {
    return this.#projects.keys();
  }

  /** A listing of everything began at `at`. With `names`, the names of environments without a record are noted, too. */
  noteListing({ items, incomplete }: Observation, { at, providers, names }: ListingFacts): void {
    this.#listedAt = at;
    for (const name of providers) if (!incomplete.has(name)) this.#read.add(name);
    this.#away = incomplete;
    if (!names) return;
    const others = items.filter(({ identity }) => !this.#environments.has(identity.id));
    this.#otherNames = new Map(others.map(({ identity }) => [identity.name, identity.id]));
  }

  /** Whether these providers have been read since the start: until then, a new name may be one that is in use. */
  haveBeenRead(providers: Iterable<ProviderName>): boolean {
    return [...providers].every((name) => this.#read.has(name));
  }

  isNameTaken(name: EnvironmentName, by: EnvironmentId): boolean {
    const owner = this.#names.get(name) ?? this.#otherNames.get(name);
    return owner !== undefined && owner !== by;
  }

  /** Hands a project its share of a listing of everything; the reading of the project that follows takes it, once. */
  putListing(project: ProjectId, listing: Observation): void {
    this.#listings.set(project, listing);
  }

  takeListing(project: ProjectId): Observation | undefined {
    const listing = this.#listings.get(project);
    this.#listings.delete(project);
    return listing;
  }
}
