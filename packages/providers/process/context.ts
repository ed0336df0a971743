import type { CommitSha, EnvironmentId, Identity, Log, ProjectId } from '@eph/contract';
import type { Layout } from './layout.ts';
import type { Limits } from './limits.ts';
import type { LogRotation } from './log-rotation.ts';
import type { Monitor } from './monitor.ts';
import type { Ports } from './ports.ts';
import type { Processes } from './processes.ts';
import type { Scratch } from './scratch.ts';

export interface Context {
  readonly layout: Layout;
  readonly limits: Limits;
  readonly processes: Processes;
  readonly monitor: Monitor;
  readonly ports: Ports;
  readonly rotation: LogRotation;
  readonly scratch: Scratch;
  readonly log: Log;
  /** The environment variables of ephd. Services get only a few of them. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly secretOf: (project: ProjectId, name: string) => string | undefined;
  /** Where an environment is reached now. */
  readonly urlOf: (identity: Identity) => string;
  /** Milliseconds since 1970, for times shown to people. */
  readonly now: () => number;
  readonly exportTree: (project: ProjectId, commit: CommitSha, folder: string, signal: AbortSignal) => Promise<void>;
  /** Called when the observed state of an environment may have changed. */
  readonly changed: (environment: EnvironmentId) => void;
}
