import type {
  Action,
  CommitSha,
  ComponentName,
  ConfigurationView,
  EnvironmentId,
  EnvironmentName,
  EnvironmentStatus,
  Failure,
  ObservedEnvironment,
  ProjectId,
  ProviderName,
  SectionComponent,
  Source,
  SourceRef,
  Trigger,
} from '@eph/contract';
import { type Decision, Decisions } from '../desired/decisions.ts';
import type { Expiry } from '../desired/expiry.ts';

/** Without values: what is remembered of each environment should be small. */
export type DeclaredComponent = Pick<SectionComponent, 'name' | 'kind'>;

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
  /** The components of its file that it was last computed with, those that were rendered for it included. */
  readonly declared: readonly DeclaredComponent[] | undefined;
  /** The mark of what environments that refer to this one have seen. */
  readonly publishedMark: string | undefined;
  /** Names and aliases of other environments that it refers to. */
  readonly namespaces: readonly string[];
  /** When it expires, as last computed from this source and policy. */
  readonly lifetime: { readonly of: string; readonly expiry: Expiry | undefined } | undefined;
  /** Why it goes, if Git does not say it: it expired. */
  readonly endedBecause: string | undefined;
  /** Somebody asked for components to be removed and made again. Lost with ephd. */
  readonly redeploy: Redeploy | undefined;
  /** The triggers known last: once it is gone, they say how to bring it back. */
  readonly triggers: readonly Trigger[];
  /** The commit of the last report; the report of its removal goes there too. */
  readonly reportedCommit: CommitSha | undefined;
}

export interface Redeploy {
  /** All that it is about: to ask for them once more changes nothing until it has ended. */
  readonly asked: readonly ComponentName[];
  readonly left: readonly ComponentName[];
  /** Removed last; the next one waits until it no longer starts. */
  readonly last?: ComponentName;
}

export type NewRecord = Pick<EnvironmentRecord, 'id' | 'project' | 'ref' | 'name' | 'decision' | 'source' | 'head' | 'observed'>;

export const createRecord = (fresh: NewRecord): EnvironmentRecord => ({
  ...fresh,
  entry: undefined,
  actions: [],
  status: undefined,
  settled: false,
  held: false,
  permitted: false,
  configuration: undefined,
  declared: undefined,
  publishedMark: undefined,
  namespaces: [],
  lifetime: undefined,
  endedBecause: undefined,
  redeploy: undefined,
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

export const createProjectRecord = (): ProjectRecord => ({
  decided: new Decisions(),
  environments: new Map(),
  released: new Set(),
  faults: [],
  incomplete: [],
  isRead: false,
  surveyed: false,
  atRest: false,
  wokenAt: Number.NEGATIVE_INFINITY,
});
