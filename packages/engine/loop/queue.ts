import { backoffMs } from '../time/backoff.ts';
import type { Cancel, Clock } from '../time/clock.ts';
import { type Rate, TokenBucket } from '../time/token-bucket.ts';
import type { Result } from './result.ts';

export interface QueueOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly workers: number;
  /** Retries per second over all keys, and how many may come at once; fresh work is not limited. */
  readonly retryRate?: Rate;
  /** A run threw. Runs turn failures into outcomes themselves, so this is a bug worth shouting about. */
  readonly onThrow: (key: string, error: unknown) => void;
}

/**
 * Keys to look at.
 *
 * A key means "look again", never an instruction, so any number of requests for one key is one request. At most one run per key is
 * under way; a request that arrives meanwhile runs once more afterwards. There is no payload and nothing is stored: the next pass
 * finds the same work.
 */
export class Queue<Key extends string> {
  readonly #options: QueueOptions;
  readonly #run: (key: Key, signal: AbortSignal) => Promise<void>;
  /** Ready to run, in order of arrival; a Set gives coalescing and order at once. */
  readonly #ready = new Set<Key>();
  /** One iterator for many keys: a new one would step over all that were taken before, and a long queue would take hours. */
  #order = this.#ready.values();
  readonly #running = new Map<Key, { readonly abort: AbortController; again: boolean }>();
  readonly #later = new Map<Key, { readonly at: number; readonly cancel: Cancel }>();
  readonly #failures = new Map<Key, number>();
  readonly #idleWaiters: (() => void)[] = [];
  readonly #retries: TokenBucket | undefined;
  #open = true;

  constructor(options: QueueOptions, run: (key: Key, signal: AbortSignal) => Promise<void>) {
    this.#options = options;
    this.#run = run;
    this.#retries = options.retryRate && new TokenBucket(options.retryRate, () => options.clock.now());
  }

  /** Look at the key as soon as a worker is free. */
  add(key: Key): void {
    if (!this.#open) return;
    this.#later.get(key)?.cancel();
    this.#later.delete(key);
    const run = this.#running.get(key);
    if (run !== undefined) {
      run.again = true;
      return;
    }
    this.#ready.add(key);
    this.#pump();
  }

  /** Look at the key after a while, or earlier if somebody asks. */
  addAfter(key: Key, ms: number): void {
    if (!this.#open) return;
    const at = this.#options.clock.now() + ms;
    const waiting = this.#later.get(key);
    if (waiting !== undefined && waiting.at <= at) return;
    waiting?.cancel();
    const cancel = this.#options.clock.after(ms, () => {
      this.#later.delete(key);
      this.add(key);
    });
    this.#later.set(key, { at, cancel });
  }

  /** The last look failed: look again after this key's back-off, and not faster than the shared limit allows. */
  retry(key: Key, atLeastMs = 0): void {
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const delay = Math.max(atLeastMs, backoffMs(failures, this.#options.random)) + (this.#retries?.take() ?? 0) * 1000;
    this.addAfter(key, delay);
  }

  /** The last look was good: the next failure starts from the shortest back-off. */
  forget(key: Key): void {
    this.#failures.delete(key);
  }

  /** What the running look works towards is out of date: stop it and look again. Does nothing if the key is not running. */
  supersede(key: Key): void {
    const run = this.#running.get(key);
    if (run === undefined) return;
    run.again = true;
    run.abort.abort(new DOMException('superseded by a newer reading', 'AbortError'));
  }

  follow({ supersede = [], wake = [] }: Result<Key>): void {
    for (const key of supersede) this.supersede(key);
    for (const key of wake) this.add(key);
  }

  /** A run of the key has ended with this result. */
  conclude(key: Key, result: Result<Key> | undefined): void {
    if (result === undefined) return;
    this.follow(result);
    if (result.retryAfterMs === undefined) this.forget(key);
    else this.retry(key, result.retryAfterMs);
    if (result.lookAt !== undefined) this.addAfter(key, Math.max(0, result.lookAt - this.#options.clock.now()));
  }

  get load(): { readonly ready: number; readonly running: number; readonly waiting: number } {
    return { ready: this.#ready.size, running: this.#running.size, waiting: this.#later.size };
  }

  /** Resolves when nothing is ready or running; keys that wait for a time do not count. */
  idle(): Promise<void> {
    if (this.#ready.size === 0 && this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idleWaiters.push(resolve));
  }

  /** Takes no more work, aborts what runs and waits for it to return. */
  async close(): Promise<void> {
    this.#open = false;
    this.#ready.clear();
    for (const { cancel } of this.#later.values()) cancel();
    this.#later.clear();
    for (const { abort } of this.#running.values()) abort.abort(new DOMException('ephd is stopping', 'AbortError'));
    await this.idle();
  }

  #pump(): void {
    while (this.#running.size < this.#options.workers) {
      const key = this.#takeFirst();
      if (key === undefined) return;
      void this.#work(key);
    }
  }

  #takeFirst(): Key | undefined {
    if (this.#ready.size === 0) return undefined;
    let first = this.#order.next();
    if (first.done === true) {
      this.#order = this.#ready.values();
      first = this.#order.next();
    }
    if (first.done === true) return undefined;
    this.#ready.delete(first.value);
    return first.value;
  }

  async #work(key: Key): Promise<void> {
    const run = { abort: new AbortController(), again: false };
    this.#running.set(key, run);
    try {
      await this.#run(key, run.abort.signal);
    } catch (error) {
      // An aborted run may throw. If more was wrong, the next run shows it.
      if (!run.abort.signal.aborted) {
        this.#options.onThrow(key, error);
        this.retry(key);
      }
    }
    this.#running.delete(key);
    if (run.again) this.add(key);
    this.#pump();
    if (this.#ready.size === 0 && this.#running.size === 0) for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }
}
