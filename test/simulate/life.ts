import { quiet } from './calls.ts';
import { calmDown } from './calm.ts';
import type { Plant } from './plants.ts';
import { digestText, mix, Random } from './random.ts';
import { exodus, pushPreview, takeStep } from './storm.ts';
import { Town } from './town.ts';
import type { Violation } from './witness.ts';

/** A preview comes; one decision among faults; a project loses its refs; or faults stop and the world has to converge. */
export interface Step {
  readonly type: 'push' | 'storm' | 'exodus' | 'calm';
  readonly seed: number;
}

export interface Life {
  readonly violation: Violation | undefined;
  /** How far it got before the violation. */
  readonly taken: number;
  /** Everything that happened, in order. */
  readonly history: readonly string[];
  readonly digest: number;
  /** The most passes any calm needed. */
  readonly passes: number;
}

/** How a line of history begins that nobody decided: calls going on undisturbed, and time passing. */
export const calmMark = '  ';

const storms = 3;

const deeds = { push: pushPreview, storm: takeStep, exodus } as const;

/** The decisions of a whole life: it begins with something to lose, then storms come, each followed by a calm. */
export const stepsOf = (seed: number): readonly Step[] => {
  const random = new Random(mix(seed, 1));
  const types: Step['type'][] = Array.from({ length: random.pick([0, 20, 40, 40]) }, () => 'push');
  types.push('calm');
  for (let storm = 0; storm < storms; storm += 1) {
    const length = 50 + random.below(300);
    for (let index = 0; index < length; index += 1) types.push('storm');
    if (random.chance(0.6)) types.push('exodus');
    types.push('calm');
  }
  return types.map((type, index) => ({ type, seed: mix(seed, index + 2) }));
};

/** Lives a life, or part of one: the same seed and steps give the same history. */
export const live = async (
  seed: number,
  steps: readonly Step[],
  plant: Plant,
  limit = Number.POSITIVE_INFINITY,
): Promise<Life> => {
  const town = new Town(seed, plant);
  const history: string[] = [];
  let digest = 0;
  let taken = 0;
  let passes = 0;
  const note = async (line: string): Promise<void> => {
    await quiet();
    history.push(line);
    digest = digestText(digest, line);
  };
  town.start();
  await note('start');
  for (const step of steps) {
    if (town.witness.violation !== undefined || history.length >= limit) break;
    taken += 1;
    if (step.type === 'calm')
      passes = Math.max(passes, await calmDown(town, new Random(step.seed), (line) => note(`${calmMark}${line}`)));
    else await note(deeds[step.type](town, step.seed));
  }
  return { violation: town.witness.violation, taken, history, digest, passes };
};
