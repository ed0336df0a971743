import type { Failure } from '../parts/emulation/failures.ts';

/** A failure, and the share of answers that it affects. */
export interface Fault<F> {
  readonly failure: F;
  readonly share: number;
  /** The request takes effect; only its answer is lost. */
  readonly takesEffect?: boolean;
}

/** One answer in ten fails. */
const failing: readonly Fault<Failure>[] = [
  { failure: { kind: 'reset' }, share: 0.02 },
  { failure: { kind: 'reset' }, share: 0.02, takesEffect: true },
  { failure: { kind: 'status', status: 502 }, share: 0.025 },
  { failure: { kind: 'status', status: 502 }, share: 0.01, takesEffect: true },
  { failure: { kind: 'status', status: 500 }, share: 0.005 },
  { failure: { kind: 'status', status: 503 }, share: 0.005 },
  { failure: { kind: 'status', status: 401 }, share: 0.001 },
  { failure: { kind: 'slow', delayMs: 5 }, share: 0.002 },
];

/** One answer in twenty is truncated. */
const truncated: readonly Fault<Failure>[] = [
  { failure: { kind: 'truncated', ending: 'broken' }, share: 0.015 },
  { failure: { kind: 'truncated', ending: 'clean' }, share: 0.015 },
  { failure: { kind: 'empty-page' }, share: 0.02 },
];

/** Faults of every forge. Each fixture adds its own, up to one failure in ten. */
export const commonFaults = [...failing, ...truncated];

/** The first rule that matches wins, so the probability of each rule is relative to what the rules before it leave. */
export const toRules = <F>(
  faults: readonly Fault<F>[],
): readonly { readonly failure: F; readonly probability: number; readonly takesEffect: boolean }[] => {
  let left = 1;
  return faults.map(({ failure, share, takesEffect = false }) => {
    const probability = share / left;
    left -= share;
    return { failure, probability, takesEffect };
  });
};
