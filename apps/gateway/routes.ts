import type { EnvironmentName, Phase } from '@eph/contract';

/**
 * Where the traffic of each environment goes.
 *
 * Contract
 * - `find` is asked on every request, so it answers from memory, at once, and never throws. It is asked with one lower-case DNS
 *   label and knows names and aliases; whatever else it is asked for, `constructor` included, is `undefined`.
 * - The answer is what is true now: a new upstream has the traffic from the next request on. Requests under way stay with the
 *   upstream they began on, so whoever replaces one changes the route first and lets the old one finish before stopping it.
 * - An alias points to the name of an environment, never to another alias, and an open or closed route is found under the very
 *   name it carries.
 */
export interface Routes {
  find(label: string): Route | undefined;
}

export type Route = OpenRoute | ClosedRoute | AliasRoute;

/** The environment answers. */
export interface OpenRoute {
  readonly state: 'open';
  readonly environment: EnvironmentName;
  readonly upstream: Upstream;
}

/** The environment exists, but nothing of it can answer now. Visitors are told why. */
export interface ClosedRoute {
  readonly state: 'closed';
  readonly environment: EnvironmentName;
  readonly phase: Phase;
  /** One sentence: the most important thing to know now. */
  readonly summary: string;
  /** What has to happen first, one short line each. */
  readonly waitingFor: readonly string[];
}

/** Another label for an environment. Visitors are sent on to its name. */
export interface AliasRoute {
  readonly state: 'alias';
  readonly target: EnvironmentName;
}

export interface Upstream {
  /** A host name or an address; IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}
