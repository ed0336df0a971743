import type { EnvironmentId, Event } from '@eph/contract';

/**
 * History, for people. Nothing in it decides anything, and losing all of it changes nothing but history.
 *
 * Contract
 * - `append` returns at once, never throws, and never waits for storage. What does not fit in the bounded buffer, or cannot be
 *   stored in the end, is dropped and counted.
 * - Events are read back in the order they were appended, oldest first.
 * - `read` throws `store.unreachable` when there is no answer: absence of history is never invented.
 */
export interface EventLog {
  append(event: Event): void;
  /** The newest `limit` events that match, oldest first. */
  read(query: EventQuery): Promise<readonly Event[]>;
  health(): EventLogHealth;
  /** Waits until what was appended so far is stored or counted as lost. */
  flush(): Promise<void>;
}

export interface EventQuery {
  readonly environment?: EnvironmentId;
  readonly limit: number;
}

export interface EventLogHealth {
  readonly reachable: boolean;
  readonly buffered: number;
  readonly lost: number;
  /** Why it is not reachable; empty when it is. */
  readonly message: string;
}
