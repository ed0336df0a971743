import { hash } from 'node:crypto';

const windowMs = 10 * 60_000;
const maxKept = 10_000;

/**
 * The bodies of the last ten minutes, so that a repeated one wakes nothing. Compared by content and not by the delivery id: no forge
 * signs the id, so an attacker could change it.
 */
export class SeenBodies {
  readonly #now: () => number;
  readonly #seenAt = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  add(forge: string, body: Uint8Array): boolean {
    const now = this.#now();
    for (const [oldest, at] of this.#seenAt) {
      if (now - at < windowMs && this.#seenAt.size < maxKept) break;
      this.#seenAt.delete(oldest);
    }
    const key = `${forge} ${hash('sha256', body, 'base64')}`;
    if (this.#seenAt.has(key)) return false;
    this.#seenAt.set(key, now);
    return true;
  }
}
