import type {
  ComponentName,
  EnvironmentId,
  Identity,
  ObservedEnvironment,
  ProjectId,
  ProviderName,
  Reading,
  ResolvedComponent,
} from '@eph/contract';

/**
 * What makes components real: processes, containers, cluster objects, cloud resources.
 *
 * Contract
 * - The infrastructure is the only memory. Identity and revision are written on it before or together with the effect, so a
 *   provider that is killed anywhere and started again lists the same world, halves of failed creations included.
 * - `list` never throws: what could not be read makes the reading, or that one environment, incomplete.
 * - `ensure` makes one component equal its resolved values and is safe to repeat. It begins the change and returns; it does
 *   not wait for readiness (a slow component must not hold a worker). Observed, a new version is `next` until it is ready and
 *   then becomes `current` by itself; if it never gets ready, `current` keeps serving. The superseded version stays
 *   as `retiring` until `ensure` is called again with the revision that is now current.
 * - `ensure` of a revision that is already `current` or `next` starts nothing a second time.
 * - If the infrastructure already carries an identity for this environment, its name wins over the one passed in.
 * - `remove` returns when the component is gone, and succeeds if it never existed. Removing the last component removes
 *   everything that belongs to the environment.
 * - Effects stop soon after the signal aborts and leave something that `list` finds and `ensure` or `remove` can complete.
 * - Calls for one component never overlap; calls for different components may.
 * - `values` come from strangers: a provider parses them with its own schema and throws `component.refused` with a sentence.
 */
export interface Provider {
  readonly name: ProviderName;

  /** Everything this provider holds, or the part of it in scope. */
  list(scope: Scope, signal: AbortSignal): Promise<Reading<ObservedEnvironment>>;

  ensure(identity: Identity, component: ResolvedComponent, signal: AbortSignal): Promise<void>;

  remove(identity: Identity, component: ComponentName, signal: AbortSignal): Promise<void>;

  /** Log lines of a component, oldest first, starting `tail` lines before the end; goes on until aborted if `follow`. */
  logs(environment: EnvironmentId, component: ComponentName, options: LogOptions): AsyncIterable<string>;

  /** Calls `changed` when an environment may look different, until aborted. A hint, as with a forge. */
  watch(changed: (environment: EnvironmentId) => void, signal: AbortSignal): void;
}

export type Scope = { readonly all: true } | { readonly project: ProjectId } | { readonly environment: EnvironmentId };

export interface LogOptions {
  readonly tail: number;
  readonly follow: boolean;
  readonly signal: AbortSignal;
}
