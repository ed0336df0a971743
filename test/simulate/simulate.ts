import { calmMark, type Life, live, type Step, stepsOf } from './life.ts';
import { type PlantName, plants } from './plants.ts';
import { digestText, mix } from './random.ts';
import { shrink } from './shrink.ts';
import type { Violation } from './witness.ts';

export interface SimulationOptions {
  readonly seed: number;
  readonly steps: number;
  readonly plant?: PlantName;
  /** Begin with this life instead of the first. */
  readonly life?: number;
}

export interface Simulation {
  /** Things that happened, each followed by a check of every invariant. */
  readonly steps: number;
  readonly lives: number;
  /** The same for the same seed. */
  readonly digest: number;
  /** The most passes the world needed to converge. */
  readonly passes: number;
  readonly finding: Finding | undefined;
}

export interface Finding {
  readonly violation: Violation;
  readonly plant: PlantName;
  readonly life: number;
  readonly seedOfLife: number;
  /** Up to and including the one that showed it. */
  readonly steps: readonly Step[];
}

/** Steps that the search for a shorter history may take. */
const shrinkBudget = 3_000_000;

/** Lives one life after the other, each in a town of its own, until so many steps are taken or something happens that must not. */
export const simulate = async (options: SimulationOptions): Promise<Simulation> => {
  const name = options.plant ?? 'none';
  let steps = 0;
  let digest = 0;
  let passes = 0;
  let life = options.life ?? 0;
  for (; steps < options.steps; life += 1) {
    const seed = mix(options.seed, life);
    const program = stepsOf(seed);
    const lived = await live(seed, program, plants[name], options.steps - steps);
    steps += lived.history.length;
    digest = digestText(digest, String(lived.digest));
    passes = Math.max(passes, lived.passes);
    if (lived.violation !== undefined) {
      const finding = { violation: lived.violation, plant: name, life, seedOfLife: seed, steps: program.slice(0, lived.taken) };
      return { steps, lives: life + 1, digest, passes, finding };
    }
  }
  return { steps, lives: life, digest, passes, finding: undefined };
};

/** The shortest history found, for people: of what goes on undisturbed, only the end matters. */
export const tellShortest = async (finding: Finding): Promise<string> => {
  const { history, violation } = await shortestLife(finding);
  const told: string[] = [];
  let undisturbed = 0;
  for (const [index, line] of history.entries()) {
    undisturbed = line.startsWith(calmMark) ? undisturbed + 1 : 0;
    if (undisturbed <= 1 || index >= history.length - 40) told.push(`${String(index).padStart(5)}  ${line}`);
    else if (undisturbed === 2) told.push(`       ${calmMark}…`);
  }
  return [...told, `so that ${violation?.message}`].join('\n');
};

/** The shortest life found that ends with the same violation. */
export const shortestLife = async ({ violation, plant, seedOfLife, steps }: Finding): Promise<Life> => {
  const fails = async (some: readonly Step[]): Promise<{ failed: boolean; cost: number }> => {
    const lived = await live(seedOfLife, some, plants[plant]);
    return { failed: lived.violation?.invariant === violation.invariant, cost: lived.history.length };
  };
  const few = await shrink(steps, fails, shrinkBudget);
  return live(seedOfLife, few, plants[plant]);
};
