import type { Rehearsal } from './rehearsal.ts';
import { shuffle } from './seeded-random.ts';
import type { Boundary } from './step-watch.ts';

/** Where ephd is to be stopped, in this order. */
export interface Boundaries {
  /** Around steps that are made only on the first start over a data folder. One that was passed does not come back. */
  readonly firstStart: readonly Boundary[];
  readonly life: readonly Boundary[];
}

const mostOccurrences = 4;

/** Both sides of every step. One that is made several times is stopped at one of the first of them. */
export const orderBoundaries = ({ firstStart, life }: Rehearsal, random: () => number): Boundaries => {
  const bothSides = ([step, count]: readonly [string, number]): readonly Boundary[] =>
    (['before', 'after'] as const).map((side) => ({
      step,
      side,
      occurrence: 1 + Math.floor(random() * Math.min(count, mostOccurrences)),
    }));
  return {
    firstStart: [...firstStart].filter(([step]) => !life.has(step)).flatMap(bothSides),
    // Sorted first: the order in which steps were seen depends on how fast the machine was.
    life: shuffle([...life].toSorted(([a], [b]) => (a < b ? -1 : 1)).flatMap(bothSides), random),
  };
};

/** What one of several towns gets of them. */
export const dealBoundaries = ({ firstStart, life }: Boundaries, town: number, towns: number): Boundaries => {
  const isDealt = (_: Boundary, index: number): boolean => index % towns === town;
  return { firstStart: firstStart.filter(isDealt), life: life.filter(isDealt) };
};
