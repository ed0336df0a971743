import { dealBoundaries, orderBoundaries } from './boundaries.ts';
import { planRun } from './plan.ts';
import { rehearse } from './rehearsal.ts';
import { seededRandom } from './seeded-random.ts';
import { Town, type TownResult } from './town.ts';

export interface ChaosOptions {
  readonly kills: number;
  readonly seed: number;
  /** How many repositories, each with an ephd of its own, at the same time. */
  readonly towns: number;
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

/** Kills ephd over and over while branches come, change and go, and says whether Git was obeyed all the same. */
export const runChaos = async ({ kills, seed, towns, print, signal }: ChaosOptions): Promise<ChaosResult> => {
  const started = performance.now();
  const boundaries = orderBoundaries(await rehearse(), seededRandom(seed));
  signal.throwIfAborted();
  const count = boundaries.firstStart.length + boundaries.life.length;
  print(`${count} step boundaries, ${kills} kills, ${towns} towns, seed ${seed}`);
  let killed = 0;
  const progress = (): void => {
    killed += 1;
    if (killed % progressEvery === 0 && killed <= kills)
      print(`${killed} of ${kills} kills, ${Math.round((performance.now() - started) / 1000)} s`);
  };
  const shares = Array.from({ length: towns }, (_, town) => Math.floor(kills / towns) + (town < kills % towns ? 1 : 0));
  const results = await Promise.all(
    shares.map((share, town) => {
      // Each town has randomness of its own: how fast the others are must not change what happens in it.
      const random = seededRandom(seed * 1_000 + town);
      return Town.live(planRun({ boundaries: dealBoundaries(boundaries, town, towns), kills: share, random }), progress, signal);
    }),
  );
  const met = new Set(results.flatMap((one) => one.boundaries.map(({ side, step }) => `${side} ${step}`)));
  print(`stopped at ${met.size} of ${count} step boundaries`);
  for (const [town, result] of results.entries()) if (result.folder !== undefined) printFaults(town, result, seed, print);
  const sum = (count: (one: TownResult) => number): number => results.reduce((total, one) => total + count(one), 0);
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

const printFaults = (town: number, result: TownResult, seed: number, print: (line: string) => void): void => {
  print(`\ntown ${town}, seed ${seed}, its folder is kept in ${result.folder}\n`);
  for (const line of result.history) print(line);
  for (const one of result.orphans) print(`orphan: ${one}`);
  for (const one of result.doubles) print(`double: ${one}`);
  for (const one of result.wrongDeletions) print(`wrong deletion: ${one}`);
  for (const one of result.faults) print(`fault: ${one}`);
};
