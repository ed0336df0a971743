import {
  type Action,
  type Command,
  type CommitSha,
  type ConfigurationView,
  type EnvironmentId,
  type EnvironmentName,
  type EnvironmentStatus,
  type Failure,
  isSameSource,
  type ObservedEnvironment,
  type ParsedSpec,
  type ProjectId,
  type Reading,
  type Source,
  type SourceKind,
  type SourceRef,
  type Trigger,
} from '@eph/contract';
import type { Expiry } from './expiry.ts';

/** What Git says about one source: it wants an environment, it does not, or that could not be found out. */
export type Decision =
  | { readonly state: 'wanted'; readonly because: string; readonly spec: ParsedSpec | 'missing'; readonly terms?: Terms }
  | { readonly state: 'unwanted'; readonly because: string }
  | { readonly state: 'unknown'; readonly because: string; readonly fault: Failure };

export const unwanted = (because: string): Decision & { state: 'unwanted' } => ({ state: 'unwanted', because });

/** On which terms a source wants its environment; absent where there are none. */
export interface Terms {
  /** Checks that must have succeeded first. */
  readonly checks: readonly string[];
  /** The comment that asked for it. */
  readonly command?: Command;
  /** Nothing of it is changed for now. */
  readonly paused: boolean;
  /** It does not expire before policy says so. */
  readonly kept: boolean;
  /** How long a label wants it to live. */
  readonly ttlSeconds?: number;
  /** Written by strangers: it gets nothing that the operator gave to the project. */
  readonly isolated: boolean;
  /** What the people who put labels there should know. */
  readonly notes: readonly string[];
}

/** An environment as far as it is known: what Git wished last, what the provider showed last, what follows from both. */
export interface EnvironmentRecord {
  readonly id: EnvironmentId;
  readonly project: ProjectId;
  readonly ref: SourceRef;
  name: EnvironmentName;
  decision: Decision;
  /** What it is made of; absent once the source is gone. */
  source: Source | undefined;
  /** Where its source stood when that was decided: another commit than its own where one was asked for. */
  head: CommitSha | undefined;
  observed: ObservedEnvironment | undefined;
  actions: readonly Action[];
  status: EnvironmentStatus | undefined;
  /** Nothing to do until something changes. */
  settled: boolean;
  /** The deletion guard keeps it until an operator releases it. */
  held: boolean;
  /** The guard allows its removal, provided its source is still gone. */
  permit: boolean;
  /** Which look at the project last found it in a listing. */
  seenInLook: number;
  /** What the platform said when this was last worked out. */
  told: ConfigurationView | undefined;
  /** The mark of what others were last told of it. */
  shownMark: string | undefined;
  /** Names and aliases of other environments that its references lead to. */
  namespaces: readonly string[];
  /** As last worked out from this very source and policy. */
  expiry: { readonly of: string; readonly expiry: Expiry | undefined } | undefined;
  /** Why it goes, if that is not what Git says. */
  farewell: string | undefined;
  /** The triggers that were known last: once it is gone, they say how it comes back. */
  triggers: readonly Trigger[];
  /** Where the last report stands; the report of its removal goes there too. */
  reportedCommit: CommitSha | undefined;
}

/** An environment that has just been met. */
export const createRecord = (
  met: Pick<EnvironmentRecord, 'id' | 'project' | 'ref' | 'name' | 'decision' | 'source' | 'observed'>,
): EnvironmentRecord => ({
  ...met,
  head: met.source?.commit,
  actions: [],
  status: undefined,
  settled: false,
  held: false,
  permit: false,
  seenInLook: 0,
  told: undefined,
  shownMark: undefined,
  namespaces: [],
  expiry: undefined,
  farewell: undefined,
  triggers: [],
  reportedCommit: undefined,
});

/** What was decided about one source at one commit; a commit never changes, so neither does the decision. */
export interface Decided {
  /** As the forge listed it. */
  readonly source: Source;
  /** What its environment is made of: the source, or the source at the commit that was asked for. */
  readonly made: Source;
  /** The commit of the branch it goes to, where the file was read there. */
  readonly base?: CommitSha;
  readonly decision: Decision;
  /** Absent when the source wants none. */
  readonly environment: EnvironmentId | undefined;
}

/** By kind and then by name: one joined key would be a new string for every source in every pass. */
export class Decisions {
  readonly #byKind: Readonly<Record<SourceKind, Map<string, Decided>>> = {
    branch: new Map(),
    tag: new Map(),
    pr: new Map(),
  };
  readonly #inOrder: Decided[] = [];
  readonly #sources: Source[] = [];

  readonly #mark: string | undefined;

  constructor(inOrder: Iterable<Decided> = [], mark?: string) {
    this.#mark = mark;
    for (const decided of inOrder) {
      this.#inOrder.push(decided);
      this.#sources.push(decided.source);
      this.#byKind[decided.source.ref.kind].set(decided.source.ref.name, decided);
    }
  }

  get(ref: SourceRef): Decided | undefined {
    return this.#byKind[ref.kind].get(ref.name);
  }

  values(): readonly Decided[] {
    return this.#inOrder;
  }

  /** Whether these are the very sources and commits that were decided about, in the same order. */
  areAbout({ items, mark }: Reading<Source>): boolean {
    if (mark !== undefined && mark === this.#mark) return true;
    return items.length === this.#sources.length && this.#sources.every((source, index) => isSame(source, items[index]));
  }
}

const isSame = (a: Source, b: Source | undefined): boolean => b !== undefined && isSameSource(a, b);

export interface ProjectMemory {
  /** As of the last look. */
  decided: Decisions;
  readonly environments: Map<EnvironmentId, EnvironmentRecord>;
  readonly released: Set<EnvironmentId>;
  faults: readonly Failure[];
  /** At least one complete pass has been made since the start. */
  surveyed: boolean;
  /** Every environment, in the order of the last listing, when that left nothing to do. */
  atRest: readonly EnvironmentRecord[] | undefined;
  /** The last pass found everything at rest, and nothing has been looked at since. */
  verified: boolean;
  /** When something other than a pass last asked for a look. */
  wokenAt: number;
}

/** What a full pass saw of a project; `as before` when that is what the pass before it saw, too. */
export type Snapshot = Reading<ObservedEnvironment> | 'as before';

/**
 * What one ephd remembers between two looks. All of it can be lost at any moment: it makes an unchanged pass cheap and answers the
 * API, and nothing in it is more than a copy of what Git and the providers said.
 */
export class Memory {
  readonly #projects = new Map<ProjectId, ProjectMemory>();
  readonly #environments = new Map<EnvironmentId, EnvironmentRecord>();
  readonly #names = new Map<EnvironmentName, EnvironmentId>();
  readonly #snapshots = new Map<ProjectId, Snapshot>();
  /** Names of environments that the last complete pass saw and nobody has met yet. */
  #unmetNames: ReadonlyMap<EnvironmentName, EnvironmentId> | undefined;

  project(id: ProjectId): ProjectMemory {
    let project = this.#projects.get(id);
    if (project === undefined) {
      project = {
        decided: new Decisions(),
        environments: new Map(),
        released: new Set(),
        faults: [],
        surveyed: false,
        atRest: undefined,
        verified: false,
        wokenAt: Number.NEGATIVE_INFINITY,
      };
      this.#projects.set(id, project);
    }
    return project;
  }

  get(id: EnvironmentId): EnvironmentRecord | undefined {
    return this.#environments.get(id);
  }

  /** In order of first sight. */
  environments(): Iterable<EnvironmentRecord> {
    return this.#environments.values();
  }

  remember(known: EnvironmentRecord): void {
    this.#environments.set(known.id, known);
    this.project(known.project).environments.set(known.id, known);
    if (!this.isNameTaken(known.name, known.id)) this.#names.set(known.name, known.id);
  }

  rename(known: EnvironmentRecord, name: EnvironmentName): void {
    if (this.#names.get(known.name) === known.id) this.#names.delete(known.name);
    known.name = name;
    this.#names.set(name, known.id);
  }

  forget(known: EnvironmentRecord): void {
    this.#environments.delete(known.id);
    const project = this.project(known.project);
    project.environments.delete(known.id);
    project.released.delete(known.id);
    if (this.#names.get(known.name) === known.id) this.#names.delete(known.name);
  }

  /** Takes note of every name in use, of projects too that have not been looked at since the start. */
  learnNames(environments: readonly ObservedEnvironment[]): void {
    const unmet = new Map<EnvironmentName, EnvironmentId>();
    for (const { identity } of environments) if (!this.#environments.has(identity.id)) unmet.set(identity.name, identity.id);
    this.#unmetNames = unmet;
  }

  /** Without it, a new name may be one that somebody has. */
  get knowsNames(): boolean {
    return this.#unmetNames !== undefined;
  }

  isNameTaken(name: EnvironmentName, by: EnvironmentId): boolean {
    const owner = this.#names.get(name) ?? this.#unmetNames?.get(name);
    return owner !== undefined && owner !== by;
  }

  /** Used once, by the look at the project which the pass wakes. One that was not used yet is what `as before` means. */
  putSnapshot(project: ProjectId, snapshot: Snapshot): void {
    if (snapshot !== 'as before' || !this.#snapshots.has(project)) this.#snapshots.set(project, snapshot);
  }

  takeSnapshot(project: ProjectId): Snapshot | undefined {
    const snapshot = this.#snapshots.get(project);
    this.#snapshots.delete(project);
    return snapshot;
  }
}
