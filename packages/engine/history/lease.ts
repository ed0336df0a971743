/**
 * Decides which ephd reconciles when several share a store.
 *
 * Contract
 * - `hold` keeps trying until the signal aborts. It calls `changed` with `leading` when this holder has the lease,
 *   `standby` when another has it, and `degraded` when the store does not answer.
 * - Two holders that both reach the store never lead at the same time, except between losing the lease and noticing,
 *   which is shorter than the renewal interval.
 * - A holder that is killed is replaced within its time to live. A holder that aborts releases the lease at once.
 * - An unreachable store does not change who leads: a leader goes on (`degraded`), a standby stays standby. A holder
 *   that never had an answer leads degraded, because one ephd without its store must still work. Effects are idempotent,
 *   so two leaders cost work, not correctness.
 */
export interface Lease {
  hold(holder: string, changed: (state: LeaseState) => void, signal: AbortSignal): Promise<void>;
}

export type LeaseState =
  | { readonly state: 'leading' }
  | { readonly state: 'standby'; readonly holder: string }
  | { readonly state: 'degraded'; readonly leading: boolean; readonly message: string };
