import type { EnvironmentName, Phase } from '@eph/contract';

/**
 * Where the traffic of each environment goes.
 *
 * Contract
 * - `find` is called for every request, so it answers from memory and never throws. It takes one lower-case DNS label, which may
 *   be a name or an alias; for anything else, `constructor` included, it returns `undefined`.
 * - The answer is current: a new upstream gets the traffic from the next request on. Running requests stay with the upstream they
 *   began on, so to replace an upstream, change the route first and let the old one finish before stopping it.
 * - An alias points to the name of an environment, never to another alias. An open or closed route has the name under which it is
 *   found.
 */
export interface Routes {
  find(label: string): Route | undefined;
}

export type Route = OpenRoute | ClosedRoute | AliasRoute;

export interface OpenRoute {
  readonly state: 'open';
  readonly environment: EnvironmentName;
  readonly upstream: Upstream;
}

/** The environment exists but cannot answer now. Visitors see why. */
export interface ClosedRoute {
  readonly state: 'closed';
  readonly environment: EnvironmentName;
  readonly phase: Phase;
  /** One sentence: the most important fact. */
  readonly summary: string;
  /** What has to happen first, one short line each. */
  readonly waitingFor: readonly string[];
}

/** Another label for an environment. Visitors are redirected to its name. */
export interface AliasRoute {
  readonly state: 'alias';
  readonly target: EnvironmentName;
}

export interface Upstream {
  /** A host name or an address; IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}
