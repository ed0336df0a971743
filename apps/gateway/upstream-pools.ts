import { Pool } from 'undici';
import type { Upstream } from './routes.ts';

export interface PoolLimits {
  readonly connectTimeoutMs: number;
  /** How long an upstream may take to begin its answer. */
  readonly answerTimeoutMs: number;
  readonly maxHeaderBytes: number;
  /** A pool that had no request for this long is closed, at the latest after twice as long. */
  readonly idleMs: number;
  readonly maxPools: number;
}

interface Entry {
  readonly pool: Pool;
  /** Since the last look. One bit instead of a time: it is set on every request. */
  used: boolean;
}

/**
 * Connections kept open to upstreams, one pool each. A pool out of use is closed gracefully: what it carries is finished, which
 * may take as long as a stream lasts, and the next request for that upstream gets a new pool.
 *
 * The number of connections in a pool has no limit of its own: each serves one request of a visitor, and a limit would let a few
 * long streams starve everyone else.
 */
export class UpstreamPools {
  readonly #limits: PoolLimits;
  readonly #open = new Map<string, Entry>();
  readonly #retiring = new Set<Pool>();
  readonly #sweeper: NodeJS.Timeout;

  constructor(limits: PoolLimits) {
    this.#limits = limits;
    this.#sweeper = setInterval(() => this.#sweep(), limits.idleMs).unref();
  }

  get(upstream: Upstream): Pool {
    const key = `${upstream.host} ${upstream.port}`;
    const entry = this.#open.get(key) ?? this.#add(key, upstream);
    entry.used = true;
    return entry.pool;
  }

  /** Open and closing ones. */
  get size(): number {
    return this.#open.size + this.#retiring.size;
  }

  /** Ends everything, answers under way included. */
  async destroy(): Promise<void> {
    clearInterval(this.#sweeper);
    const pools = [...[...this.#open.values()].map((entry) => entry.pool), ...this.#retiring];
    this.#open.clear();
    await Promise.all(pools.map((pool) => pool.destroy()));
  }

  #add(key: string, upstream: Upstream): Entry {
    if (this.#open.size >= this.#limits.maxPools) this.#evict();
    const entry = { pool: createPool(upstream, this.#limits), used: true };
    this.#open.set(key, entry);
    return entry;
  }

  #sweep(): void {
    for (const [key, entry] of this.#open) {
      if (entry.used) entry.used = false;
      else this.#retire(key, entry.pool);
    }
  }

  /** Second chance: the oldest one not used lately goes, and the used ones before it queue up again. */
  #evict(): void {
    for (const [key, entry] of this.#open) {
      if (!entry.used) return this.#retire(key, entry.pool);
      entry.used = false;
      this.#open.delete(key);
      this.#open.set(key, entry);
    }
  }

  #retire(key: string, pool: Pool): void {
    this.#open.delete(key);
    this.#retiring.add(pool);
    pool.close(() => this.#retiring.delete(pool));
  }
}

const createPool = (upstream: Upstream, limits: PoolLimits): Pool => {
  const host = upstream.host.includes(':') ? `[${upstream.host}]` : upstream.host;
  return new Pool(`http://${host}:${upstream.port}`, {
    connectTimeout: limits.connectTimeoutMs,
    headersTimeout: limits.answerTimeoutMs,
    // A stream of events may be silent for as long as it likes.
    bodyTimeout: 0,
    maxHeaderSize: limits.maxHeaderBytes,
  });
};
