import type { EnvironmentId, EnvironmentName, Failure, Identity, ProjectId, ProviderName } from '@eph/contract';
import type { Observation } from '../provider/observe.ts';
import { createProjectRecord, createRecord, type EnvironmentRecord, type NewRecord, type ProjectRecord } from './record.ts';

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
  #sorted: readonly EnvironmentRecord[] | undefined;
  readonly #names = new Map<EnvironmentName, EnvironmentRecord>();
  /** Of environments that the last listing of everything showed and that have no record with that name yet. */
  #otherNames: ReadonlyMap<EnvironmentName, Identity> = new Map();
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
    const project = this.#projects.get(id) ?? createProjectRecord();
    this.#projects.set(id, project);
    return project;
  }

  get(id: EnvironmentId): EnvironmentRecord | undefined {
    return this.#environments.get(id);
  }

  /** By id or name. */
  find(text: string): EnvironmentRecord | undefined {
    const byId: { get(id: string): EnvironmentRecord | undefined } = this.#environments;
    const byName: typeof byId = this.#names;
    return byId.get(text) ?? byName.get(text);
  }

  /** In the order in which they were found. */
  all(): Iterable<EnvironmentRecord> {
    return this.#environments.values();
  }

  /** By name. */
  get sorted(): readonly EnvironmentRecord[] {
    this.#sorted ??= [...this.#environments.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return this.#sorted;
  }

  add(fresh: NewRecord): EnvironmentRecord {
    const record = createRecord(fresh);
    this.#sorted = undefined;
    this.#environments.set(record.id, record);
    this.project(record.project).environments.set(record.id, record);
    if (!this.isNameTaken(record.name, record.id)) this.#names.set(record.name, record);
    return record;
  }

  /** Writes what changed about an environment. The name is kept unique by `rename`. */
  update(record: EnvironmentRecord, changes: Partial<Omit<EnvironmentRecord, 'id' | 'project' | 'ref' | 'name'>>): void {
    Object.assign(record, changes);
    const name = changes.observed?.identity.name;
    if (name !== undefined && name !== record.name) this.rename(record, name);
  }

  rename(record: EnvironmentRecord, name: EnvironmentName): void {
    if (this.#names.get(record.name)?.id === record.id) this.#names.delete(record.name);
    Object.assign(record, { name });
    this.#sorted = undefined;
    this.#names.set(name, record);
  }

  forget(record: EnvironmentRecord): void {
    this.#environments.delete(record.id);
    this.#sorted = undefined;
    const project = this.project(record.project);
    project.environments.delete(record.id);
    project.released.delete(record.id);
    if (this.#names.get(record.name)?.id === record.id) this.#names.delete(record.name);
  }

  /** Forgets a project, except for its environments, which it returns. */
  forgetProject(id: ProjectId): Iterable<EnvironmentRecord> {
    const { environments } = this.project(id);
    if (environments.size === 0) this.#projects.delete(id);
    else this.#projects.set(id, { ...createProjectRecord(), environments });
    this.#listings.delete(id);
    return environments.values();
  }

  /** Whether this is the id of such a project. */
  isKnown(id: string): boolean {
    const projects: { has(id: string): boolean } = this.#projects;
    return projects.has(id);
  }

  /** Projects of which anything is known, configured or not. */
  projects(): Iterable<ProjectId> {
    return this.#projects.keys();
  }

  /** A listing of everything began at `at`. With `names`, the names that no record has are noted, too. */
  noteListing({ items, incomplete }: Observation, { at, providers, names }: ListingFacts): void {
    this.#listedAt = at;
    for (const name of providers) if (!incomplete.has(name)) this.#read.add(name);
    this.#away = incomplete;
    if (!names) return;
    const others = items.filter(({ identity: { id, name } }) => this.#environments.get(id)?.name !== name);
    // A provider that is away now may have shown its names before.
    this.#otherNames = new Map([
      ...(incomplete.size > 0 ? this.#otherNames : []),
      ...others.map(({ identity }) => [identity.name, identity] as const),
    ]);
  }

  /** Whether these providers have been read since the start: until then, a new name may be one that is in use. */
  haveBeenRead(providers: Iterable<ProviderName>): boolean {
    return [...providers].every((name) => this.#read.has(name));
  }

  ownerOf(name: EnvironmentName): Pick<Identity, 'id' | 'project'> | undefined {
    return this.#names.get(name) ?? this.#otherNames.get(name);
  }

  isNameTaken(name: EnvironmentName, by: EnvironmentId): boolean {
    return (this.ownerOf(name)?.id ?? by) !== by;
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
