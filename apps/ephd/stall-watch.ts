import type { Log } from '@eph/contract';

export interface Stall {
  readonly milliseconds: number;
  /** What ran in that time, as far as it is known; several things may have. */
  readonly during: string;
}

export interface StallWatchOptions {
  readonly now: () => number;
  readonly every: (ms: number, tick: () => void) => Disposable;
  readonly log: Log;
}

const tickMs = 100;
const loggedMs = 1_000;
const namedKeys = 5;

/** Finds the longest time in which ephd did nothing else, because one piece of work did not let go of the only thread. */
export class StallWatch implements Disposable {
  readonly #options: StallWatchOptions;
  readonly #timer: Disposable;
  readonly #running = new Set<string>();
  /** Since the last tick, also what has ended: that may be what took so long. */
  readonly #ran = new Set<string>();
  #longest: Stall = { milliseconds: 0, during: '' };
  #due: number;

  constructor(options: StallWatchOptions) {
    this.#options = options;
    this.#due = options.now() + tickMs;
    this.#timer = options.every(tickMs, () => this.#tick());
  }

  get longest(): Stall {
    return this.#longest;
  }

  began(key: string): void {
    this.#running.add(key);
    this.#ran.add(key);
  }

  ended(key: string): void {
    this.#running.delete(key);
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }

  #tick(): void {
    const now = this.#options.now();
    const milliseconds = now - this.#due;
    if (milliseconds > this.#longest.milliseconds) this.#note(milliseconds);
    this.#ran.clear();
    for (const key of this.#running) this.#ran.add(key);
    this.#due = now + tickMs;
  }

  #note(milliseconds: number): void {
    const keys = [...this.#ran];
    const more = keys.length > namedKeys ? ` and ${keys.length - namedKeys} more` : '';
    const during = keys.length === 0 ? 'requests' : `${keys.slice(0, namedKeys).join(', ')}${more}`;
    this.#longest = { milliseconds, during };
    if (milliseconds >= loggedMs) this.#options.log.warn(this.#longest, 'nothing else could run for a while');
  }
}

/** A timer that does not keep the process alive. */
export const everyInterval: StallWatchOptions['every'] = (ms, tick) => {
  const timer = setInterval(tick, ms).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
};
