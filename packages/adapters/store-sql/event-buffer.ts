import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Event, isAudit, isEphError } from '@eph/contract';
import type { Cancel, Clock } from '@eph/engine/time/clock';

export interface BufferedEvent {
  readonly sequence: number;
  readonly event: Event;
}

export interface EventSink {
  /** If false, a write is tried even with nothing to store. */
  readonly reachable: boolean;
  /**
   * Stores the batch. Throws `store.unreachable` if it should be retried, anything else if the events are not accepted.
   * An event that is written twice is stored once.
   */
  write(batch: readonly BufferedEvent[]): Promise<void>;
}

/** Long enough to batch the events of one reconcile, too short to be noticed. */
const gatherMs = 5;
/** SQLite writes synchronously: so many take about 4 ms. */
const maxBatchSize = 200;
const minRetryMs = 100;
const maxRetryMs = 5_000;

/**
 * Keeps events until they are stored. Adding never waits: a full buffer drops the oldest event and counts it as lost,
 * because after an outage the latest events matter most. Audit events are dropped only if there are no others.
 */
export class EventBuffer {
  readonly #sink: EventSink;
  readonly #clock: Clock;
  readonly #limit: number;
  /** At most half of the buffer is being written, so there is always an older event to drop than the new one. */
  readonly #fullBatch: number;
  #batchSize: number;
  #waiting: BufferedEvent[] = [];
  #writing: readonly BufferedEvent[] = [];
  #sequence = 0;
  #lost = 0;
  #lostAudit = 0;
  #flushes: { readonly upTo: number; readonly done: () => void }[] = [];
  #draining = false;
  #cancelGather: Cancel | undefined;
  #endPause: (() => void) | undefined;
  #closing = false;

  constructor(sink: EventSink, clock: Clock, limit: number) {
    this.#sink = sink;
    this.#clock = clock;
    this.#limit = Math.max(2, limit);
    this.#fullBatch = Math.min(maxBatchSize, Math.floor(this.#limit / 2));
    this.#batchSize = this.#fullBatch;
  }

  get lost(): number {
    return this.#lost;
  }

  get lostAudit(): number {
    return this.#lostAudit;
  }

  get buffered(): number {
    return this.#waiting.length + this.#writing.length;
  }

  /** What is not stored yet, as far as the sink has answered. */
  get content(): readonly BufferedEvent[] {
    return [...this.#writing, ...this.#waiting];
  }

  /** Returns the sequence number of the event. */
  add(event: Event): number {
    this.#sequence += 1;
    const added = { sequence: this.#sequence, event };
    if (this.#closing) {
      this.#lose([added]);
      return added.sequence;
    }
    this.#waiting.push(added);
    if (this.buffered > this.#limit) this.#dropOldest();
    if (!this.#draining) this.#cancelGather ??= this.#clock.after(gatherMs, () => this.wake());
    return added.sequence;
  }

  /** Call when the reachability of the sink changed, and once at the start. */
  wake(): void {
    this.#cancelGather?.();
    this.#cancelGather = undefined;
    this.#endPause?.();
    if (!this.#draining) void this.#drain();
  }

  flush(): Promise<void> {
    const upTo = this.#sequence;
    return new Promise((done) => {
      this.#flushes.push({ upTo, done });
      this.#settle();
    });
  }

  /** One more try of at most `graceMs`; the rest is lost. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    this.wake();
    const flushed = this.flush();
    const graceOver = new Promise<void>((resolve) => {
      const cancel = this.#clock.after(graceMs, resolve);
      void flushed.then(cancel);
    });
    await Promise.race([flushed, graceOver]);
    this.#giveUp();
  }

  async #drain(): Promise<void> {
    this.#draining = true;
    for (let failures = 0; this.#waiting.length > 0 || !this.#sink.reachable; ) {
      this.#writing = this.#waiting.splice(0, this.#batchSize);
      const outcome = await this.#write(this.#writing);
      if (outcome === 'unreachable' && this.#closing) {
        this.#giveUp();
        break;
      }
      failures = outcome === 'unreachable' ? failures + 1 : 0;
      // Without this, a long backlog would starve the event loop.
      if (failures === 0) await nextTurn();
      else await this.#pause(Math.min(maxRetryMs, minRetryMs * 2 ** Math.min(failures - 1, 10)));
    }
    this.#draining = false;
  }

  async #write(batch: readonly BufferedEvent[]): Promise<'settled' | 'unreachable'> {
    try {
      await this.#sink.write(batch);
      this.#batchSize = this.#fullBatch;
      return 'settled';
    } catch (error) {
      return this.#failed(batch, isEphError(error) && error.code === 'store.unreachable');
    } finally {
      this.#writing = [];
      this.#settle();
    }
  }

  #failed(batch: readonly BufferedEvent[], unreachable: boolean): 'settled' | 'unreachable' {
    const givenUp = this.#writing !== batch;
    if (!givenUp && (unreachable || batch.length > 1)) this.#waiting = [...batch, ...this.#waiting];
    else if (!givenUp) this.#lose(batch);
    // Smaller and smaller batches find the event that is not accepted.
    if (!unreachable) this.#batchSize = Math.max(1, Math.floor(batch.length / 2));
    return unreachable ? 'unreachable' : 'settled';
  }

  #dropOldest(): void {
    const first = this.#waiting.findIndex(({ event }) => !isAudit(event));
    this.#lose(this.#waiting.splice(Math.max(0, first), 1));
    this.#settle();
  }

  #lose(events: readonly BufferedEvent[]): void {
    this.#lost += events.length;
    this.#lostAudit += events.filter(({ event }) => isAudit(event)).length;
  }

  #giveUp(): void {
    this.#lose(this.content);
    this.#writing = [];
    this.#waiting = [];
    this.#settle();
  }

  #settle(): void {
    const oldest = this.#writing[0] ?? this.#waiting[0];
    const settled = oldest === undefined ? this.#sequence : oldest.sequence - 1;
    const pending = this.#flushes;
    this.#flushes = pending.filter(({ upTo }) => upTo > settled);
    for (const { upTo, done } of pending) if (upTo <= settled) done();
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#clock.after(ms, () => this.#endPause?.());
      this.#endPause = () => {
        cancel();
        this.#endPause = undefined;
        resolve();
      };
    });
  }
}
