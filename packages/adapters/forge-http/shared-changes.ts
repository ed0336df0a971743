import { type Answer, invalidAnswer, type Refusal } from './answer.ts';
import { type DatedPage, readPages } from './read-pages.ts';
import { createSingleFlight } from './single-flight.ts';

/**
 * One query for all repositories of an owner: which of their pull requests changed. In doubt a repository counts as
 * changed, and is read.
 *
 * Dates do not show deleted pull requests and comments, or renamed labels and repositories. Therefore a reading counts
 * as unchanged for at most ten minutes.
 */
export interface SharedChanges {
  /**
   * Whether the pull requests of a repository are unchanged since a reading that began at local time `since`, according
   * to a query that began at `asOf` or later. Rejects only after an abort.
   */
  isUnchanged(path: string, since: number, asOf: number, signal: AbortSignal): Promise<boolean>;
}

export interface ChangedPull {
  readonly id: number;
  readonly path: string;
}

export interface SharedChangesOptions {
  /** Pull requests of all repositories in any state, updated at `since` or later. The first page is `1`. */
  readonly readPage: (since: Date, page: string, signal: AbortSignal) => Promise<Answer<DatedPage<ChangedPull>>>;
  readonly shown: string;
  readonly now: () => number;
}

/** How long a reading counts as unchanged, and how long a forge that refuses or is too slow is not asked again. */
const maxAgeMs = 10 * 60_000;
/**
 * What the previous query may have missed: dates have whole seconds and precede the visible change, replicas lag, and
 * the date of a slow answer is that of its end.
 */
const overlapMs = 60_000;
const maxPages = 5;
/** For one query, which all repositories wait for. */
const timeoutMs = 10_000;

/** A period covered by queries without gaps. Forge times are by the forge's clock, all others by the local clock. */
interface Coverage {
  readonly forgeAtMs: number;
  /** End of the first query; earlier readings may have changed before it. */
  readonly from: number;
  readonly to: number;
}

type ChangesAnswer =
  | { readonly state: 'complete'; readonly forgeAtMs: number; readonly changed: readonly ChangedPull[] }
  | { readonly state: 'too many'; readonly forgeAtMs: number }
  | { readonly state: 'unknown'; readonly refusal: Refusal };

export const createSharedChanges = (options: SharedChangesOptions): SharedChanges => {
  const { readPage, shown, now } = options;
  const singleFlight = createSingleFlight<void>();
  /** End of the query that reported a change, by repository path. */
  const changed = new Map<string, number>();
  let coverage: Coverage | undefined;
  let last: { readonly beganAt: number; readonly isComplete: boolean } | undefined;
  let unavailableAt = Number.NEGATIVE_INFINITY;

  const readChanges = async (since: Date, signal: AbortSignal): Promise<ChangesAnswer> => {
    let forgeAtMs = Number.NaN;
    let isTooMany = false;
    const readBounded = async (page: string): Promise<Answer<DatedPage<ChangedPull>>> => {
      isTooMany = Number(page) > maxPages;
      if (isTooMany) return invalidAnswer(`Too many changes at ${shown} to read them all.`);
      const answer = await readPage(since, page, signal);
      if (answer.ok && page === '1') forgeAtMs = answer.value.readAtMs;
      return answer;
    };
    const listing = await readPages({ first: '1', readPage: readBounded, keyOf: ({ id }) => id, shown });
    if (!listing.complete && !isTooMany) return { state: 'unknown', refusal: listing.refusal };
    if (Number.isNaN(forgeAtMs))
      return { state: 'unknown', refusal: invalidAnswer(`${shown}: the answer has no valid Date header.`) };
    return listing.complete ? { state: 'complete', forgeAtMs, changed: listing.items } : { state: 'too many', forgeAtMs };
  };

  const restart = (forgeAtMs: number) => {
    changed.clear();
    coverage = { forgeAtMs, from: now(), to: now() };
  };

  const extend = (before: Coverage, forgeAtMs: number, pulls: readonly ChangedPull[]) => {
    const to = now();
    for (const [path, at] of changed) if (to - at > maxAgeMs) changed.delete(path);
    for (const { path } of pulls) changed.set(path.toLowerCase(), to);
    coverage = { ...before, forgeAtMs, to };
  };

  const update = async (signal: AbortSignal): Promise<void> => {
    const beganAt = now();
    // After such a gap most readings have expired, and the query would only grow.
    const before = coverage !== undefined && Math.abs(beganAt - coverage.to) < maxAgeMs ? coverage : undefined;
    // The first query is needed only for the date of its answer, so any time will do.
    const since = new Date(before === undefined ? beganAt : before.forgeAtMs - overlapMs);
    const limit = AbortSignal.timeout(timeoutMs);
    const answer = await readChanges(since, AbortSignal.any([signal, limit]));
    if (signal.aborted) return;
    last = { beganAt, isComplete: answer.state !== 'unknown' };
    if (answer.state === 'unknown') unavailableAt = limit.aborted || isRefusal(answer.refusal) ? beganAt : unavailableAt;
    // A forge clock that was set back dates changes before what is queried.
    else if (before === undefined || answer.state === 'too many' || answer.forgeAtMs < before.forgeAtMs - overlapMs)
      restart(answer.forgeAtMs);
    else extend(before, answer.forgeAtMs, answer.changed);
  };

  const ensureUpdated = async (asOf: number, signal: AbortSignal): Promise<boolean> => {
    // Without the condition, a clock that is set back would cause endless queries.
    while (asOf <= now()) {
      if (last !== undefined && last.beganAt >= asOf && last.beganAt <= now()) return last.isComplete;
      await singleFlight('update', update, signal);
    }
    return false;
  };

  const isCovered = (path: string, since: number): boolean => {
    const age = now() - since;
    if (coverage === undefined || since < coverage.from || age < 0 || age >= maxAgeMs) return false;
    return (changed.get(path.toLowerCase()) ?? coverage.from) <= since;
  };

  return {
    async isUnchanged(path, since, asOf, signal) {
      if (Math.abs(now() - unavailableAt) < maxAgeMs) return false;
      return (await ensureUpdated(asOf, signal)) && isCovered(path, since);
    },
  };
};

/** Users have no such list, nor do groups of which the token may see only a part. */
const isRefusal = ({ meaning }: Refusal): boolean => meaning === 'gone' || meaning === 'refused';
