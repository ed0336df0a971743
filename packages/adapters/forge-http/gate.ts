import { setTimeout as delay } from 'node:timers/promises';
import { EphError, type Log } from '@eph/contract';
import type { ReceivedAnswer } from './answer.ts';
import { type Budget, maxPauseMs, parseBudget, parseRetryAfter } from './budget.ts';
import { createSemaphore, type Release } from './semaphore.ts';

/**
 * All requests of one identity to one forge pass through a gate. It closes when the forge asks for a pause, when the
 * rate limit is exhausted and when the forge seems to be down. Callers then wait briefly or get a time for the next try.
 */
export interface Gate {
  /** Throws `forge.unreachable` with `retryAfterMs` if the gate stays closed for more than `maxWaitMs`. */
  enter(signal: AbortSignal): Promise<Release>;
  /** Reports the outcome of a request; `undefined` if no answer came. */
  observe(answer: ReceivedAnswer | undefined): void;
  /** The rate limit according to the last answer; undefined if unknown. */
  budget(): Budget | undefined;
}

export interface GateOptions {
  readonly shown: string;
  readonly now: () => number;
  readonly random: () => number;
  readonly log: Log;
  /** Recognizes throttling that status 429 and the headers do not show. */
  readonly isThrottle?: (answer: ReceivedAnswer) => boolean;
}

/** The pause when a forge throttles without a duration. */
const throttlePauseMs = 60_000;
/** So many failures in a row are not a problem of one endpoint. */
const failureLimit = 8;
const failurePauseMs = 500;
const maxFailurePauseMs = 60_000;
const concurrency = 16;
const maxWaitMs = 2_000;

export const createGate = (options: GateOptions): Gate => {
  const { shown, now, random, log, isThrottle = () => false } = options;
  const acquireSlot = createSemaphore(concurrency);
  let closedUntil = 0;
  let reason = '';
  let budget: Budget | undefined;
  let failures = 0;
  let throttles = 0;

  /** A random bit longer than asked, so that not all clients return at once. */
  const close = (pauseMs: number, why: string) => {
    const until = now() + pauseMs + random() * Math.max(pauseMs / 4, 100);
    if (until <= closedUntil) return;
    closedUntil = until;
    reason = why;
    log.warn({ forge: shown, pauseMs: Math.round(until - now()), reason: why }, 'requests to a forge are paused');
  };

  const closeAfterFailure = () => {
    failures += 1;
    if (failures < failureLimit) return;
    const doublings = Math.min(failures - failureLimit, 10);
    close(Math.min(failurePauseMs * 2 ** doublings, maxFailurePauseMs), `${shown} keeps failing.`);
  };

  const closeForThrottle = (askedMs: number | undefined) => {
    throttles += 1;
    const pauseMs = askedMs ?? Math.min(throttlePauseMs * 2 ** Math.min(throttles - 1, 10), maxPauseMs);
    close(pauseMs, `${shown} asks for a pause: there were too many requests.`);
  };

  const untilReset = (): number | undefined =>
    budget?.remaining === 0 && budget.resetAt > now() ? budget.resetAt - now() : undefined;

  const isThrottled = (answer: ReceivedAnswer): boolean =>
    answer.status === 429 ||
    (answer.status === 403 && (answer.headers.has('retry-after') || parseBudget(answer.headers, now())?.remaining === 0)) ||
    isThrottle(answer);

  const waitWhileClosed = async (signal: AbortSignal): Promise<void> => {
    for (let checkedAt = Number.NaN; ; ) {
      // If the clock is set back, the gate must not stay closed for that much longer.
      closedUntil = Math.min(closedUntil, now() + 1.25 * maxPauseMs);
      const waitMs = closedUntil - now();
      if (waitMs <= 0) return;
      // Under a clock that does not advance, the gate would never open.
      if (waitMs > maxWaitMs || checkedAt === now())
        throw new EphError('forge.unreachable', reason, { retryAfterMs: Math.ceil(waitMs * (1 + random() / 10)) });
      checkedAt = now();
      await delay(Math.min(Math.ceil(waitMs), 50), undefined, { signal });
    }
  };

  return {
    async enter(signal) {
      const release = await acquireSlot(signal);
      try {
        await waitWhileClosed(signal);
        return release;
      } catch (error) {
        release();
        throw signal.aborted ? signal.reason : error;
      }
    },

    observe(answer) {
      if (answer === undefined) return closeAfterFailure();
      budget = parseBudget(answer.headers, now()) ?? budget;
      const askedMs = parseRetryAfter(answer.headers, now());
      if (isThrottled(answer)) return closeForThrottle(askedMs ?? untilReset());
      if (answer.status >= 500) {
        if (askedMs !== undefined) close(askedMs, `${shown} asks for a pause.`);
        return closeAfterFailure();
      }
      failures = 0;
      throttles = 0;
      const pauseMs = untilReset();
      if (pauseMs !== undefined) close(pauseMs, `The rate limit of ${shown} is exhausted until it resets.`);
    },

    budget: () => budget,
  };
};

export const budgetOf = (account: string, gate: Gate) =>
  [gate.budget() ?? []].flat().map(({ remaining }) => ({ account, remaining }));
