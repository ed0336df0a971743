import { hash } from 'node:crypto';

const windowMs = 10 * 60_000;
const mostKept = 10_000;

/**
 * The bodies of the last ten minutes, so that one that is sent again wakes nothing. By what they say and not by the id that forges
 * put beside them: no forge signs that, so whoever repeats a body may put another.
 */
export class SeenBodies {
  readonly #now: () => number;
  /** In the order of their arrival. */
  readonly #seenAt = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** True the first time. */
  add(forge: string, body: Uint8Array): boolean {
    const now = this.#now();
    for (const [known, at] of this.#seenAt) {
      if (now - at < windowMs && this.#seenAt.size < mostKept) break;
      this.#seenAt.delete(known);
    }
    const key = `${forge} ${hash('sha256', body, 'base64')}`;
    if (this.#seenAt.has(key)) return false;
    this.#seenAt.set(key, now);
    return true;
  }
}
