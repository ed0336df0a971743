import type { Failure } from '../errors.ts';
import type { CommitSha } from '../ids.ts';
import type { ConfigurationLayers } from '../layers.ts';
import type { Policy } from '../policy.ts';
import type { EnvironmentFacts, PlatformValues } from './environment-config.ts';

/**
 * - `none`: nothing is configured.
 * - `last-good`: a file could not be read or understood; its last good reading is in force.
 * - `missing`: there is a configuration repository without a file for the cluster.
 * - `unreadable`: nothing good has been read since the start.
 */
export type ConfigurationStateName = 'none' | 'current' | 'last-good' | 'missing' | 'unreadable';

export interface ConfigurationState {
  readonly state: ConfigurationStateName;
  /** The head of the configuration repository as last seen. */
  readonly commit: CommitSha | null;
  readonly faults: readonly Failure[];
}

/** The configuration of one project. The same object for as long as no file is read again. */
export type ConfigurationView = UsableConfiguration | UnusableConfiguration;

export interface UsableConfiguration extends ConfigurationState {
  readonly state: 'none' | 'current' | 'last-good';
  /** Equal marks mean equal values, perhaps from another commit or line. */
  readonly mark: string;
  readonly layers: ConfigurationLayers;
  readonly environment: EnvironmentFacts;
  readonly platform: PlatformValues;
  /** Each must be satisfied. */
  readonly policies: readonly Policy[];
}

/** What runs is left as it is, and nothing new is made. */
export interface UnusableConfiguration extends ConfigurationState {
  readonly state: 'missing' | 'unreadable';
  readonly mark: string;
}
