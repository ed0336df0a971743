import { shuffle } from './seeded-random.ts';
import type { StepCounts } from './step-counts.ts';
import type { Boundary } from './step-watch.ts';

/** Where to kill ephd, in this order. */
export interface Boundaries {
  /** Around steps that happen only on the first start over a data folder; once passed, they do not happen again. */
  readonly firstStart: readonly Boundary[];
  readonly lifecycle: readonly Boundary[];
}

const mostOccurrences = 4;

/** Both sides of every step. For a step that happens several times, one of the first occurrences is chosen. */
export const orderBoundaries = ({ firstStart, lifecycle }: StepCounts, random: () => number): Boundaries => {
  const bothSides = ([step, count]: readonly [string, number]): readonly Boundary[] =>
    (['before', 'after'] as const).map((side) => ({
      step,
      side,
      occurrence: 1 + Math.floor(random() * Math.min(count, mostOccurrences)),
    }));
  return {
    firstStart: [...firstStart].filter(([step]) => !lifecycle.has(step)).flatMap(bothSides),
    // Sorted first: the order in which steps were recorded depends on the speed of the machine.
    lifecycle: shuffle([...lifecycle].toSorted(([a], [b]) => (a < b ? -1 : 1)).flatMap(bothSides), random),
  };
};

/** The share of one worker. */
export const shareBoundaries = ({ firstStart, lifecycle }: Boundaries, worker: number, workers: number): Boundaries => {
  const isShared = (_: Boundary, index: number): boolean => index % workers === worker;
  return { firstStart: firstStart.filter(isShared), lifecycle: lifecycle.filter(isShared) };
};
