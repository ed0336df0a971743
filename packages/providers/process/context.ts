import type { CommitSha, EnvironmentId, Identity, Log, ProjectId, ProviderName } from '@eph/contract';
import type { Budget, Cgroups } from './cgroups.ts';
import type { Layout } from './layout.ts';
import type { Limits } from './limits.ts';
import type { Listeners } from './listeners.ts';
import type { LogRotation } from './log-rotation.ts';
import type { Monitor } from './monitor.ts';
import type { PackageCaches } from './package-caches.ts';
import type { Ports } from './ports.ts';
import type { Processes } from './processes.ts';
import type { Sandbox } from './sandbox.ts';
import type { Scratch } from './scratch.ts';
import type { Sessions } from './sessions.ts';

export interface ProcessProviderOptions {
  /** `process` if absent. */
  readonly name?: ProviderName;
  /** The data folder: all that this provider knows is in there. One ephd at a time. */
  readonly folder: string;
  /** Writes the tree of a commit to a folder that does not exist yet. */
  readonly exportTree: (project: ProjectId, commit: CommitSha, folder: string, signal: AbortSignal) => Promise<void>;
  /** The environment variables of ephd: services get PATH, HOME and the like from there, and nothing else. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** A secret of a project; asked each time a service is started, so that secrets are kept nowhere. */
  readonly secretOf?: (project: ProjectId, name: string) => string | undefined;
  /** Where an environment is reached; asked each time a service is started. */
  readonly urlOf?: (identity: Identity) => string;
  /** How services are confined. */
  readonly sandbox: Sandbox;
  readonly cgroups: Cgroups;
  /** The most that one environment may use. */
  readonly budget: EnvironmentBudget;
  readonly log?: Log;
  readonly limits?: Partial<Limits>;
  /** Milliseconds since 1970, for times shown to people. */
  readonly now?: () => number;
}

export interface EnvironmentBudget extends Budget {
  readonly diskBytes: number;
  /** Of all environments of one project together. */
  readonly projectDiskBytes: number;
  /** Of the package cache of a project. */
  readonly cacheBytes: number;
}

export interface Context extends Required<Omit<ProcessProviderOptions, 'name' | 'folder' | 'limits'>> {
  readonly layout: Layout;
  readonly limits: Limits;
  readonly processes: Processes;
  readonly monitor: Monitor;
  readonly listeners: Listeners;
  readonly ports: Ports;
  readonly rotation: LogRotation;
  readonly scratch: Scratch;
  readonly caches: PackageCaches;
  readonly sessions: Sessions;
  /** Called when the observed state of an environment may have changed. */
  readonly changed: (environment: EnvironmentId) => void;
}
