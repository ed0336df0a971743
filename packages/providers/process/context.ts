import type { CommitSha, EnvironmentId, Identity, Log, ProjectId } from '@eph/contract';
import type { Layout } from './layout.ts';
import type { Limits } from './limits.ts';
import type { LogRotation } from './log-rotation.ts';
import type { Monitor } from './monitor.ts';
import type { Ports } from './ports.ts';
import type { Processes } from './processes.ts';
import type { Scratch } from './scratch.ts';

/** What every part of one provider shares. */
export interface Context {
  readonly layout: Layout;
  readonly limits: Limits;
  readonly processes: Processes;
  readonly monitor: Monitor;
  readonly ports: Ports;
  readonly rotation: LogRotation;
  readonly scratch: Scratch;
  readonly log: Log;
  /** The environment variables of ephd, of which services see next to nothing. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** A secret of a project. */
  readonly secretOf: (project: ProjectId, name: string) => string | undefined;
  /** Where an environment is reached now. */
  readonly urlOf: (identity: Identity) => string;
  /** Milliseconds since 1970, for the times that people are shown. */
  readonly now: () => number;
  readonly exportTree: (project: ProjectId, commit: CommitSha, folder: string, signal: AbortSignal) => Promise<void>;
  /** An environment may look different now. */
  readonly changed: (environment: EnvironmentId) => void;
}
