import type { ProviderName } from '@eph/contract';
import { type Call, isGivenUp } from './calls.ts';

/**
 * Which calls are one listing of all providers, and which answers the engine ignores. It gives up on a provider that does not answer in
 * time; the next listing of everything only finds out whether that provider answers again.
 */
export class ListingCalls {
  readonly #underWay = new Map<ProviderName, Set<Call>>();
  readonly #hanging = new Set<ProviderName>();
  readonly #beginning = new Set<string>();
  readonly #probes = new WeakSet<Call>();

  /** Returns whether a new listing of all providers begins: the engine asks them without waiting in between. */
  begins(provider: ProviderName, call: Call): boolean {
    this.#noteGivenUp(provider);
    if (this.#hanging.has(provider)) this.#probes.add(call);
    this.#callsTo(provider).add(call);
    if (this.#beginning.has(call.key)) return false;
    this.#beginning.add(call.key);
    queueMicrotask(() => this.#beginning.delete(call.key));
    return true;
  }

  ends(provider: ProviderName, call: Call): void {
    this.#noteGivenUp(provider);
    this.#callsTo(provider).delete(call);
    if (this.#probes.has(call)) this.#hanging.delete(provider);
  }

  isIgnored(call: Call): boolean {
    return this.#probes.has(call) || (call.operation === 'list' && call.signal?.aborted === true);
  }

  #noteGivenUp(provider: ProviderName): void {
    for (const call of this.#callsTo(provider)) {
      if (!isGivenUp(call)) continue;
      this.#callsTo(provider).delete(call);
      this.#hanging.add(provider);
    }
  }

  #callsTo(provider: ProviderName): Set<Call> {
    let calls = this.#underWay.get(provider);
    if (calls === undefined) this.#underWay.set(provider, (calls = new Set()));
    return calls;
  }
}
