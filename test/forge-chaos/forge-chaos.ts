import { setImmediate as nextTurn } from 'node:timers/promises';
import { mix, Random } from '../simulate/random.ts';
import { findDifferences } from './differences.ts';
import { startGitea } from './gitea-hosting.ts';
import { startGithub } from './github-hosting.ts';
import { startGitlab } from './gitlab-hosting.ts';
import { People } from './people.ts';
import { type PlantName, plants } from './plants.ts';
import { Town } from './town.ts';
import type { Violation } from './witness.ts';

export const hostings = { github: startGithub, gitlab: startGitlab, gitea: startGitea } as const;

export interface ForgeChaosOptions {
  readonly forge: keyof typeof hostings;
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
  /** How often failures stopped, and how often the world became what the forge says. */
  readonly settles: number;
  readonly converged: number;
  readonly violations: readonly Violation[];
  /** What happened last, for people. */
  readonly history: readonly string[];
}

const settleEvery = 250;
const historyLines = 60;
/** A report that failed over and over comes back at the latest after the longest pause of the queue. */
const settleWithinSeconds = 3_000;
const progressEvery = 1_000;

/** People work in a repository whose forge fails and lies by omission; what Eph makes of it is compared with the truth. */
export const runForgeChaos = async (options: ForgeChaosOptions): Promise<ForgeChaosResult> => {
  const { forge, steps, seed, plant = 'none', print, signal } = options;
  const started = performance.now();
  await using town = await Town.start(hostings[forge], { seed, random: new Random(mix(seed, 2)), plant: plants[plant] });
  const { hosting, witness } = town;
  const random = new Random(mix(seed, 1));
  const people = new People(hosting, witness, random, (report) => town.isDelivered(report));
  const history: string[] = [];
  let [taken, settles, converged] = [0, 0, 0];

  const settle = async (): Promise<void> => {
    hosting.endStorm();
    settles += 1;
    const differences = await untilSettled(town, people.silenced);
    if (differences.length === 0) converged += 1;
    witness.violations.push(...differences);
  };

  hosting.startStorm();
  while (taken < steps && witness.violations.length === 0) {
    signal.throwIfAborted();
    history.push(`${taken} ${await takeStep(town, people, random)}`);
    if (history.length > historyLines) history.shift();
    taken += 1;
    if (taken % progressEvery === 0)
      print(`${taken} of ${steps} steps, ${hosting.faults} faults, ${Math.round((performance.now() - started) / 1000)} s`);
    if (taken % settleEvery !== 0 || witness.violations.length > 0) continue;
    await settle();
    hosting.startStorm();
  }
  if (witness.violations.length === 0) {
    await people.closeAll();
    await settle();
  }
  const { requests, faults } = hosting;
  const { removals, violations, pulls } = witness;
  return { steps: taken, requests, faults, pulls: pulls.length, removals, settles, converged, violations, history };
};

/** Some time passes, somebody does something, and Eph may hear of it at once; often it is in the middle of its work then. */
const takeStep = async (town: Town, people: People, random: Random): Promise<string> => {
  // Forges tell the time in seconds: what happens within one has no order.
  town.clock.advance(2_000 + random.below(6_000));
  const turns = random.chance(0.4) ? random.below(30) : undefined;
  if (turns === undefined) await town.engine.idle();
  for (let turn = 0; turn < (turns ?? 0); turn += 1) await nextTurn();
  const what = await people.act();
  if (random.chance(0.5)) town.wake();
  await town.engine.idle();
  town.releaseUnwanted();
  return turns === undefined ? what : `${what}, meanwhile`;
};

const untilSettled = async (town: Town, silenced: ReadonlySet<number>): Promise<readonly Violation[]> => {
  const until = town.clock.now() + settleWithinSeconds * 1000;
  for (;;) {
    await town.live(20);
    town.releaseUnwanted();
    const differences = await findDifferences(town, silenced);
    if (differences.length === 0 || town.clock.now() > until) return differences;
  }
};
