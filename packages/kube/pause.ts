import type { Clock } from '@eph/engine/time/clock';

/** Resolves after the time, or at once when the signal aborts. Whoever waits asks the signal. */
export const pause = (clock: Clock, ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
  });

/** The limit of a piece of work was reached. */
export class LimitReached extends Error {}

/**
 * A signal that aborts with the given one, or with `LimitReached` once nothing has extended it for so long. Dispose it when
 * the work is over.
 */
export class Limit implements Disposable {
  readonly #stop = new AbortController();
  readonly #clock: Clock;
  readonly #outer: AbortSignal;
  readonly #abort = (): void => this.#stop.abort(this.#outer.reason);
  #cancel = (): void => undefined;

  constructor(clock: Clock, ms: number, outer: AbortSignal) {
    this.#clock = clock;
    this.#outer = outer;
    if (outer.aborted) this.#abort();
    else outer.addEventListener('abort', this.#abort, { once: true });
    this.extend(ms);
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** From now on so long. */
  extend(ms: number): void {
    this.#cancel();
    this.#cancel = this.#clock.after(ms, () => this.#stop.abort(new LimitReached(`nothing for ${ms} ms`)));
  }

  [Symbol.dispose](): void {
    this.#cancel();
    this.#outer.removeEventListener('abort', this.#abort);
  }
}
