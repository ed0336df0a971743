import {
  type EnvironmentId,
  EphError,
  type Event,
  type ProjectId,
  type ProviderName,
  type Sandboxed,
  type Section,
  type ServerVariables,
} from '@eph/contract';
import type { ForkMode } from '../desired/forks.ts';
import type { Generator } from '../desired/generator.ts';
import type { Resolver } from '../images/resolver.ts';
import type { DeletionBound, GuardAnswer, GuardInput } from '../plan/guard.ts';
import type { PollingLimit } from '../polling/polling.ts';
import type { Provider } from '../provider/provider.ts';
import type { Renderer } from '../render/renderer.ts';
import type { CommandAnswer, Report } from '../report/reporter.ts';
import type { Configuration } from '../source/configuration.ts';
import type { Forge } from '../source/forge.ts';
import type { Clock } from '../time/clock.ts';
import type { AvailableProvider } from '../values/providers.ts';
import type { Telemetry } from './telemetry.ts';

/** A project as its operator configured it. */
export interface ConfiguredProject {
  readonly forge: Forge;
  /** What happens with pull requests from other repositories. */
  readonly forks: ForkMode;
  /** In mode `base`: the target branches, besides the default branch, whose file a fork may get. */
  readonly baseBranches?: readonly string[];
  /** Its operator lets it run as ephd itself, where a provider has no sandbox. */
  readonly trusted: boolean;
  /** Whether everything in it gets a network of its own, or only pull requests from forks. */
  readonly network: Sandboxed['network'];
  /** The repository, as the platform's files name it. */
  readonly repository: string;
  readonly team: string | undefined;
  /** Variables of ephd that its files may use. */
  readonly variables: ServerVariables;
  /** Shared with other projects; absent where reading costs the forge nothing that it limits. */
  readonly limit?: PollingLimit | undefined;
}

/** Everything outside the loop: what Git says, what providers hold, and where reports and events go. */
export interface EngineContext {
  /** Not constant: what is read before an `await` may have left after it. */
  readonly projects: ReadonlyMap<ProjectId, ConfiguredProject>;
  readonly configuration: Configuration;
  /** In the order of ephd's file: of several with one type the first is chosen. */
  readonly providers: ReadonlyMap<ProviderName, Provider>;
  /** Providers that are no longer in ephd's file: nothing new is made there, and an operator releases what they hold. */
  readonly retired: ReadonlySet<ProviderName>;
  /** The sections of `eph.yaml`. */
  readonly sections: readonly Section[];
  readonly generators: readonly Generator[];
  readonly renderer: Renderer;
  readonly resolver: Resolver;
  readonly clock: Clock;
  readonly random: () => number;
  readonly telemetry: Telemetry;
  /** Makes names that cannot be guessed. Losing it renames nothing. */
  readonly serverKey: string;
  readonly urlOf: (name: string) => string;
  /** Whose name or alias this is. */
  readonly ownerOf: (label: string) => EnvironmentId | undefined;
  readonly aliasesOf: (id: EnvironmentId) => readonly string[];
  readonly deletionBound: DeletionBound;
  /** Which of the environments that no source wants may be removed now. */
  readonly guard: (input: GuardInput) => GuardAnswer;
  readonly record: (event: Event) => void;
  readonly report: (report: Report) => void;
  /** Answers a command on a pull request, once. */
  readonly answer?: (answer: CommandAnswer, signal: AbortSignal) => Promise<void>;
  /** Something about this environment looks different now. */
  readonly changed: (id: EnvironmentId) => void;
}

/** What an engine is made of. */
export interface EngineOptions extends Omit<EngineContext, 'report'> {
  readonly workers: number;
  readonly deliver: (report: Report, signal: AbortSignal) => Promise<void>;
}

export const projectOf = ({ projects }: Pick<EngineContext, 'projects'>, id: ProjectId): ConfiguredProject => {
  const project = projects.get(id);
  if (project === undefined) throw new EphError('api.conflict', `project ${id} is no longer configured`);
  return project;
};

export const nowOf = ({ clock }: Pick<EngineContext, 'clock'>): string => new Date(clock.now()).toISOString();

/** Those that may make something new, in the order of ephd's file. */
export const availableProviders = ({ providers, retired }: EngineContext): readonly AvailableProvider[] =>
  [...providers.values()].filter(({ name }) => !retired.has(name));
