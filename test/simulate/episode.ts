import { massDeletion, pushPreview, pushPreviews, takeStep } from './faults.ts';
import { SimulationHarness } from './harness.ts';
import type { Violation } from './invariants.ts';
import type { Plant } from './plants.ts';
import { runQuiet, runWithOneAway } from './quiet.ts';
import { digestText, mix, Random } from './random.ts';

/** Previews are pushed; one step among faults; a project loses refs; or faults stop, for all providers or all but one. */
export interface Step {
  readonly type: 'push' | 'push many' | 'fault' | 'mass deletion' | 'one away' | 'quiet';
  readonly seed: number;
}

export interface Episode {
  readonly violation: Violation | undefined;
  /** How far it got before the violation. */
  readonly taken: number;
  /** Everything that happened, in order. */
  readonly history: readonly string[];
  readonly digest: number;
  /** The most passes any quiet phase needed. */
  readonly passes: number;
}

/** Begins the lines of history that are not steps: in a quiet phase, calls go on without faults and time passes. */
export const quietMark = '  ';

const faultPhases = 3;

const faultSteps = { push: pushPreview, 'push many': pushPreviews, fault: takeStep, 'mass deletion': massDeletion } as const;

/** The steps of an episode: pushes, then phases of faults, each followed by a quiet phase, perhaps first with one provider away. */
export const stepsOf = (seed: number): readonly Step[] => {
  const random = new Random(mix(seed, 1));
  const types: Step['type'][] = Array.from({ length: random.pick([0, 10, 20, 40]) }, () => 'push');
  const addFaults = (count: number): void => {
    for (let index = 0; index < count; index += 1) types.push('fault');
  };
  const addQuiet = (awayChance: number): void => {
    if (random.chance(awayChance)) types.push('one away');
    types.push('quiet');
  };
  addQuiet(0);
  for (let phase = 0; phase < faultPhases; phase += 1) {
    addFaults(100 + random.below(500));
    const losesMany = random.chance(0.6);
    if (losesMany) types.push('push many');
    addQuiet(0.7);
    if (!losesMany) continue;
    types.push('mass deletion');
    addFaults(random.below(50));
    addQuiet(0.4);
  }
  return types.map((type, index) => ({ type, seed: mix(seed, index + 2) }));
};

/** Runs an episode, or part of one. The same seed and steps give the same history. */
export const runEpisode = async (
  seed: number,
  steps: readonly Step[],
  plant: Plant,
  limit = Number.POSITIVE_INFINITY,
): Promise<Episode> => {
  const harness = new SimulationHarness(seed, plant);
  const history: string[] = [];
  let digest = 0;
  let taken = 0;
  let passes = 0;
  const note = async (line: string): Promise<void> => {
    await harness.untilBlocked();
    history.push(line);
    digest = digestText(digest, line);
  };
  harness.start();
  await note('start');
  for (const step of steps) {
    if (harness.invariants.violation !== undefined || history.length >= limit) break;
    taken += 1;
    if (step.type === 'quiet' || step.type === 'one away') {
      const run = step.type === 'quiet' ? runQuiet : runWithOneAway;
      passes = Math.max(passes, await run(harness, new Random(step.seed), (line) => note(`${quietMark}${line}`)));
    } else await note(faultSteps[step.type](harness, step.seed));
  }
  return { violation: harness.invariants.violation, taken, history, digest, passes };
};
