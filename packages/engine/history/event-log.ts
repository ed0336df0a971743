import type { EnvironmentId, Event } from '@eph/contract';

/**
 * History for people. Nothing reads it to decide anything.
 *
 * Contract
 * - `append` returns at once, never throws and never waits for storage. What does not fit in the bounded buffer, or
 *   cannot be stored in the end, is dropped and counted.
 * - Events are read back in the order they were appended, oldest first.
 * - `read` throws `store.unreachable` if storage does not answer. It never reports an empty history instead.
 */
export interface EventLog {
  append(event: Event): void;
  /** The newest `limit` events that match, oldest first. */
  read(query: EventQuery): Promise<readonly Event[]>;
  health(): EventLogHealth;
  /** Waits until everything appended so far is stored or counted as lost. */
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
  readonly message: string;
}
