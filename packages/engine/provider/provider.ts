import type { Duplex, Readable, Writable } from 'node:stream';
import type {
  ComponentName,
  EnvironmentId,
  Identity,
  Isolation,
  ObservedEnvironment,
  ProjectId,
  ProviderName,
  Reading,
  ResolvedComponent,
  Usage,
} from '@eph/contract';

/**
 * What makes components real: processes, containers, cluster objects, cloud resources.
 *
 * Contract
 * - The infrastructure is the only memory. Identity and revision are written on it before or together with the effect, so a
 *   provider that is killed anywhere and started again lists the same world, halves of failed creations included.
 * - `list` never throws: what could not be read makes the reading, or that one environment, incomplete. Why the reading of one
 *   environment is incomplete is shown to those who may see it, and names no other.
 * - `ensure` makes one component equal its resolved values and is safe to repeat. It begins the change and returns; it does
 *   not wait for readiness (a slow component must not hold a worker). Observed, a new version is `next` until it is ready and
 *   then becomes `current` by itself; if it never gets ready, `current` keeps serving. The superseded version stays
 *   as `retiring` until `ensure` is called again with the revision that is now current.
 * - The images of a version are written with it and listed with it, so that they need not be looked for again.
 * - `ensure` of a revision that is already `current` or `next` starts nothing a second time.
 * - If the infrastructure already carries an identity for this environment, its name wins over the one passed in.
 * - `remove` succeeds if the component never existed. Removing the last component removes everything that belongs to the
 *   environment.
 * - `ensure` and `remove` do not wait for a slow removal: they begin it and throw `component.removing`, naming what blocks it.
 *   The call is repeated, and `list` shows the component until it is gone.
 * - `hold` writes the deletion guard's hold beside the identity, and `list` returns it. It does nothing where the provider holds
 *   nothing of the environment.
 * - Effects stop soon after the signal aborts and leave something that `list` finds and `ensure` or `remove` can complete.
 * - Calls for one component never overlap; calls for different components may.
 * - `exec` runs a command where the processes of a component run, with their variables and limits and with no more rights than they
 *   have; never outside the sandbox. It is no part of the component: it neither serves nor counts as a restart. When the command exits,
 *   when the signal aborts, or when the provider or the version that it runs beside ends, everything that it started ends.
 *   It throws `api.not_found` or `component.not_ready` where there is nothing to run it beside, `isolation.missing` where there is no
 *   sandbox, and `feature.unavailable` where the provider cannot. Output that nobody reads makes the command wait.
 * - `connect` opens one connection to a TCP port that the component itself listens on; a port of anything else, also of another component,
 *   is `component.not_ready`. It throws `api.not_found` where there is no such component, and `feature.unavailable` where the provider
 *   cannot. Whoever does not read makes the component wait. When the signal aborts, or what the connection leads to is gone, it ends.
 * - `readPullSecrets` returns what secrets with credentials of registries hold, each as a configuration file of Docker, in the given order.
 *   What the operator does not let the project use, and what is not there, is left out. It throws where nobody answers.
 * - `values` come from strangers: a provider parses them with its own schema and throws `component.refused` with a sentence.
 */
export interface Provider {
  /** What the operator calls it; unique on one server. */
  readonly name: ProviderName;
  /** The section of `eph.yaml` it makes, such as `process`. Several providers may have one type. */
  readonly type: string;
  /** Whether it hands private values to components itself, so that a reference to one can be passed on by name. */
  readonly holdsSecrets: boolean;
  /** What images have to be made for, such as `linux/amd64`. Absent where it runs none itself, or any. */
  readonly platform?: string;
  /** Whether components are kept apart from the provider, from each other and from the machine. */
  readonly isolation: Isolation;
  /** Everything this provider holds, or the part of it in scope. */
  list(scope: Scope, signal: AbortSignal): Promise<Reading<ObservedEnvironment>>;
  ensure(identity: Identity, component: ResolvedComponent, signal: AbortSignal): Promise<void>;
  remove(identity: Identity, component: ComponentName, signal: AbortSignal): Promise<void>;
  hold(identity: Identity, held: boolean, signal: AbortSignal): Promise<void>;
  /** What the components of an environment use now. Asked for by people; never called in a pass. */
  usage(environment: EnvironmentId, signal: AbortSignal): Promise<ReadonlyMap<ComponentName, Usage>>;
  /** Log lines of a component, oldest first; goes on until aborted if `follow`. */
  logs(environment: EnvironmentId, component: ComponentName, options: LogOptions): AsyncIterable<LogEntry>;
  /** Runs a command beside a component. Resolves when it may run. Asked for by people; never called in a pass. */
  exec(environment: EnvironmentId, component: ComponentName, request: ExecRequest): Promise<ExecSession>;
  /** Connects to a port of a component. Resolves when the component has accepted. Asked for by people; never called in a pass. */
  connect(environment: EnvironmentId, component: ComponentName, port: number, signal: AbortSignal): Promise<Duplex>;
  /** Absent where infrastructure of this type has no such secrets. */
  readPullSecrets?(project: ProjectId, names: readonly string[], signal: AbortSignal): Promise<readonly string[]>;
  /** Calls `changed` when an environment may look different, until aborted. A hint, as with a forge. */
  watch(changed: (environment: EnvironmentId) => void, signal: AbortSignal): void;
}

export type Scope =
  | { readonly all: true }
  | { readonly project: ProjectId }
  /** With `parts`, components show what runs for them. */
  | { readonly environment: EnvironmentId; readonly parts?: true };

export interface LogOptions {
  /** At most so many lines before the end. */
  readonly tail: number;
  /** Only lines written at or after this time; lines whose time is not known are left out. */
  readonly since?: Date;
  readonly follow: boolean;
  /** Instead, what the run before the present one wrote, as far as the provider still has it. It is over, so nothing is followed. */
  readonly previous?: true;
  readonly signal: AbortSignal;
}

export interface LogEntry {
  /** When it was written, in ISO 8601; null where the provider cannot tell. */
  readonly at: string | null;
  /** The instance that wrote it, as in `Part.instance`. */
  readonly part: string;
  /** Components share what wrote it: a line with the same value here is read for each of them. */
  readonly shared?: string;
  readonly text: string;
}

export interface ExecRequest {
  /** A program and its arguments. */
  readonly command: readonly string[];
  /** Absent: no terminal, and output and errors apart. */
  readonly terminal?: { readonly columns: number; readonly rows: number; readonly type: string };
  /** Ends the command with everything that it started. */
  readonly signal: AbortSignal;
}

export interface ExecSession {
  readonly input: Writable;
  readonly output: Readable;
  /** Empty with a terminal. */
  readonly errors: Readable;
  resize(columns: number, rows: number): void;
  /** The exit code as a shell shows it: 128 plus the number of a signal. Nothing of the command runs any more. */
  readonly exited: Promise<number>;
}
