import { EphError, type Log } from '@eph/contract';
import { createSemaphore, type Release } from '../forge-http/semaphore.ts';

export interface HostGateOptions {
  /** For messages. */
  readonly host: string;
  readonly concurrency: number;
  readonly now: () => number;
  readonly random: () => number;
  readonly log: Log;
}

/** So many failures in a row are not a problem of one image. */
const failureLimit = 5;
const firstPauseMs = 1_000;
const longestFailurePauseMs = 60_000;
const longestThrottlePauseMs = 5 * 60_000;

/** The host cannot answer now, whatever is asked. */
export const isServerFault = (status: number): boolean => status === 408 || status >= 500;

/**
 * All requests to one host pass through a gate. It closes when the host asks for a pause and when it seems to be down. After the
 * pause, one request at a time is let through until one succeeds; each that fails makes the next pause longer.
 */
export class HostGate {
  readonly #options: HostGateOptions;
  readonly #acquireSlot: (signal: AbortSignal) => Promise<Release>;
  #failures = 0;
  #pauses = 0;
  #pausedAt = Number.NEGATIVE_INFINITY;
  #pauseMs = 0;
  #reason = '';
  #isProbing = false;

  constructor(options: HostGateOptions) {
    this.#options = options;
    this.#acquireSlot = createSemaphore(options.concurrency);
  }

  /** Throws `registry.unreachable` with `retryAfterMs` while the gate is closed. */
  async enter(signal: AbortSignal): Promise<Release> {
    const release = await this.#acquireSlot(signal);
    const isProbe = this.#pauses > 0;
    if (this.#waitMs > 0 || (isProbe && this.#isProbing)) {
      release();
      throw this.#closedError();
    }
    this.#isProbing = isProbe;
    return () => {
      if (isProbe) this.#isProbing = false;
      release();
    };
  }

  /**
   * Reports the outcome of a request.
   *
   * @param status undefined if no answer came
   * @param askedMs the pause that the host asks for
   */
  observe(status: number | undefined, askedMs?: number): void {
    const { host } = this.#options;
    if (status === 429) {
      this.#pause(askedMs, longestThrottlePauseMs, `${host} asks for a pause: there were too many requests.`);
    } else if (status !== undefined && !isServerFault(status)) {
      this.#failures = 0;
      // What was under way when the gate closed does not open it.
      if (this.#waitMs === 0) this.#pauses = 0;
    } else {
      this.#failures += 1;
      if (this.#failures >= failureLimit || this.#pauses > 0 || askedMs !== undefined)
        this.#pause(askedMs, longestFailurePauseMs, `${host} keeps failing.`);
    }
  }

  /** Over also when it begins in the future: the clock was set back. */
  get #waitMs(): number {
    const passedMs = this.#options.now() - this.#pausedAt;
    return passedMs >= 0 && passedMs < this.#pauseMs ? this.#pauseMs - passedMs : 0;
  }

  /** Requests that were under way when the gate closed fail together, and count once. A random bit longer, so that not all return at once. */
  #pause(askedMs = 0, longestMs: number, reason: string): void {
    const waitMs = this.#waitMs;
    if (waitMs > 0 && askedMs <= waitMs) return;
    if (waitMs === 0) this.#pauses += 1;
    const ownMs = Math.min(longestMs, firstPauseMs * 2 ** Math.min(this.#pauses - 1, 20));
    this.#pausedAt = this.#options.now();
    this.#pauseMs = Math.max(askedMs, ownMs) * (1 + this.#options.random() / 4);
    this.#reason = reason;
    this.#options.log.warn(
      { registry: this.#options.host, pauseMs: Math.round(this.#pauseMs), reason },
      'requests to a registry are paused',
    );
  }

  #closedError(): EphError {
    const retryAfterMs = Math.ceil(Math.max(this.#waitMs, firstPauseMs) * (1 + this.#options.random() / 10));
    return new EphError('registry.unreachable', this.#reason, { retryAfterMs });
  }
}
