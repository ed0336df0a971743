import { setTimeout as delay } from 'node:timers/promises';

/** Resolves after a time, or when the signal aborts. It never rejects: callers check the signal. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> => delay(ms, undefined, { signal }).catch(() => undefined);
