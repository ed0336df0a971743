/** One measured figure. Ratios are against a baseline measured in the same run. */
export interface Figure {
  readonly name: string;
  /** Null when it could not be measured here; `note` says why. */
  readonly value: number | null;
  readonly unit: string;
  /** Null when the figure is only reported. */
  readonly goal: string | null;
  /** Null when there is no goal, or nothing to hold against it. */
  readonly met: boolean | null;
  readonly note?: string;
}

export const atMost = (name: string, value: number, limit: number, unit = 'ratio'): Figure => ({
  name,
  value: round(value),
  unit,
  goal: `at most ${limit}`,
  met: value <= limit,
});

export const atLeast = (name: string, value: number, limit: number, unit = 'ratio'): Figure => ({
  name,
  value: round(value),
  unit,
  goal: `at least ${limit}`,
  met: value >= limit,
});

export const reported = (name: string, value: number, unit = 'ratio'): Figure => ({
  name,
  value: round(value),
  unit,
  goal: null,
  met: null,
});

export const missing = (name: string, note: string): Figure => ({
  name,
  value: null,
  unit: 'ratio',
  goal: null,
  met: null,
  note,
});

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low, high] = sorted.length % 2 === 1 ? [sorted[middle], sorted[middle]] : [sorted[middle - 1], sorted[middle]];
  if (low === undefined || high === undefined) throw new Error('nothing was measured');
  return (low + high) / 2;
};

const round = (value: number): number => Number(value.toPrecision(3));
