import { type Episode, quietMark, runEpisode, type Step, stepsOf } from './episode.ts';
import type { Violation } from './invariants.ts';
import { type PlantName, plants } from './plants.ts';
import { digestText, mix } from './random.ts';
import { shrink } from './shrink.ts';

export interface SimulationOptions {
  readonly seed: number;
  readonly steps: number;
  readonly plant?: PlantName;
  /** Begin with this episode instead of the first. */
  readonly episode?: number;
}

export interface Simulation {
  /** Lines of history, each followed by a check of the invariants. */
  readonly steps: number;
  readonly episodes: number;
  /** The same for the same seed. */
  readonly digest: number;
  /** The most passes that a quiet phase needed to converge. */
  readonly passes: number;
  readonly finding: Finding | undefined;
}

export interface Finding {
  readonly violation: Violation;
  readonly plant: PlantName;
  readonly episode: number;
  readonly seedOfEpisode: number;
  /** Up to and including the one that showed it. */
  readonly steps: readonly Step[];
}

/** Steps that the search for a shorter history may take. */
const shrinkBudget = 3_000_000;

/** Runs episodes, each with its own harness, until enough steps are taken or an invariant is violated. */
export const simulate = async (options: SimulationOptions): Promise<Simulation> => {
  const name = options.plant ?? 'none';
  let steps = 0;
  let digest = 0;
  let passes = 0;
  let episode = options.episode ?? 0;
  for (; steps < options.steps; episode += 1) {
    const seed = mix(options.seed, episode);
    const program = stepsOf(seed);
    const ran = await runEpisode(seed, program, plants[name], options.steps - steps);
    steps += ran.history.length;
    digest = digestText(digest, String(ran.digest));
    passes = Math.max(passes, ran.passes);
    if (ran.violation !== undefined) {
      const finding = { violation: ran.violation, plant: name, episode, seedOfEpisode: seed, steps: program.slice(0, ran.taken) };
      return { steps, episodes: episode + 1, digest, passes, finding };
    }
  }
  return { steps, episodes: episode, digest, passes, finding: undefined };
};

/** The shortest history found. Of quiet phases, only the last lines are printed. */
export const printShortest = async (finding: Finding): Promise<string> => {
  const { history, violation } = await shortestEpisode(finding);
  const lines: string[] = [];
  let quietLines = 0;
  for (const [index, line] of history.entries()) {
    quietLines = line.startsWith(quietMark) ? quietLines + 1 : 0;
    if (quietLines <= 1 || index >= history.length - 40) lines.push(`${String(index).padStart(5)}  ${line}`);
    else if (quietLines === 2) lines.push(`       ${quietMark}…`);
  }
  return [...lines, `so that ${violation?.message}`].join('\n');
};

/** The shortest episode found that ends with the same violation. */
export const shortestEpisode = async ({ violation, plant, seedOfEpisode, steps }: Finding): Promise<Episode> => {
  const fails = async (some: readonly Step[]): Promise<{ failed: boolean; cost: number }> => {
    const ran = await runEpisode(seedOfEpisode, some, plants[plant]);
    return { failed: ran.violation?.invariant === violation.invariant, cost: ran.history.length };
  };
  const few = await shrink(steps, fails, shrinkBudget);
  return runEpisode(seedOfEpisode, few, plants[plant]);
};
