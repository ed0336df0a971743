import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  accessFileLimitBytes,
  type ClusterConfig,
  type CommitSha,
  type ConfigScope,
  type EnvironmentConfig,
  EphError,
  environmentConfigLimitBytes,
  type Failure,
  failure,
  isEphError,
  labelValue,
  type ParsedDocument,
  type PlacedConfig,
  type PlacedRule,
  type ProjectConfig,
  parseAccessFile,
  parseEnvironmentConfig,
  placeRules,
  printFault,
  toFailure,
} from '@eph/contract';
import type { Forge } from './forge.ts';

/** Where the platform's files are kept. */
export interface ConfigurationRepository {
  readonly forge: Forge;
  /** As people know it, such as its address. */
  readonly name: string;
  readonly branch: string;
  /** The folder that holds `env.yaml`, `access.yaml` and `apps`, such as `dev`. */
  readonly environment: string;
}

/** A project as configuration knows it: names become folders. */
export interface ProjectKey {
  readonly repository: string;
  readonly project: string;
}

/** One file, as far as it could be read. */
export type FileReading<D> =
  | {
      readonly state: 'read';
      /** The last good one; undefined where there is no such file. */
      readonly document: D | undefined;
      /** Why it is not the newest. */
      readonly faults: readonly Failure[];
    }
  /** Nothing good has been read since the start. */
  | { readonly state: 'unread'; readonly faults: readonly Failure[] };

type ConfigReading<C extends EnvironmentConfig> = FileReading<PlacedConfig<C>>;

/**
 * Reads the platform's files from the head of a branch: one for the cluster, one with rules of access, and one for each of these
 * projects. A file that cannot be read or understood leaves the last good reading of it in force, and concerns no other file.
 * While the head stays, no file is read twice.
 */
export class ConfigurationReader {
  readonly #repository: ConfigurationRepository;
  readonly #cluster: ConfigurationFile<PlacedConfig<ClusterConfig>>;
  readonly #rules: ConfigurationFile<readonly PlacedRule[]>;
  #projects: ReadonlyMap<string, ConfigurationFile<PlacedConfig<ProjectConfig>>> = new Map();
  #head: CommitSha | undefined;
  #headFault: Failure | undefined;
  #turn: Promise<void> = Promise.resolve();
  #version = 0;

  constructor(repository: ConfigurationRepository) {
    this.#repository = repository;
    this.#headFault = unreadable(repository, 'it has not been read yet');
    const folder = folderName(repository.environment);
    this.#cluster = new ConfigurationFile(formOf(`${folder}/env.yaml`, { type: 'cluster' }));
    this.#rules = new ConfigurationFile(rulesForm(`${folder}/access.yaml`));
  }

  /** Files of new projects are read by the next `refresh`. */
  setProjects(projects: readonly ProjectKey[]): void {
    const folder = `${folderName(this.#repository.environment)}/apps`;
    this.#projects = new Map(
      projects.map(({ repository, project }) => {
        const key = keyOf({ repository, project });
        const path = `${folder}/${folderName(repository)}/${folderName(project)}/env.yaml`;
        const scope = { type: 'project', repository, project } as const;
        return [key, this.#projects.get(key) ?? new ConfigurationFile(formOf<ProjectConfig>(path, scope))];
      }),
    );
  }

  /** The head of the branch as last seen; undefined while there is none. */
  get head(): CommitSha | undefined {
    return this.#head;
  }

  /** Why the head of the branch is not known, or why there is none. */
  get headFault(): Failure | undefined {
    return this.#headFault;
  }

  /** Another number whenever a reading may differ. */
  get version(): number {
    return this.#version;
  }

  get cluster(): ConfigReading<ClusterConfig> {
    return this.#cluster.reading;
  }

  /** Who may use the API. The same list as before wherever the rules are. */
  get rules(): FileReading<readonly PlacedRule[]> {
    return this.#rules.reading;
  }

  project(key: ProjectKey): ConfigReading<ProjectConfig> {
    const file = this.#projects.get(keyOf(key));
    if (file === undefined) throw new EphError('internal', `project ${keyOf(key)} is not configured`);
    return file.reading;
  }

  get projects(): readonly ConfigReading<ProjectConfig>[] {
    return [...this.#projects.values()].map((file) => file.reading);
  }

  /** Reads the head, and what has not been read at it. One reading at a time, each a new one. */
  refresh(signal: AbortSignal): Promise<void> {
    const reading = this.#turn.then(() => this.#refresh(signal));
    // The caller gets the error; the next reading does not.
    this.#turn = reading.catch(() => {});
    return reading;
  }

  watch(wake: () => void, signal: AbortSignal): void {
    this.#repository.forge.watch(wake, signal);
  }

  async #refresh(signal: AbortSignal): Promise<void> {
    const { forge, name, branch } = this.#repository;
    if (signal.aborted) return;
    const answer = await forge.source({ kind: 'branch', name: branch }, signal);
    if (signal.aborted) return;
    if (answer.state === 'unknown') return this.#blame(asFault(this.#repository, answer.fault));
    if (answer.state === 'gone') {
      this.#head = undefined;
      const advice = 'push it, or name another with configuration.branch in the file of ephd';
      return this.#blame(failure('config.missing', `the configuration repository ${name} has no branch ${branch}; ${advice}`));
    }
    const { commit } = answer.source;
    const files = [this.#cluster, this.#rules, ...this.#projects.values()].filter((file) => !file.isReadAt(commit));
    const answers = await Promise.all(files.map((file) => file.read(this.#repository, commit, signal)));
    // Called off: nothing is taken over, as files of different commits may not fit together.
    if (signal.aborted) return;
    const isChanged = answers.map((take) => take()).includes(true);
    if (isChanged || this.#head !== commit || this.#headFault !== undefined) this.#version += 1;
    this.#head = commit;
    this.#headFault = undefined;
  }

  #blame(fault: Failure): void {
    if (!isDeepStrictEqual(fault, this.#headFault)) this.#version += 1;
    this.#headFault = fault;
  }
}

/** How a file becomes a document. */
interface FileForm<D> {
  readonly path: string;
  readonly limitBytes: number;
  readonly isRequired: boolean;
  /** The document as a function of the commit and of the one before it. */
  readonly parse: (bytes: Uint8Array) => ParsedDocument<(commit: CommitSha, before: D | undefined) => D>;
}

const mapParsed = <T, D>(parsed: ParsedDocument<T>, place: (parsed: ParsedDocument<T> & { ok: true }) => D): ParsedDocument<D> =>
  parsed.ok ? { ...parsed, value: place(parsed) } : parsed;

/** Only a project may do without: missing defaults would apply to every project. */
const formOf = <C extends EnvironmentConfig>(
  path: string,
  scope: ConfigScope & { readonly type: C['type'] },
): FileForm<PlacedConfig<C>> => ({
  path,
  limitBytes: environmentConfigLimitBytes,
  isRequired: scope.type === 'cluster',
  parse: (bytes) =>
    mapParsed(parseEnvironmentConfig(bytes, path, scope), ({ value, places }) => (commit, before) => {
      // The parser holds documents to their scope, and the scope of this file is one for `C`.
      const config = keepEqualParts(before?.config, value) as C;
      return { config, file: path, commit, places, at: [] };
    }),
});

const rulesForm = (path: string): FileForm<readonly PlacedRule[]> => ({
  path,
  limitBytes: accessFileLimitBytes,
  isRequired: false,
  parse: (bytes) =>
    mapParsed(parseAccessFile(bytes, path), ({ value, places }) => {
      const rules = placeRules(value.rules, { file: path, places, at: ['rules'] });
      return (_, before) => (isDeepStrictEqual(before, rules) ? (before ?? rules) : rules);
    }),
});

/** One file, from commit to commit. */
class ConfigurationFile<D> {
  readonly #form: FileForm<D>;
  #reading: FileReading<D> = { state: 'unread', faults: [] };
  /** The commit whose file is known, be it good, bad or missing. */
  #readAt: CommitSha | undefined;
  /** What was parsed last, by its digest: most commits change one file of many. */
  #parsed: { readonly content: string; readonly document: ReturnType<FileForm<D>['parse']> } | undefined;

  constructor(form: FileForm<D>) {
    this.#form = form;
  }

  get reading(): FileReading<D> {
    return this.#reading;
  }

  isReadAt(commit: CommitSha): boolean {
    return this.#readAt === commit;
  }

  /** Reads the file; what the answer returns is whether anything is different once it is taken over. */
  async read(repository: ConfigurationRepository, commit: CommitSha, signal: AbortSignal): Promise<() => boolean> {
    const { path, limitBytes } = this.#form;
    try {
      const bytes = await repository.forge.readFile(commit, path, limitBytes, signal);
      return () =>
        this.#take(bytes === undefined ? this.#readMissing(repository, commit) : this.#readBytes(bytes, commit), commit);
    } catch (error) {
      if (!isEphError(error) || error.code !== 'spec.invalid')
        return () => this.#take(this.#blame([asFault(repository, toFailure(error))]), undefined);
      // A link, a folder, or too large: reading the commit again would not help.
      return () => this.#take(this.#blame([failure('config.invalid', `${path}:1:1: ${error.message}`)]), commit);
    }
  }

  #take(reading: FileReading<D>, readAt: CommitSha | undefined): boolean {
    const isChanged = reading !== this.#reading;
    this.#reading = reading;
    this.#readAt = readAt;
    return isChanged;
  }

  #readMissing({ name }: ConfigurationRepository, commit: CommitSha): FileReading<D> {
    if (!this.#form.isRequired) return { state: 'read', document: undefined, faults: [] };
    const where = `the configuration repository ${name} has no ${this.#form.path} at commit ${commit.slice(0, 12)}`;
    const advice = 'add it, or name another folder with configuration.environment in the file of ephd';
    return { state: 'unread', faults: [failure('config.missing', `${where}; ${advice}`)] };
  }

  #readBytes(bytes: Uint8Array, commit: CommitSha): FileReading<D> {
    const parsed = this.#parse(bytes);
    if (!parsed.ok) return this.#blame(parsed.faults.map((fault) => failure('config.invalid', printFault(fault))));
    const before = this.#reading.state === 'read' ? this.#reading.document : undefined;
    return { state: 'read', document: parsed.value(commit, before), faults: [] };
  }

  #parse(bytes: Uint8Array): ReturnType<FileForm<D>['parse']> {
    const content = createHash('sha256').update(bytes).digest('base64');
    if (this.#parsed?.content !== content) this.#parsed = { content, document: this.#form.parse(bytes) };
    return this.#parsed.document;
  }

  #blame(faults: readonly Failure[]): FileReading<D> {
    if (isDeepStrictEqual(faults, this.#reading.faults)) return this.#reading;
    return this.#reading.state === 'read' ? { ...this.#reading, faults } : { state: 'unread', faults };
  }
}

/** The new document, made of parts of the old one wherever they are equal: the same object means that nothing changed. */
const keepEqualParts = (before: EnvironmentConfig | undefined, config: EnvironmentConfig): EnvironmentConfig => {
  if (before?.type === 'project' && config.type === 'project')
    return { ...config, overrides: keepEqual(before.overrides, config.overrides) };
  if (before?.type !== 'cluster' || config.type !== 'cluster') return config;
  return {
    ...config,
    defaults: keepEqual(before.defaults, config.defaults),
    environment: isDeepStrictEqual(before.environment, config.environment) ? before.environment : config.environment,
    platform: isDeepStrictEqual(before.platform, config.platform) ? before.platform : config.platform,
    policy: isDeepStrictEqual(before.policy, config.policy) ? before.policy : config.policy,
  };
};

const keepEqual = <T>(
  before: { readonly [key: string]: T },
  now: { readonly [key: string]: T },
): { readonly [key: string]: T } => {
  if (isDeepStrictEqual(before, now)) return before;
  const kept = (key: string, value: T): T => {
    const old = Object.hasOwn(before, key) ? before[key] : undefined;
    return old !== undefined && isDeepStrictEqual(old, value) ? old : value;
  };
  return Object.fromEntries(Object.entries(now).map(([key, value]) => [key, kept(key, value)]));
};

export const keyOf = ({ repository, project }: ProjectKey): string => `${repository}/${project}`;

/** Names come from ephd's own file, but what becomes a path is looked at where it does. */
const folderName = (name: string): string => {
  if (labelValue.test(name)) return name;
  throw new EphError('config.invalid', `${JSON.stringify(name)} cannot name a folder of the configuration repository`);
};

const unreadable = ({ name }: ConfigurationRepository, why: string, retryAfterMs?: number): Failure =>
  failure('config.unreadable', `the configuration repository ${name} could not be read: ${why}`, retryAfterMs);

const asFault = (repository: ConfigurationRepository, fault: Failure): Failure =>
  fault.disposition === 'bug' ? fault : unreadable(repository, fault.message, fault.retryAfterMs);
