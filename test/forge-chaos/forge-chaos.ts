import { setImmediate as nextTurn } from 'node:timers/promises';
import { mix, Random } from '../simulate/random.ts';
import { findDifferences } from './differences.ts';
import { ForgeChaosHarness } from './forge-chaos-harness.ts';
import { startGitea } from './gitea-fixture.ts';
import { startGithub } from './github-fixture.ts';
import { startGitlab } from './gitlab-fixture.ts';
import { type PlantName, plants } from './plants.ts';
import { Users } from './users.ts';
import type { Violation } from './verifier.ts';

export const fixtures = { github: startGithub, gitlab: startGitlab, gitea: startGitea } as const;

export interface ForgeChaosOptions {
  readonly forge: keyof typeof fixtures;
  readonly steps: number;
  readonly seed: number;
  readonly plant?: PlantName;
  readonly print: (line: string) => void;
  readonly signal: AbortSignal;
}

export interface ForgeChaosResult {
  readonly steps: number;
  readonly requests: number;
  readonly faults: number;
  readonly pulls: number;
  readonly removals: number;
  /** How often faults were stopped to let Eph settle; `converged` counts how often it did. */
  readonly settles: number;
  readonly converged: number;
  readonly violations: readonly Violation[];
  /** The last steps, for the error output. */
  readonly history: readonly string[];
}

const settleEvery = 250;
const historyLines = 60;
/**
 * A report that failed repeatedly is retried after the longest back-off of the queue at the latest, and one for which GitHub allows no
 * more requests in the next hour.
 */
const settleWithinSeconds = 2 * 3_600;
const progressEvery = 1_000;

/** Simulates users of a forge that fails and truncates answers, and compares what Eph does with the true state. */
export const runForgeChaos = async (options: ForgeChaosOptions): Promise<ForgeChaosResult> => {
  const { forge, steps, seed, plant = 'none', print, signal } = options;
  const started = performance.now();
  await using harness = await ForgeChaosHarness.start(fixtures[forge], {
    seed,
    random: new Random(mix(seed, 2)),
    plant: plants[plant],
  });
  const { fixture, verifier } = harness;
  const random = new Random(mix(seed, 1));
  const users = new Users(fixture, verifier, random, harness);
  const history: string[] = [];
  let [taken, settles, converged] = [0, 0, 0];

  const settle = async (): Promise<void> => {
    fixture.stopFaults();
    settles += 1;
    const differences = await untilSettled(harness, users.deletedReports);
    if (differences.length === 0) converged += 1;
    verifier.violations.push(...differences);
  };

  fixture.startFaults();
  while (taken < steps && verifier.violations.length === 0) {
    signal.throwIfAborted();
    history.push(`${taken} ${await takeStep(harness, users, random)}`);
    if (history.length > historyLines) history.shift();
    taken += 1;
    if (taken % progressEvery === 0)
      print(`${taken} of ${steps} steps, ${fixture.faults} faults, ${Math.round((performance.now() - started) / 1000)} s`);
    if (taken % settleEvery !== 0 || verifier.violations.length > 0) continue;
    await settle();
    fixture.startFaults();
  }
  if (verifier.violations.length === 0) {
    await users.closeAll();
    await settle();
  }
  const { requests, faults } = fixture;
  const { removals, violations, pulls } = verifier;
  return { steps: taken, requests, faults, pulls: pulls.length, removals, settles, converged, violations, history };
};

/** Advances the clock, performs one user action and perhaps wakes Eph, often while Eph is still reconciling. */
const takeStep = async (harness: ForgeChaosHarness, users: Users, random: Random): Promise<string> => {
  // Forges report times in whole seconds: events within one second have no order.
  harness.clock.advance(2_000 + random.below(6_000));
  const turns = random.chance(0.4) ? random.below(30) : undefined;
  if (turns === undefined) await harness.engine.idle();
  for (let turn = 0; turn < (turns ?? 0); turn += 1) await nextTurn();
  const what = await users.act();
  if (random.chance(0.5)) harness.wake();
  await harness.engine.idle();
  harness.releaseUnwanted();
  return turns === undefined ? what : `${what}, meanwhile`;
};

const untilSettled = async (
  harness: ForgeChaosHarness,
  deletedReports: ReadonlyMap<number, number>,
): Promise<readonly Violation[]> => {
  const until = harness.clock.now() + settleWithinSeconds * 1000;
  for (;;) {
    await harness.advance(20);
    harness.releaseUnwanted();
    const differences = await findDifferences(harness, deletedReports);
    if (differences.length === 0 || harness.clock.now() > until) return differences;
  }
};
