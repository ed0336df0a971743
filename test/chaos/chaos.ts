import { orderBoundaries, shareBoundaries } from './boundaries.ts';
import { ChaosHarness, type HarnessResult } from './chaos-harness.ts';
import { planRun } from './plan.ts';
import { seededRandom } from './seeded-random.ts';
import { countSteps } from './step-counts.ts';
import type { WorldKind } from './world.ts';

export interface ChaosOptions {
  readonly worlds: WorldKind;
  readonly kills: number;
  readonly seed: number;
  /** How many repositories are tested at the same time, each with its own ephd. */
  readonly workers: number;
  readonly print: (line: string) => void;
  readonly signal: AbortSignal;
}

export interface ChaosResult {
  readonly kills: number;
  readonly settles: number;
  readonly converged: number;
  readonly orphans: number;
  readonly doubles: number;
  readonly wrongDeletions: number;
  readonly faults: number;
}

const progressEvery = 10;

/** Kills ephd over and over while branches are created, updated and deleted, and checks that it converges every time. */
export const runChaos = async ({ worlds, kills, seed, workers, print, signal }: ChaosOptions): Promise<ChaosResult> => {
  const started = performance.now();
  const boundaries = orderBoundaries(await countSteps(worlds), seededRandom(seed));
  signal.throwIfAborted();
  const count = boundaries.firstStart.length + boundaries.lifecycle.length;
  print(`${count} step boundaries, ${kills} kills, ${workers} workers, seed ${seed}`);
  let killed = 0;
  const progress = (): void => {
    killed += 1;
    if (killed % progressEvery === 0 && killed <= kills)
      print(`${killed} of ${kills} kills, ${Math.round((performance.now() - started) / 1000)} s`);
  };
  const shares = Array.from({ length: workers }, (_, worker) => Math.floor(kills / workers) + (worker < kills % workers ? 1 : 0));
  const results = await Promise.all(
    shares.map((share, worker) => {
      // A random generator per worker: the speed of the others must not change the plan of this one.
      const random = seededRandom(seed * 1_000 + worker);
      const { shapes } = worlds;
      const batches = planRun({ shapes, boundaries: shareBoundaries(boundaries, worker, workers), kills: share, random });
      return ChaosHarness.run(worlds, batches, progress, signal);
    }),
  );
  const reached = new Set(results.flatMap((one) => one.boundaries.map(({ side, step }) => `${side} ${step}`)));
  print([...new Set(results.map(({ description }) => description))].join(' and '));
  print(`stopped at ${reached.size} of ${count} step boundaries`);
  for (const [worker, result] of results.entries()) if (result.folder !== undefined) printFaults(worker, result, seed, print);
  const sum = (count: (one: HarnessResult) => number): number => results.reduce((total, one) => total + count(one), 0);
  return {
    kills: sum((one) => one.kills),
    settles: sum((one) => one.settles),
    converged: sum((one) => one.converged),
    orphans: sum((one) => one.orphans.length),
    doubles: sum((one) => one.doubles.length),
    wrongDeletions: sum((one) => one.wrongDeletions.length),
    faults: sum((one) => one.faults.length),
  };
};

const printFaults = (worker: number, result: HarnessResult, seed: number, print: (line: string) => void): void => {
  print(`\nworker ${worker}, seed ${seed}, folder kept in ${result.folder}\n`);
  for (const line of result.history) print(line);
  for (const one of result.orphans) print(`orphan: ${one}`);
  for (const one of result.doubles) print(`double: ${one}`);
  for (const one of result.wrongDeletions) print(`wrong deletion: ${one}`);
  for (const one of result.faults) print(`fault: ${one}`);
};
