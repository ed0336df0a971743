import { shuffle } from './seeded-random.ts';
import type { StepCounts } from './step-counts.ts';
import type { Boundary } from './step-watch.ts';

/** Where ephd is to be stopped, in this order. */
export interface Boundaries {
  /** Around steps that are made only on the first start over a data folder. One that was passed does not come back. */
  readonly firstStart: readonly Boundary[];
  readonly lifecycle: readonly Boundary[];
}

const mostOccurrences = 4;

/** Both sides of every step. One that is made several times is stopped at one of the first of them. */
export const orderBoundaries = ({ firstStart, lifecycle }: StepCounts, random: () => number): Boundaries => {
  const bothSides = ([step, count]: readonly [string, number]): readonly Boundary[] =>
    (['before', 'after'] as const).map((side) => ({
      step,
      side,
      occurrence: 1 + Math.floor(random() * Math.min(count, mostOccurrences)),
    }));
  return {
    firstStart: [...firstStart].filter(([step]) => !lifecycle.has(step)).flatMap(bothSides),
    // Sorted first: the order in which steps were seen depends on how fast the machine was.
    lifecycle: shuffle([...lifecycle].toSorted(([a], [b]) => (a < b ? -1 : 1)).flatMap(bothSides), random),
  };
};

/** What one of several workers gets of them. */
export const shareBoundaries = ({ firstStart, lifecycle }: Boundaries, worker: number, workers: number): Boundaries => {
  const isShared = (_: Boundary, index: number): boolean => index % workers === worker;
  return { firstStart: firstStart.filter(isShared), lifecycle: lifecycle.filter(isShared) };
};
