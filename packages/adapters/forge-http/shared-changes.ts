import { type Answer, invalidAnswer, type Refusal } from './answer.ts';
import { type Page, readPages } from './read-pages.ts';
import { createSingleFlight } from './single-flight.ts';

/**
 * One look for all repositories of an owner: which of their pull requests changed. What it cannot tell apart from a change counts as
 * one, so nothing worse follows from doubt than that a repository is read.
 *
 * What moves no date is not seen: a pull request or a comment that was deleted, a label or a repository under another name. Readings are
 * believed for ten minutes only, and so is that nothing of the kind happened.
 */
export interface SharedChanges {
  /**
   * Whether the pull requests of a repository are as they were when a reading of them began, at our time `since`; as known by a look
   * that began at `asOf` or later. Rejects only when the signal is aborted.
   */
  isUnchanged(path: string, since: number, asOf: number, signal: AbortSignal): Promise<boolean>;
}

export interface ChangedPull {
  readonly id: number;
  /** Of its repository. */
  readonly path: string;
}

export interface ChangedPage extends Page<ChangedPull> {
  /** When the forge said so, by its own watch; not a number when it did not say. */
  readonly readAtMs: number;
}

export interface SharedChangesOptions {
  /** Of the pull requests of all repositories, in whatever state, that were updated at `since` or later. The first page is `1`. */
  readonly readPage: (since: Date, page: string, signal: AbortSignal) => Promise<Answer<ChangedPage>>;
  /** Whose repositories, for people. */
  readonly shown: string;
  readonly now: () => number;
  /** For one look: everybody waits for it. */
  readonly timeoutMs?: number;
}

/** So long a reading is believed, and so long a forge that refuses such looks, or takes too long for them, is not asked for another. */
const maxAgeMs = 10 * 60_000;
/**
 * What the look before may have missed: dates have whole seconds, are written before the change can be seen, and replicas lag. And the
 * date of an answer that took its time is that of its end.
 */
const overlapMs = 60_000;
const maxPages = 5;

/** Looks without a gap between them. Forge times are by the watch of the forge, all others by ours: the two need not agree. */
interface Coverage {
  /** When the forge answered the last one. */
  readonly forgeAtMs: number;
  /** When the first one was over; what was read before may have changed before anybody looked. */
  readonly from: number;
  /** When the last one was over. */
  readonly to: number;
}

type ChangesAnswer =
  | { readonly state: 'complete'; readonly forgeAtMs: number; readonly changed: readonly ChangedPull[] }
  | { readonly state: 'too many'; readonly forgeAtMs: number }
  | { readonly state: 'unknown'; readonly refusal: Refusal };

export const createSharedChanges = (options: SharedChangesOptions): SharedChanges => {
  const { readPage, shown, now, timeoutMs = 10_000 } = options;
  const singleFlight = createSingleFlight<void>();
  /** When the look that told of a change was over, by the path of the repository. */
  const changed = new Map<string, number>();
  let coverage: Coverage | undefined;
  let last: { readonly beganAt: number; readonly isComplete: boolean } | undefined;
  let unavailableAt = Number.NEGATIVE_INFINITY;

  const readChanges = async (since: Date, signal: AbortSignal): Promise<ChangesAnswer> => {
    let forgeAtMs = Number.NaN;
    let isTooMany = false;
    const readBounded = async (page: string): Promise<Answer<ChangedPage>> => {
      isTooMany = Number(page) > maxPages;
      if (isTooMany) return invalidAnswer(`More changed at ${shown} than is worth reading.`);
      const answer = await readPage(since, page, signal);
      if (answer.ok && page === '1') forgeAtMs = answer.value.readAtMs;
      return answer;
    };
    const listing = await readPages({ first: '1', readPage: readBounded, keyOf: ({ id }) => id, shown });
    if (!listing.complete && !isTooMany) return { state: 'unknown', refusal: listing.refusal };
    if (Number.isNaN(forgeAtMs))
      return { state: 'unknown', refusal: invalidAnswer(`${shown}: the forge does not say what time it is.`) };
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
    // After such a gap most readings are too old to be believed, and what would have to be asked for only grows.
    const before = coverage !== undefined && Math.abs(beganAt - coverage.to) < maxAgeMs ? coverage : undefined;
    // Of the first look only the date of its answer counts, so any time will do.
    const since = new Date(before === undefined ? beganAt : before.forgeAtMs - overlapMs);
    const limit = AbortSignal.timeout(timeoutMs);
    const answer = await readChanges(since, AbortSignal.any([signal, limit]));
    if (signal.aborted) return;
    last = { beganAt, isComplete: answer.state !== 'unknown' };
    if (answer.state === 'unknown') unavailableAt = limit.aborted || isRefusal(answer.refusal) ? beganAt : unavailableAt;
    // A watch that was set back dates changes before what is asked for.
    else if (before === undefined || answer.state === 'too many' || answer.forgeAtMs < before.forgeAtMs - overlapMs)
      restart(answer.forgeAtMs);
    else extend(before, answer.forgeAtMs, answer.changed);
  };

  const ensureUpdated = async (asOf: number, signal: AbortSignal): Promise<boolean> => {
    // Without the condition, a watch that is set back meanwhile would have it look again and again.
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

/** A user in the place of a group has no such list, and nor has a group for somebody who may see only some of what is in it. */
const isRefusal = ({ meaning }: Refusal): boolean => meaning === 'gone' || meaning === 'refused';
