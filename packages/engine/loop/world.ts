import {
  type EnvironmentId,
  EphError,
  type Event,
  type ProjectId,
  type ProviderName,
  type Section,
  type ServerVariables,
} from '@eph/contract';
import type { ForkMode } from '../desired/forks.ts';
import type { Generator } from '../desired/generator.ts';
import type { Resolver } from '../images/resolver.ts';
import type { DeletionBound, GuardAnswer, GuardInput } from '../plan/guard.ts';
import type { Provider } from '../provider/provider.ts';
import type { Report } from '../report/reporter.ts';
import type { Configuration } from '../source/configuration.ts';
import type { Forge } from '../source/forge.ts';
import type { Clock } from './clock.ts';
import type { Telemetry } from './telemetry.ts';

/** A project as its operator configured it. */
export interface ConfiguredProject {
  readonly forge: Forge;
  readonly resolver: Resolver;
  /** What happens with pull requests from other repositories. */
  readonly forks: ForkMode;
  /** What the platform's files know it by. */
  readonly repository: string;
  readonly team: string | undefined;
  /** What its files may have of ephd. */
  readonly variables: ServerVariables;
}

/** Everything outside: what Git says, what providers hold, and who is told. */
export interface World {
  readonly projects: ReadonlyMap<ProjectId, ConfiguredProject>;
  /** What the platform and its operators say. */
  readonly configuration: Configuration;
  readonly providers: ReadonlyMap<ProviderName, Provider>;
  /** What `eph.yaml` is made of. */
  readonly sections: readonly Section[];
  readonly generators: readonly Generator[];
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  /** Makes names that cannot be guessed. Losing it renames nothing. */
  readonly serverKey: string;
  readonly urlOf: (name: string) => string;
  /** Whose name or alias this is. */
  readonly ownerOf: (label: string) => EnvironmentId | undefined;
  readonly aliasesOf: (id: EnvironmentId) => readonly string[];
  readonly deletionBound: DeletionBound;
  /** Which of the environments nobody wants may go now. */
  readonly guard: (input: GuardInput) => GuardAnswer;
  readonly record: (event: Event) => void;
  readonly report: (report: Report) => void;
  /** Something about this environment looks different now. */
  readonly changed: (id: EnvironmentId) => void;
}

/** How the reconciler asks to be called again. */
export interface Wakes {
  project(id: ProjectId): void;
  environment(id: EnvironmentId): void;
  retryProject(id: ProjectId): void;
  retryConfiguration(): void;
  calmConfiguration(): void;
  /** The last look at the project was good. */
  calmProject(id: ProjectId): void;
  retry(id: EnvironmentId, atLeastMs: number): void;
  /** Time alone will bring something about. */
  later(id: EnvironmentId, ms: number): void;
  /** The last look at the environment left nothing to try again. */
  calm(id: EnvironmentId): void;
  supersede(id: EnvironmentId): void;
}

export const projectOf = ({ projects }: Pick<World, 'projects'>, id: ProjectId): ConfiguredProject => {
  const project = projects.get(id);
  if (project === undefined) throw new EphError('internal', `project ${id} is not configured`);
  return project;
};

export const nowOf = ({ clock }: Pick<World, 'clock'>): string => new Date(clock.now()).toISOString();
