import type { Log } from '@eph/contract';
import { sentence } from './faults.ts';
import type { LogFile } from './log-file.ts';

interface Watched {
  readonly file: LogFile;
  size: number;
  lookedAt: number;
  nextLookAt: number;
}

const soonestMs = 20;
const latestMs = 1_000;

/** Keeps log files within their size: looks at each at least once a second, and the sooner the faster it grows. */
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
    const now = performance.now();
    this.#watched.set(file.path, { file, size: 0, lookedAt: now, nextLookAt: now + soonestMs });
    this.#schedule(now + soonestMs);
  }

  unwatch(file: LogFile): void {
    this.#watched.delete(file.path);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#watched.clear();
  }

  #schedule(at: number): void {
    if (at >= this.#dueAt) return;
    clearTimeout(this.#timer);
    this.#dueAt = at;
    this.#timer = setTimeout(() => this.#look(), at - performance.now());
  }

  #look(): void {
    const now = performance.now();
    this.#dueAt = Number.POSITIVE_INFINITY;
    let next = now + latestMs;
    for (const one of this.#watched.values()) {
      if (one.nextLookAt <= now) this.#lookAt(one, now);
      next = Math.min(next, one.nextLookAt);
    }
    if (this.#watched.size > 0) this.#schedule(Math.max(now + soonestMs, next));
  }

  #lookAt(one: Watched, now: number): void {
    try {
      const size = one.file.readSize();
      const growthPerMs = Math.max(0, size - one.size) / Math.max(1, now - one.lookedAt);
      const full = size > this.#limitBytes;
      if (full) one.file.rotate(this.#limitBytes);
      one.size = full ? 0 : size;
      const untilHalfFull = (this.#limitBytes - one.size) / 2 / Math.max(growthPerMs, 1e-9);
      const interval = now - one.lookedAt;
      one.nextLookAt = now + Math.max(soonestMs, Math.min(latestMs, untilHalfFull, interval * 2));
    } catch (error) {
      this.#log.warn({ file: one.file.path, error: sentence(error) }, 'a log file could not be cut');
      one.nextLookAt = now + latestMs;
    }
    one.lookedAt = now;
  }
}
