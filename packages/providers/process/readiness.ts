import type { Limits } from './limits.ts';
import { pause, untilAborted } from './pause.ts';
import { probe } from './probe.ts';
import type { Service } from './service.ts';

export interface ReadinessWatch {
  readonly service: Service;
  readonly port: number;
  readonly limits: Limits;
  /** It was ready when last seen, by an earlier ephd. */
  readonly serving: boolean;
  /** False when that could not be acted upon yet: it is said again soon. */
  ready(): boolean;
  notReady(why: string): void;
}

/** A service that misses one probe is busy; one that misses this many in a row does not answer any more. */
const strikesAllowed = 3;
const betweenStrikesMs = 1_000;
const patientMs = 2_000;
const spreadMs = 2_000;

/** Follows one process until its life ends: tells when it gets ready, when it takes too long, and when it stops answering. */
export const watchReadiness = async (watch: ReadinessWatch, life: AbortSignal): Promise<void> => {
  const { ready } = watch.service;
  if (ready.kind === 'none') return settle(watch, life);
  const ask = () => probe(ready, watch.port, watch.limits.probeTimeoutMs, life);
  let timeoutMs = watch.service.readyTimeoutSeconds * 1000;
  // A thousand services found at once are not to be asked at once.
  if (watch.serving) timeoutMs = await whileReady(watch, ask, Math.random() * Math.min(watch.limits.checkMs, spreadMs), life);
  while (!life.aborted) {
    await untilReady(watch, ask, timeoutMs, life);
    timeoutMs = await whileReady(watch, ask, watch.limits.checkMs, life);
  }
};

type Ask = () => ReturnType<typeof probe>;

const settle = async (watch: ReadinessWatch, life: AbortSignal): Promise<void> => {
  do await pause(watch.limits.settleMs, life);
  while (!life.aborted && !watch.ready());
  await untilAborted(life);
};

/** The pauses are a fixed part of the time it took so far, so that little is added to what the service itself takes. */
const untilReady = async (watch: ReadinessWatch, ask: Ask, timeoutMs: number, life: AbortSignal): Promise<void> => {
  const since = performance.now();
  const { probeFirstMs, probeSlowMs } = watch.limits;
  while (!life.aborted) {
    const answer = await ask();
    if (life.aborted || (answer.ready && watch.ready())) return;
    const elapsedMs = performance.now() - since;
    const late = elapsedMs > timeoutMs;
    if (late && !answer.ready) {
      watch.notReady(`It is not ready after ${timeoutMs / 1000} s: ${answer.why}. Does it listen on the port in PORT?`);
    }
    await pause(Math.min(Math.max(elapsedMs / 20, probeFirstMs), late ? patientMs : probeSlowMs), life);
  }
};

/** Returns how long it may stay silent before more is said: for good, because that it is silent was said already. */
const whileReady = async (watch: ReadinessWatch, ask: Ask, firstPauseMs: number, life: AbortSignal): Promise<number> => {
  const { checkMs } = watch.limits;
  let strikes = 0;
  let delay = firstPauseMs;
  while (!life.aborted) {
    await pause(delay, life);
    if (life.aborted) break;
    const answer = await ask();
    if (life.aborted) break;
    strikes = answer.ready ? 0 : strikes + 1;
    delay = answer.ready ? checkMs : Math.min(betweenStrikesMs, checkMs);
    if (!answer.ready && strikes === strikesAllowed) {
      watch.notReady(`It does not answer any more: ${answer.why}.`);
      break;
    }
  }
  return Number.POSITIVE_INFINITY;
};
