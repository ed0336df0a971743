import type { Limits } from './limits.ts';
import { pause } from './pause.ts';
import { type ProbeAnswer, probe } from './probe.ts';
import type { Service } from './service.ts';

export interface ReadinessWatch {
  readonly service: Service;
  readonly port: number;
  readonly limits: Limits;
  /** An earlier ephd observed it as ready. */
  readonly serving: boolean;
  /** Why visitors may reach something else than this process. */
  findFault(): Promise<string | undefined>;
  /** Returns false if that could not be handled yet; it is called again soon. */
  ready(): boolean;
  notReady(why: string): void;
}

/** A service that fails one probe may be busy; after this many in a row it is not ready. */
const maxFailures = 3;
const failurePauseMs = 1_000;
const latePauseMs = 2_000;
const spreadMs = 2_000;

/** Probes one process as long as there is anything to ask, and reports when it gets ready, takes too long or stops answering. */
export const watchReadiness = async (watch: ReadinessWatch, signal: AbortSignal): Promise<void> => {
  const { ready } = watch.service;
  if (ready.kind === 'none') return settle(watch, signal);
  const ask: Ask = async () => {
    // Asked as soon as somebody accepts, which is before a service has answered.
    let fault: Promise<string | undefined> | undefined;
    const accepted = (): void => void (fault ??= watch.findFault());
    const answer = await probe(ready, watch.port, watch.limits.probeTimeoutMs, signal, accepted);
    const why = answer.ready ? await fault : undefined;
    return why === undefined ? answer : { ready: false, why };
  };
  let timeoutMs = watch.service.readyTimeoutSeconds * 1000;
  // Spreads the first probes of services that are found when ephd starts.
  if (watch.serving) timeoutMs = await whileReady(watch, ask, Math.random() * Math.min(watch.limits.checkMs, spreadMs), signal);
  while (!signal.aborted) {
    await untilReady(watch, ask, timeoutMs, signal);
    timeoutMs = await whileReady(watch, ask, watch.limits.checkMs, signal);
  }
};

type Ask = () => Promise<ProbeAnswer>;

/** Workers do not listen, so nobody is asked later. */
const settle = async (watch: ReadinessWatch, signal: AbortSignal): Promise<void> => {
  do await pause(watch.limits.settleMs, signal);
  while (!signal.aborted && !watch.ready());
};

/** Pauses are a fraction of the elapsed time, so that they add little to the service's own start time. */
const untilReady = async (watch: ReadinessWatch, ask: Ask, timeoutMs: number, signal: AbortSignal): Promise<void> => {
  const since = performance.now();
  const { probeFirstMs, probeSlowMs } = watch.limits;
  while (!signal.aborted) {
    const answer = await ask();
    if (signal.aborted || (answer.ready && watch.ready())) return;
    const elapsedMs = performance.now() - since;
    const late = elapsedMs > timeoutMs;
    if (late && !answer.ready) {
      watch.notReady(`It is not ready after ${timeoutMs / 1000} s: ${answer.why}. Does it listen on the port in PORT?`);
    }
    await pause(Math.min(Math.max(elapsedMs / 20, probeFirstMs), late ? latePauseMs : probeSlowMs), signal);
  }
};

/** Returns the next timeout until ready: infinite, because the failure is already reported. */
const whileReady = async (watch: ReadinessWatch, ask: Ask, firstPauseMs: number, signal: AbortSignal): Promise<number> => {
  const { checkMs } = watch.limits;
  let failures = 0;
  let delay = firstPauseMs;
  while (!signal.aborted) {
    await pause(delay, signal);
    if (signal.aborted) break;
    const answer = await ask();
    if (signal.aborted) break;
    failures = answer.ready ? 0 : failures + 1;
    delay = answer.ready ? checkMs : Math.min(failurePauseMs, checkMs);
    if (!answer.ready && failures === maxFailures) {
      watch.notReady(`It does not answer any more: ${answer.why}.`);
      break;
    }
  }
  return Number.POSITIVE_INFINITY;
};
