import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type ListedRepository, type Log, type ProjectId, projectId, type Reading, toDnsLabel, toFailure } from '@eph/contract';
import { matchesGlob } from '@eph/engine/desired/glob';
import type { Cancel, Clock } from '@eph/engine/loop/clock';
import type { ConfiguredForge, ConfiguredOrganisation, ConfiguredProject } from './config.ts';

/** Archived ones are left out: nothing could be written to them. Forges do not tell upper and lower case apart, nor does this. */
export const chooseRepositories = (
  repositories: readonly ListedRepository[],
  include: readonly string[],
  exclude: readonly string[],
): readonly ListedRepository[] =>
  repositories.filter(({ path, archived }) => {
    const name = lastPart(path).toLowerCase();
    const fits = (pattern: string): boolean => matchesGlob(name, pattern.toLowerCase());
    return !archived && include.some(fits) && !exclude.some(fits);
  });

/** An organisation and what is known of its repositories. */
export interface ListedOrganisation {
  readonly organisation: ConfiguredOrganisation;
  readonly repositories: readonly ListedRepository[];
}

/**
 * The projects that are configured one by one, and those that organisations add. A repository that is configured is not added, and one
 * in two organisations belongs to the first. It is called by its own name; where that is taken or two have it, by its whole path.
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
    const { forge, forks, comments, texts, team, variables } = organisation;
    const id = names.get(key);
    return id === undefined ? [] : [{ id, location: path, forge, forks, comments, texts, repository: id, team, variables }];
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

/** One that nothing else has. */
const uniqueName = ({ key, path }: AddedRepository): string =>
  toDnsLabel(`${path}-${createHash('sha256').update(key).digest('hex').slice(0, 8)}`);

const nameForms: readonly ((added: AddedRepository) => string)[] = [
  ({ path }) => toDnsLabel(lastPart(path)),
  ({ path }) => toDnsLabel(path),
  uniqueName,
];

/** The first form that no other has. Both of two give way, so that what each is called does not depend on which was seen first. */
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
  /** Configured one by one. */
  readonly projects: readonly ConfiguredProject[];
  readonly read: (forge: ConfiguredForge, owner: string, signal: AbortSignal) => Promise<Reading<ListedRepository>>;
  /** All projects, whenever they are others than before. Called again after a failure. */
  readonly onChange: (projects: readonly ConfiguredProject[]) => void | Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

const refreshMs = 10 * 60_000;
/** While not everything could be read. */
const retryMs = 60_000;

/** Looks from time to time which repositories organisations have. What was once read completely holds until it is read completely again. */
export class Organisations implements AsyncDisposable {
  readonly #options: OrganisationsOptions;
  readonly #repositories = new Map<ConfiguredOrganisation, readonly ListedRepository[]>();
  readonly #stopping = new AbortController();
  #projects: readonly ConfiguredProject[];
  #cancel: Cancel | undefined;
  #refreshing: Promise<void> = Promise.resolve();

  constructor(options: OrganisationsOptions) {
    this.#options = options;
    this.#projects = toProjects(options.projects, []);
  }

  /** All projects that are known now. */
  get projects(): readonly ConfiguredProject[] {
    return this.#projects;
  }

  /** Those of which nothing is known, and so neither about the environments of their repositories. */
  get unread(): readonly ConfiguredOrganisation[] {
    return this.#options.organisations.filter((organisation) => !this.#repositories.has(organisation));
  }

  /** Reads for the first time and goes on reading; `onChange` hears only of what comes after. */
  async start(): Promise<readonly ConfiguredProject[]> {
    if (this.#options.organisations.length === 0) return this.#projects;
    const isComplete = await this.#readAll();
    this.#projects = this.#compute();
    this.#schedule(isComplete ? refreshMs : retryMs);
    return this.#projects;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#cancel?.();
    await this.#refreshing;
  }

  #schedule(ms: number): void {
    if (this.#stopping.signal.aborted) return;
    this.#cancel = this.#options.clock.after(ms, () => {
      this.#refreshing = this.#refresh();
    });
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
      this.#options.log.warn({ reason: toFailure(error).message }, 'other projects could not be taken on; tried again soon');
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
      log.warn({ forge: forge.name, owner, reasons }, 'not all repositories could be listed; those known before stay');
    return false;
  }
}
