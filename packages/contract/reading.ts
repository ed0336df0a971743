import type { Failure } from './errors.ts';

/**
 * What was seen of the world, and whether that was all of it.
 * An item that is missing from an incomplete reading is unknown, never gone.
 */
export interface Reading<T> {
  readonly items: readonly T[];
  readonly complete: boolean;
  /** Why the reading is incomplete. Empty when it is complete. */
  readonly faults: readonly Failure[];
}

export const completeReading = <T>(items: readonly T[]): Reading<T> => ({ items, complete: true, faults: [] });

export const incompleteReading = <T>(items: readonly T[], ...faults: readonly Failure[]): Reading<T> => ({
  items,
  complete: false,
  faults,
});
