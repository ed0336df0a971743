import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  compileGlob,
  type ListedRepository,
  type Log,
  type ProjectId,
  projectId,
  type Reading,
  toDnsLabel,
  toFailure,
} from '@eph/contract';
import type { Cancel, Clock } from '@eph/engine/time/clock';
import type { ConfiguredForge, ConfiguredOrganisation, ConfiguredProject } from './config.ts';

/** Without archived ones, which are read-only. Ignores case, as forges do. */
export const chooseRepositories = (
  repositories: readonly ListedRepository[],
  include: readonly string[],
  exclude: readonly string[],
): readonly ListedRepository[] => {
  const [included, excluded] = [include, exclude].map((patterns) => patterns.map((one) => compileGlob(one.toLowerCase())));
  return repositories.filter(({ path, archived }) => {
    const name = lastPart(path).toLowerCase();
    return !archived && included?.some((matches) => matches(name)) && !excluded?.some((matches) => matches(name));
  });
};

export interface ListedOrganisation {
  readonly organisation: ConfiguredOrganisation;
  readonly repositories: readonly ListedRepository[];
}

/**
 * The configured projects, and those that organisations add. A configured repository is not added, and one in two organisations
 * belongs to the first. A project is named after its repository; if that name is not unique, after the whole path.
 */
export const toProjects = (
  configured: readonly ConfiguredProject[],
  organisations: readonly ListedOrganisation[],
): readonly ConfiguredProject[] => {
  const taken = new Set(configured.flatMap(({ forge, location }) => (forge === undefined ? [] : keyOf(forge, location))));
  const added: AddedRepository[] = [];
  for (const { organisation, repositories } of organisations) {
    for (const { path } of chooseRepositories(repositories, organisation.include, organisation.exclude)) {
      const key = keyOf(organisation.forge, path);
      if (!taken.has(key)) added.push({ key, path, organisation });
      taken.add(key);
    }
  }
  const names = nameAll(added, new Set(configured.map(({ id }) => id)));
  const projects = added.flatMap(({ key, path, organisation }): readonly ConfiguredProject[] => {
    const { owner: _owner, include: _include, exclude: _exclude, ...shared } = organisation;
    const id = names.get(key);
    return id === undefined ? [] : [{ ...shared, id, location: path, repository: id }];
  });
  return [...configured, ...projects.toSorted((a, b) => (a.id < b.id ? -1 : 1))];
};

interface AddedRepository {
  readonly key: string;
  readonly path: string;
  readonly organisation: ConfiguredOrganisation;
}

const keyOf = ({ name }: ConfiguredForge, path: string): string => `${name} ${path.toLowerCase()}`;

const lastPart = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

const uniqueName = ({ key, path }: AddedRepository): string =>
  toDnsLabel(`${path}-${createHash('sha256').update(key).digest('hex').slice(0, 8)}`);

const nameForms: readonly ((added: AddedRepository) => string)[] = [
  ({ path }) => toDnsLabel(lastPart(path)),
  ({ path }) => toDnsLabel(path),
  uniqueName,
];

/** The first unique form. Of two equal names neither is used, so that names do not depend on the order of reading. */
const nameAll = (added: readonly AddedRepository[], taken: Set<string>): ReadonlyMap<string, ProjectId> => {
  const names = new Map<string, ProjectId>();
  let unnamed = added;
  for (const form of nameForms) {
    const wanted = Map.groupBy(unnamed, form);
    for (const [name, [first, ...others]] of wanted) {
      if (first === undefined || others.length > 0 || taken.has(name)) continue;
      names.set(first.key, projectId(name));
    }
    for (const name of wanted.keys()) taken.add(name);
    unnamed = unnamed.filter(({ key }) => !names.has(key));
  }
  return names;
};

export interface OrganisationsOptions {
  readonly organisations: readonly ConfiguredOrganisation[];
  readonly projects: readonly ConfiguredProject[];
  readonly read: (forge: ConfiguredForge, owner: string, signal: AbortSignal) => Promise<Reading<ListedRepository>>;
  /** Called with all projects when they change, and again after a failure. */
  readonly onChange: (projects: readonly ConfiguredProject[]) => void | Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

const refreshMs = 10 * 60_000;
/** After a failed or incomplete reading. */
const retryMs = 60_000;
/** After a webhook: often many of them arrive together. */
const soonMs = 1_000;

/** Reads the repositories of organisations from time to time. A complete reading stays valid until the next complete one. */
export class Organisations implements AsyncDisposable {
  readonly #options: OrganisationsOptions;
  readonly #repositories = new Map<ConfiguredOrganisation, readonly ListedRepository[]>();
  readonly #stopping = new AbortController();
  #projects: readonly ConfiguredProject[];
  #next: { readonly at: number; readonly cancel: Cancel } | undefined;
  #refreshing: Promise<void> = Promise.resolve();

  constructor(options: OrganisationsOptions) {
    this.#options = options;
    this.#projects = toProjects(options.projects, []);
  }

  get projects(): readonly ConfiguredProject[] {
    return this.#projects;
  }

  /** Those that were never read completely; their repositories, and so their environments, are unknown. */
  get unread(): readonly ConfiguredOrganisation[] {
    return this.#options.organisations.filter((organisation) => !this.#repositories.has(organisation));
  }

  /** Reads for the first time and schedules the next readings. `onChange` gets only later changes. */
  async start(): Promise<readonly ConfiguredProject[]> {
    if (this.#options.organisations.length === 0) return this.#projects;
    const isComplete = await this.#readAll();
    this.#projects = this.#compute();
    this.#schedule(isComplete ? refreshMs : retryMs);
    return this.#projects;
  }

  /** The repositories may have changed. Many calls cause one reading. */
  wake(): void {
    if (this.#options.organisations.length > 0) this.#schedule(soonMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#next?.cancel();
    await this.#refreshing;
  }

  /** In this time at the latest. */
  #schedule(ms: number): void {
    const { clock } = this.#options;
    const at = clock.now() + ms;
    if (this.#stopping.signal.aborted || (this.#next !== undefined && this.#next.at <= at)) return;
    this.#next?.cancel();
    const cancel = clock.after(ms, () => {
      this.#next = undefined;
      this.#refreshing = this.#refreshing.then(() => this.#refresh());
    });
    this.#next = { at, cancel };
  }

  async #refresh(): Promise<void> {
    const isComplete = await this.#readAll();
    const isApplied = this.#stopping.signal.aborted || (await this.#apply(this.#compute()));
    this.#schedule(isComplete && isApplied ? refreshMs : retryMs);
  }

  async #apply(projects: readonly ConfiguredProject[]): Promise<boolean> {
    if (isDeepStrictEqual(projects, this.#projects)) return true;
    try {
      await this.#options.onChange(projects);
      this.#projects = projects;
      return true;
    } catch (error) {
      this.#options.log.warn({ reason: toFailure(error).message }, 'could not apply the new list of projects; will retry soon');
      return false;
    }
  }

  #compute(): readonly ConfiguredProject[] {
    const { organisations, projects } = this.#options;
    return toProjects(
      projects,
      organisations.map((organisation) => ({ organisation, repositories: this.#repositories.get(organisation) ?? [] })),
    );
  }

  async #readAll(): Promise<boolean> {
    const complete = await Promise.all(this.#options.organisations.map((organisation) => this.#read(organisation)));
    return complete.every(Boolean);
  }

  async #read(organisation: ConfiguredOrganisation): Promise<boolean> {
    const { read, log } = this.#options;
    const { forge, owner } = organisation;
    const reading = await read(forge, owner, this.#stopping.signal).catch((error: unknown) => toFailure(error));
    if ('complete' in reading && reading.complete) {
      this.#repositories.set(organisation, reading.items);
      return true;
    }
    const reasons = 'complete' in reading ? reading.faults.map(({ message }) => message) : [reading.message];
    if (!this.#stopping.signal.aborted)
      log.warn({ forge: forge.name, owner, reasons }, 'could not list all repositories; keeping the previous list');
    return false;
  }
}
