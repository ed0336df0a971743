import { Pool } from 'undici';
import type { Upstream } from './routes.ts';

export interface PoolLimits {
  readonly connectTimeoutMs: number;
  /** How long an upstream may take to begin its answer. */
  readonly answerTimeoutMs: number;
  readonly maxHeaderBytes: number;
  /** A pool without requests is closed after one to two times this. */
  readonly idleMs: number;
  readonly maxPools: number;
}

interface Entry {
  readonly pool: Pool;
  /** Since the last sweep. One bit instead of a time, because it is set on every request. */
  used: boolean;
}

/**
 * Connections kept open to upstreams, one pool each. An unused pool is closed gracefully: its requests finish, which may take as
 * long as a stream lasts, and the next request for that upstream gets a new pool.
 *
 * The number of connections in a pool has no limit: each serves one request, and a few long streams could block all others.
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

  get size(): number {
    return this.#open.size + this.#retiring.size;
  }

  /** Ends everything, running answers included. */
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

  /** The second-chance algorithm: retires the oldest unused pool and moves used ones before it to the end. */
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
    // A stream of events may be silent for any time.
    bodyTimeout: 0,
    maxHeaderSize: limits.maxHeaderBytes,
  });
};
