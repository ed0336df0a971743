import type { Lease, LeaseState } from '@eph/engine/history/lease';

/** Runs the loop while this ephd holds the lease. Transitions run one after the other, so there are never two loops. */
export class Leadership {
  state: LeaseState | { readonly state: 'undecided' } = { state: 'undecided' };
  readonly #lead: () => void;
  readonly #stop: () => Promise<void>;
  #transitions: Promise<void> = Promise.resolve();
  #leading = false;

  constructor(lead: () => void, stop: () => Promise<void>) {
    this.#lead = lead;
    this.#stop = stop;
  }

  /** For a local store, which no other ephd shares. */
  take(): void {
    this.#become({ state: 'leading' });
  }

  hold(lease: Lease, holder: string, signal: AbortSignal): Promise<void> {
    return lease.hold(holder, (state) => this.#become(state), signal);
  }

  async close(): Promise<void> {
    this.#set(false);
    await this.#transitions;
  }

  #become(state: LeaseState): void {
    this.state = state;
    this.#set(state.state === 'leading' || (state.state === 'degraded' && state.leading));
  }

  #set(leading: boolean): void {
    this.#transitions = this.#transitions.then(async () => {
      if (this.#leading === leading) return;
      this.#leading = leading;
      if (leading) this.#lead();
      else await this.#stop();
    });
  }
}
