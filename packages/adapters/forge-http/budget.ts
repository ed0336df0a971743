export interface Budget {
  readonly limit: number;
  readonly remaining: number;
  /** When the limit resets, in milliseconds since 1970 of the local clock. */
  readonly resetAt: number;
}

/** No forge uses windows of more than an hour; a longer pause comes from a broken header or clock. */
export const maxPauseMs = 3_600_000;

/** GitHub sends `x-ratelimit-…`, GitLab `ratelimit-…`. Undefined if they are absent or invalid. */
export const parseBudget = (headers: Headers, now: number): Budget | undefined => {
  const read = (name: string): number | undefined =>
    parseCount(headers.get(`x-ratelimit-${name}`) ?? headers.get(`ratelimit-${name}`));
  const [limit, remaining, reset] = [read('limit'), read('remaining'), read('reset')];
  if (limit === undefined || remaining === undefined || reset === undefined) return undefined;
  return { limit, remaining, resetAt: now + pauseUntil(resetMs(reset, headers, now), headers, now) };
};

export const parseRetryAfter = (headers: Headers, now: number): number | undefined => {
  const text = headers.get('retry-after');
  if (text === null) return undefined;
  const seconds = parseCount(text);
  if (seconds !== undefined) return Math.min(seconds * 1_000, maxPauseMs);
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : pauseUntil(at, headers, now);
};

/** Forges send either a Unix time or a number of seconds from now. */
const resetMs = (seconds: number, headers: Headers, now: number): number =>
  seconds > 1_000_000_000 ? seconds * 1_000 : serverTime(headers, now) + seconds * 1_000;

/** Both times by the server's clock, so that skew of the local clock does not matter. */
const pauseUntil = (at: number, headers: Headers, now: number): number =>
  Math.min(Math.max(at - serverTime(headers, now), 0), maxPauseMs);

const serverTime = (headers: Headers, now: number): number => {
  const at = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(at) ? now : at;
};

const parseCount = (text: string | null): number | undefined =>
  text !== null && /^\d{1,15}$/.test(text.trim()) ? Number(text) : undefined;
