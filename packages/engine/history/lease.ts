/**
 * Who reconciles, when several ephd share a store.
 *
 * Contract
 * - `hold` keeps trying until the signal aborts: it calls `changed('leading')` when this holder got the lease,
 *   `changed('standby')` when another has it, and `changed('degraded')` when the store cannot say.
 * - Two holders that both reach the store never lead at the same time, apart from the moment between losing the lease and
 *   noticing, which is shorter than the renewal interval.
 * - A holder that is killed is replaced within its time to live.
 * - A holder that aborts gives the lease up at once.
 * - A store that does not answer changes who leads for nobody: a leader goes on (`degraded`), a standby stays standby; a
 *   holder that never had an answer leads degraded, because one ephd without its store must still work. Effects are idempotent, so
 *   two leaders cost work, not correctness.
 */
export interface Lease {
  hold(holder: string, changed: (state: LeaseState) => void, signal: AbortSignal): Promise<void>;
}

export type LeaseState =
  | { readonly state: 'leading' }
  | { readonly state: 'standby'; readonly holder: string }
  | { readonly state: 'degraded'; readonly leading: boolean; readonly message: string };
