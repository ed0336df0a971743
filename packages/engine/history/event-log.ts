import type { Event, EventFilter, EventId, StoredEvent } from '@eph/contract';

/**
 * History for people. Nothing reads it to decide anything.
 *
 * Contract
 * - `append` returns at once, never throws and never waits for storage. Secrets are removed and long texts are cut here.
 *   What does not fit in the bounded buffer, or cannot be stored in the end, is dropped and counted, audit events last.
 * - A stored event has an id. Ids are unique and grow in the order in which events become visible to readers, whoever
 *   stored them. So a reader that goes on after the last id it has seen gets every later event exactly once. New ids are
 *   greater than old ones even if storage was lost or restored from a backup, unless its clock went back as well.
 * - Events of one process are read back in the order they were appended.
 * - `read` throws `store.unreachable` if storage does not answer. It never reports an empty history instead.
 * - Of each type the newest events are kept, so that a frequent type does not push out a rare one.
 */
export interface EventLog {
  append(event: Event): void;
  /** Oldest first. With `after`, the first `limit` that match, otherwise the last `limit`. */
  read(query: EventQuery): Promise<readonly StoredEvent[]>;
  /** Ends when the signal is aborted or the log is closed. Each call of `follow` is one reader. */
  follow(query: FollowQuery, signal: AbortSignal): AsyncIterable<FollowEntry>;
  health(): EventLogHealth;
  /** Waits until everything appended so far is stored or counted as lost. */
  flush(): Promise<void>;
}

export interface EventQuery extends EventFilter {
  /** `beforeAllEvents` begins with the oldest. */
  readonly after?: EventId;
  readonly before?: EventId;
  /**
   * When it happened: not before `since`, and before `until`. With these, events may be left out if some were stored more
   * than a day after they happened.
   */
  readonly since?: Date;
  readonly until?: Date;
  readonly limit: number;
}

export interface FollowQuery extends EventFilter {
  /** Without it, only events are shown that are stored after the follower has begun. */
  readonly after?: EventId;
}

/**
 * What a follower sees.
 * - `stored`: events in the order of their ids, those of this process without delay, those of others within a second or
 *   two.
 * - `storage`: storage was lost, or is back.
 * - `unstored`: while storage is lost, what this process appends. It has no id yet and is not repeated to this follower
 *   when it is stored. A reader that resumes after an id sees it again, with its id.
 * - `lagging`: the last entry. The follower was so slow during a loss of storage that entries were dropped; it should
 *   resume later. With storage, a slow follower misses nothing: it reads again what is no longer in memory.
 */
export type FollowEntry =
  | { readonly kind: 'stored'; readonly event: StoredEvent }
  | { readonly kind: 'unstored'; readonly event: Event }
  | { readonly kind: 'storage'; readonly reachable: boolean; readonly message: string }
  | { readonly kind: 'lagging' };

export interface EventLogHealth {
  readonly reachable: boolean;
  readonly buffered: number;
  readonly lost: number;
  /** How many of the lost ones were audit events. */
  readonly lostAudit: number;
  readonly message: string;
}
