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
  /** Equal marks of two complete readings mean equal items, as with an entity tag. Absent where the reader cannot tell. */
  readonly mark?: string;
}

export const completeReading = <T>(items: readonly T[], mark?: string): Reading<T> => ({
  items,
  complete: true,
  faults: [],
  ...(mark === undefined ? {} : { mark }),
});

export const incompleteReading = <T>(items: readonly T[], ...faults: readonly Failure[]): Reading<T> => ({
  items,
  complete: false,
  faults,
});
