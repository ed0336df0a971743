import type { Log } from '@eph/contract';
import { sentence } from './faults.ts';
import type { LogFile } from './log-file.ts';

interface Watched {
  readonly file: LogFile;
  size: number;
  checkedAt: number;
  nextCheckAt: number;
}

const soonestMs = 20;
const latestMs = 1_000;

/** Keeps log files within their size and notes how long they are: reads the size of each at least once a second, and the sooner the faster it grows. */
export class LogRotation {
  readonly #watched = new Map<string, Watched>();
  readonly #limitBytes: number;
  readonly #log: Log;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Number.POSITIVE_INFINITY;

  constructor(limitBytes: number, log: Log) {
    this.#limitBytes = limitBytes;
    this.#log = log;
  }

  watch(file: LogFile): void {
    try {
      file.open();
    } catch (error) {
      this.#warn(file, error);
    }
    const now = performance.now();
    this.#watched.set(file.path, { file, size: 0, checkedAt: now, nextCheckAt: now + soonestMs });
    this.#schedule(now + soonestMs);
  }

  unwatch(file: LogFile): void {
    this.#watched.delete(file.path);
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const one of this.#watched.values()) this.#check(one, performance.now());
    this.#watched.clear();
  }

  #schedule(at: number): void {
    if (at >= this.#dueAt) return;
    clearTimeout(this.#timer);
    this.#dueAt = at;
    this.#timer = setTimeout(() => this.#checkAll(), Math.max(0, at - performance.now()));
  }

  #checkAll(): void {
    const now = performance.now();
    this.#dueAt = Number.POSITIVE_INFINITY;
    let next = now + latestMs;
    for (const one of this.#watched.values()) {
      if (one.nextCheckAt <= now) this.#check(one, now);
      next = Math.min(next, one.nextCheckAt);
    }
    if (this.#watched.size > 0) this.#schedule(Math.max(now + soonestMs, next));
  }

  #check(one: Watched, now: number): void {
    try {
      const size = one.file.noteSize();
      const growthPerMs = Math.max(0, size - one.size) / Math.max(1, now - one.checkedAt);
      const full = size > this.#limitBytes;
      if (full) one.file.rotate(this.#limitBytes);
      one.size = full ? 0 : size;
      const untilHalfFull = (this.#limitBytes - one.size) / 2 / Math.max(growthPerMs, 1e-9);
      const interval = now - one.checkedAt;
      one.nextCheckAt = now + Math.max(soonestMs, Math.min(latestMs, untilHalfFull, interval * 2));
    } catch (error) {
      this.#warn(one.file, error);
      one.nextCheckAt = now + latestMs;
    }
    one.checkedAt = now;
  }

  #warn({ path }: LogFile, error: unknown): void {
    this.#log.warn({ file: path, error: sentence(error) }, 'a log file could not be read or cut');
  }
}
