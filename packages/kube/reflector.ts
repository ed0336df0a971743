import { EphError, type Failure, failure, isEphError, type Log, toFailure } from '@eph/contract';
import type { Clock } from '@eph/engine/time/clock';
import { isCode, type KubeClient, type Selection, smallerPage, type WatchEvent } from './kube-client.ts';
import type { KubeObject } from './object.ts';
import { type Indexes, type Keep, ObjectCache, parseVersion } from './object-cache.ts';
import type { KubeObserver, RestartReason } from './observer.ts';
import { Limit, LimitReached, pause } from './pause.ts';
import { AnswerTooLarge } from './rest-client.ts';
import type { Turns } from './turns.ts';

export interface ReflectorOptions<T extends KubeObject, Name extends string> {
  readonly client: KubeClient;
  readonly selection: Selection;
  readonly keep: Keep<T>;
  readonly indexes: Indexes<T, Name>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly observer: KubeObserver;
  readonly log: Log;
  /** For pages of lists: one takes several times its size in memory. */
  readonly turns: Turns;
}

/** Whether the cache shows the cluster as it is, apart from the time that changes take to arrive. */
export type Sync =
  | { readonly inSync: true }
  /** `since` is in milliseconds since 1970. Objects that the cache does not show are unknown, not gone. */
  | { readonly inSync: false; readonly since: number; readonly fault: Failure };

/** Hears the keys that changed. Also called, without keys, when `sync` changed. */
export type Listener = (keys: readonly string[]) => void;

/** Larger ones are hardly faster. */
const firstPage = 250;
/** The server ends a watch after a random time, so that watches that began together do not end together. */
const shortestWatchSeconds = 5 * 60;
const longestWatchSeconds = 10 * 60;
/** After the server should have ended the watch. */
const overdueMs = 30_000;
/** Servers send a bookmark every minute. If one did and then no more, the connection is dead although nobody said so. */
const silenceMs = 3 * 60_000;
/** What happened before a watch began is sent at once. */
const settleMs = 1_000;
const firstBackoffMs = 800;
const longestBackoffMs = 30_000;
/** A watch that lasted so long was none that failed again. */
const forgivenMs = 2 * 60_000;

/**
 * Keeps a cache equal to what a selection holds: lists it in pages, then watches, and begins again where that breaks. It never gives
 * up; between two attempts it waits longer and longer, up to half a minute.
 */
export class Reflector<T extends KubeObject, Name extends string = never> implements AsyncDisposable {
  readonly cache: ObjectCache<T, Name>;
  readonly selection: Selection;
  readonly #options: ReflectorOptions<T, Name>;
  readonly #listeners = new Set<Listener>();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly #synced = Promise.withResolvers<void>();
  readonly #tried = Promise.withResolvers<void>();
  #sync: Sync;
  #wasInSync = false;
  #failures = 0;
  /** Undefined: everything has to be listed. */
  #version: string | undefined;
  #pageSize = firstPage;

  constructor(options: ReflectorOptions<T, Name>) {
    this.#options = options;
    this.selection = options.selection;
    this.cache = new ObjectCache<T, Name>(options.keep, options.indexes);
    const fault = failure('cluster.unreachable', `Cluster ${options.client.cluster} has not listed its ${this.#kind}s yet.`);
    this.#sync = { inSync: false, since: options.clock.now(), fault };
    this.#running = this.#run(this.#stop.signal);
  }

  get sync(): Sync {
    return this.#sync;
  }

  /** What the cache does not show was not there when it was last in sync. Before the first time, nobody knows. */
  get wasInSync(): boolean {
    return this.#wasInSync;
  }

  /** Resolves when the cache was in sync for the first time, or the signal aborts. */
  async untilFirstSync(signal: AbortSignal): Promise<void> {
    await untilEither(this.#synced.promise, signal);
  }

  /** Also when the first attempt failed. */
  async untilTried(signal: AbortSignal): Promise<void> {
    await untilEither(this.#tried.promise, signal);
  }

  /** Returns how to stop listening. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The answer to a write of this process, which the watch shows a moment later. */
  noteWritten(object: KubeObject): void {
    this.#tell([this.cache.put(object)]);
  }

  /** The answer to a deletion of this process. */
  noteGone(object: { readonly namespace?: string; readonly name: string }, uid: string): void {
    this.#tell([this.cache.removeForGood(object, uid)]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#listeners.clear();
    await this.#running;
  }

  get #kind(): string {
    return this.#options.selection.kind;
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const began = this.#options.clock.now();
      try {
        if (this.#version === undefined) this.#version = await this.#listAll(signal);
        await this.#watch(this.#version, signal);
      } catch (error) {
        if (signal.aborted) return;
        await this.#recover(error, this.#options.clock.now() - began, signal);
      }
    }
  }

  /** Returns the version that the list shows. */
  async #listAll(signal: AbortSignal): Promise<string> {
    const { client, selection, turns } = this.#options;
    const listing = this.cache.beginListing();
    let next: string | undefined;
    for (;;) {
      try {
        const read = async () => {
          const { objects, ...rest } = await client.page(selection, this.#pageSize, next, signal);
          this.#tell(objects.map((object) => listing.put(object)));
          return rest;
        };
        const page = await turns(read);
        next = page.next;
        if (next !== undefined) continue;
        this.#tell(listing.end(page.resourceVersion));
        this.#setSync({ inSync: true });
        return page.resourceVersion;
      } catch (error) {
        if (!(error instanceof AnswerTooLarge) || this.#pageSize === 1) throw error;
        this.#pageSize = smallerPage(this.#pageSize);
      }
    }
  }

  /** Returns when the server ended the watch as it was asked to. */
  async #watch(from: string, signal: AbortSignal): Promise<void> {
    const { client, selection, clock, random } = this.#options;
    const timeoutSeconds = Math.round(shortestWatchSeconds + random() * (longestWatchSeconds - shortestWatchSeconds));
    const began = clock.now();
    const deadline = began + timeoutSeconds * 1_000 + overdueMs;
    using limit = new Limit(clock, deadline - began, signal);
    let lines = 0;
    let hasBookmarks = false;
    let isDisordered = false;
    const events = await client.watch(selection, { resourceVersion: from, timeoutSeconds }, limit.signal);
    const cancelSettled = clock.after(settleMs, () => this.#setSync({ inSync: true }));
    try {
      for await (const event of events) {
        lines += 1;
        hasBookmarks ||= event.type === 'bookmark';
        if (hasBookmarks) limit.extend(Math.max(0, Math.min(silenceMs, deadline - clock.now())));
        if (!this.#take(event)) isDisordered = true;
        if (event.type === 'bookmark') this.#setSync({ inSync: true });
      }
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (isDisordered) this.#version = undefined;
      // Nothing says that anything was missed; but if the next watch does not begin, that counts.
      if (limit.signal.reason instanceof LimitReached && hasBookmarks) return this.#note('silent', undefined);
      throw error;
    } finally {
      cancelSettled();
    }
    if (isDisordered) {
      this.#version = undefined;
      return this.#note('disordered', undefined);
    }
    // Whoever ends watches at once is asked less and less often.
    if (lines === 0 && clock.now() - began < settleMs)
      throw new EphError('cluster.unreachable', `Cluster ${client.cluster} ends watches at once.`);
    this.#failures = 0;
    this.#note('ended', undefined);
  }

  /** False for a change that is older than one before it: something between changes their order, so some may be missing, too. */
  #take(event: WatchEvent): boolean {
    const version = event.type === 'bookmark' ? event.resourceVersion : (event.object.metadata.resourceVersion ?? '');
    const isInOrder = !(parseVersion(version) < parseVersion(this.#version ?? ''));
    if (isInOrder && version !== '') this.#version = version;
    if (event.type !== 'bookmark')
      this.#tell([event.type === 'changed' ? this.cache.put(event.object) : this.cache.remove(event.object)]);
    return isInOrder;
  }

  async #recover(error: unknown, lastedMs: number, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    const isExpired = isCode(error, 'object.expired');
    if (isExpired) this.#version = undefined;
    this.#note(isExpired ? 'expired' : 'failed', error);
    this.#setSync({ inSync: false, since: this.#sync.inSync ? clock.now() : this.#sync.since, fault: toFailure(error) });
    if (lastedMs >= forgivenMs) this.#failures = 0;
    const backoff = Math.min(longestBackoffMs, firstBackoffMs * 2 ** Math.min(this.#failures, 10));
    this.#failures += 1;
    const asked = isEphError(error) ? (error.retryAfterMs ?? 0) : 0;
    await pause(clock, Math.max(asked, backoff) * (1 + random()), signal);
  }

  #note(why: RestartReason, error: unknown): void {
    const { observer, log, client } = this.#options;
    const fields = { cluster: client.cluster, kind: this.#kind, why };
    observer.restarted(fields);
    if (error === undefined) log.debug(fields, 'a watch begins again');
    // Once for each time that it gets out of sync.
    else if (this.#sync.inSync) log.warn({ ...fields, failure: toFailure(error) }, 'a watch is out of sync');
  }

  #setSync(sync: Sync): void {
    const before = this.#sync;
    this.#sync = sync;
    this.#tried.resolve();
    if (sync.inSync) {
      this.#wasInSync = true;
      this.#synced.resolve();
    }
    if (before.inSync !== sync.inSync) this.#notify([]);
  }

  #tell(changed: readonly (string | undefined)[]): void {
    const keys = changed.filter((key) => key !== undefined);
    if (keys.length > 0) this.#notify(keys);
  }

  #notify(keys: readonly string[]): void {
    for (const listener of this.#listeners) {
      try {
        listener(keys);
      } catch (error) {
        // Whoever listens must not end the watch for all.
        this.#options.log.warn({ kind: this.#kind, failure: toFailure(error) }, 'a listener of a watch failed');
      }
    }
  }
}

const untilEither = async (promise: Promise<void>, signal: AbortSignal): Promise<void> => {
  const aborted = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => aborted.resolve(), { once: true });
  if (signal.aborted) aborted.resolve();
  await Promise.race([promise, aborted.promise]);
};
