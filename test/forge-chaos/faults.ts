import type { Failure } from '../parts/emulation/failures.ts';

/** What happens to answers, and to which share of them. */
export interface Fault<F> {
  readonly failure: F;
  readonly share: number;
  /** The request takes effect and only its answer is lost. */
  readonly takesEffect?: boolean;
}

/** One in ten fails… */
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

/** …and one in twenty arrives, but not all of it. */
const truncated: readonly Fault<Failure>[] = [
  { failure: { kind: 'truncated', ending: 'broken' }, share: 0.015 },
  { failure: { kind: 'truncated', ending: 'clean' }, share: 0.015 },
  { failure: { kind: 'empty-page' }, share: 0.02 },
];

/** What every forge does. Each adds what only it does, until one in ten fails. */
export const commonFaults = [...failing, ...truncated];

/** As rules of which the first that falls counts: what is left for a later one is less than all. */
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
