import type { Condition, Phase } from './condition.ts';
import { digest } from './digest.ts';
import type { ErrorCode } from './errors.ts';
import type { CommitSha, ComponentName, EnvironmentId, EnvironmentName, ProjectId, ProviderName, Revision } from './ids.ts';
import type { PinnedImages } from './image.ts';
import type { SourceRef } from './source.ts';

export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** Who an environment is. Providers write it on the infrastructure and read it back; nothing else is needed to find it again. */
export interface Identity {
  /** Digest of project and source: the same on every machine, without any key. */
  readonly id: EnvironmentId;
  /** Chosen once, at creation. */
  readonly name: EnvironmentName;
  readonly project: ProjectId;
  readonly source: SourceRef;
  readonly createdAt: string;
}

/** A component with every value known: what a provider makes real. */
export interface ResolvedComponent {
  readonly name: ComponentName;
  readonly provider: ProviderName;
  /** No part of the revision: what a new commit does not change goes on as it is. */
  readonly commit: CommitSha;
  /** `tree:<commit>` where it runs files of its commit; null where it runs images alone. */
  readonly artifact: string | null;
  /** Absent where it names none. Only their references are part of the revision. */
  readonly images?: PinnedImages;
  /** The gateway sends the environment's traffic here. */
  readonly entry: boolean;
  /** Components whose outputs or readiness it relies on; written on the infrastructure so that removal can run backwards. */
  readonly dependsOn: readonly ComponentName[];
  readonly values: { readonly [key: string]: JsonValue };
  /**
   * What every rendering of its files makes anew, such as a password, by JSON pointers into `values.objects`, where `null` stands in its
   * place. No part of the revision: what it was created with stays.
   */
  readonly generated?: { readonly [pointer: string]: JsonValue };
  /** It gets a network of its own, in which it reaches these ports of the machine. Undefined if it shares one. */
  readonly network?: { readonly reaches: readonly number[] };
  /** Its source is a pull request from another repository: what it writes is given to nobody else. */
  readonly fromFork?: true;
  /** Why an update interrupts it, as part of a sentence; absent where it goes on serving. No part of the revision. */
  readonly interruption?: string;
  /** Digest of what is above, except as said there. Equal revisions mean nothing to do. */
  readonly revision: Revision;
  /** The most that its environment may use, in cores and bytes: held from its next start on. */
  readonly budget?: { readonly cpu?: number; readonly memoryBytes?: number };
}

/** What one component should be: all of it, or what it still waits for. */
export type DesiredComponent =
  | { readonly state: 'resolved'; readonly component: ResolvedComponent }
  | {
      readonly state: 'waiting';
      readonly name: ComponentName;
      readonly provider: ProviderName;
      readonly code: ErrorCode;
      readonly reason: string;
      /** When to check again at the latest, if only time has to pass. */
      readonly until?: string;
    };

export type Health = 'starting' | 'ready' | 'failing';

/** One version of a component as the provider sees it. */
export interface ComponentVersion {
  readonly revision: Revision;
  readonly commit: CommitSha;
  /** As they were resolved; absent where it runs none. */
  readonly images?: PinnedImages;
  readonly health: Health;
  /** Why it is not ready; empty when it is. */
  readonly message: string;
  /** When it got this health. */
  readonly since: string;
  /** It stays as it is until there is another version: nothing is tried again. */
  readonly stalled?: true;
  /** What others changed in it. It then counts as another version, so that it is made again as it should be. */
  readonly drift?: string;
}

export interface ObservedComponent {
  readonly name: ComponentName;
  readonly provider: ProviderName;
  readonly entry: boolean;
  readonly dependsOn: readonly ComponentName[];
  /** The version that was ready last and has the traffic. */
  readonly current: ComponentVersion | null;
  /** A version on its way to take over; it does so by itself once it is ready. */
  readonly next: ComponentVersion | null;
  /** An older version still runs because others may use its outputs. The next `ensure` of the current revision stops it. */
  readonly retiring: boolean;
  /** Where the gateway reaches the current version, such as `http://127.0.0.1:4000`; null while nothing can be reached. */
  readonly upstream: string | null;
  /** What the current version publishes for references. */
  readonly outputs: { readonly [key: string]: string };
  /** Present only in readings that ask for it. */
  readonly parts?: readonly Part[];
}

/** A process, container or pod that runs a version of a component. */
export interface Part {
  readonly instance: string;
  /** Null where nothing is run from an image. */
  readonly image: string | null;
  readonly restarts: number;
  /** Why it last ended or is not ready; empty when there is nothing to say. */
  readonly message: string;
}

/** What a component uses at the moment of the call. Of the processor, a provider knows one of two. */
export interface Usage {
  /** What its processes have used since they began. */
  readonly cpuSeconds: number | null;
  /** How much it uses at a time, lately. */
  readonly cpuCores: number | null;
  readonly memoryBytes: number;
}

export interface ObservedEnvironment {
  readonly identity: Identity;
  readonly components: readonly ObservedComponent[];
  /** The deletion guard keeps this environment until an operator releases it. */
  readonly held: boolean;
  /** Of several providers that hold some of it, not all have written the hold. */
  readonly partlyHeld?: true;
  /** False when part of this environment could not be read; nothing in it is then taken as absent. */
  readonly complete: boolean;
  /** Equal marks mean equal environments, parts aside: over unchanged environments, a pass compares one string each. */
  readonly mark: string;
}

/** An environment with its mark. A provider that has a cheaper one, such as a version counter, may put its own. */
export const observedEnvironment = (seen: Omit<ObservedEnvironment, 'mark'>): ObservedEnvironment => ({
  ...seen,
  mark: digest(`${seen.complete ? '' : 'incomplete\n'}${seen.held ? 'held\n' : ''}${seen.components.map(markOf).join('\n')}`),
});

const markOf = ({ name, current, next, retiring, upstream, outputs }: ObservedComponent): string =>
  JSON.stringify([name, markVersion(current), markVersion(next), retiring, upstream, outputs]);

const markVersion = (version: ComponentVersion | null): string | null =>
  version === null ? null : `${version.revision} ${version.stalled ? 'stalled' : version.health} ${version.message}`;

/** What people and programs are shown of an environment. Derived on every run, stored nowhere. */
export interface EnvironmentStatus {
  readonly phase: Phase;
  /** One sentence: the most important thing to know now. */
  readonly summary: string;
  readonly conditions: readonly Condition[];
}
