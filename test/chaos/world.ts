import type { EphdHarness, StartOptions } from '../e2e/ephd-harness.ts';

/** An ephd with a repository and an infrastructure, which is read without asking ephd. */
export interface World extends AsyncDisposable {
  readonly harness: EphdHarness;
  /** How its ephd is started. */
  readonly startOptions: StartOptions;
  /** What broke a rule that holds at every moment, also while ephd is down. */
  readonly doubles: ReadonlySet<string>;
  readonly wrongDeletions: ReadonlySet<string>;
  /** Returns the commit. */
  push(branch: string, shape: string): Promise<string>;
  delete(branch: string): Promise<void>;
  /** How what there is differs from what Git says. Both lists are empty once ephd has converged. */
  compare(ephdPid: number): Promise<Comparison>;
  /** Call once it has converged. Returns what was started again without reason since the last time. */
  settled(): Promise<readonly string[]>;
  /** How services run, while ephd does. */
  describe(): Promise<string>;
  /** Ends everything that runs, and keeps the folder. */
  halt(): Promise<void>;
}

export interface Comparison {
  /** As sentences; orphans are among them. */
  readonly differences: readonly string[];
  /** What exists without a branch that asks for it. */
  readonly orphans: readonly string[];
}

export interface WorldKind {
  /** What a branch can ask for. */
  readonly shapes: readonly string[];
  /** The shape whose life has every kind of step. */
  readonly recorded: string;
  /** If ephd does not reach a step within this time, it is killed wherever it is. */
  readonly stepWithinMs: number;
  create(): Promise<World>;
}
