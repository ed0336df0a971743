import { type EnvironmentId, type EnvironmentStatus, EphError, type ProjectId, type StreamItem } from '@eph/contract';
import type { EnvironmentRecord } from '@eph/engine/loop/record';

export type StatusChange = Extract<StreamItem, { readonly type: 'status' | 'gone' }> & {
  readonly environment: EnvironmentId;
  readonly project: ProjectId;
};

interface Follower {
  /** Of each environment the newest one; undefined once there were too many. */
  waiting: Map<EnvironmentId, StatusChange> | undefined;
  wake: () => void;
}

/** How many environments may change while a follower does not read. */
const mostWaiting = 10_000;

/** What environments are, for those who follow it. */
export class StatusChanges {
  readonly #last = new Map<EnvironmentId, Extract<StatusChange, { readonly type: 'status' }>>();
  readonly #followers = new Set<Follower>();

  update({ id, name, project }: EnvironmentRecord, { phase, summary }: Pick<EnvironmentStatus, 'phase' | 'summary'>): void {
    const last = this.#last.get(id);
    if (last?.phase === phase && last.summary === summary) return;
    const change = { type: 'status', environment: id, name, project, phase, summary } as const;
    this.#last.set(id, change);
    this.#publish(change);
  }

  remove(environment: EnvironmentId): void {
    const last = this.#last.get(environment);
    if (last === undefined) return;
    this.#last.delete(environment);
    this.#publish({ type: 'gone', environment, name: last.name, project: last.project });
  }

  /** Another ephd leads: what environments are is not known here any more. */
  clear(): void {
    this.#last.clear();
  }

  /**
   * Changes from now on, until the signal aborts. Of several changes of one environment, a slow follower gets the last.
   * @param matches asked when a change would be returned
   */
  follow(matches: (change: StatusChange) => boolean, signal: AbortSignal): AsyncIterable<StatusChange> {
    const follower: Follower = { waiting: new Map(), wake: () => undefined };
    this.#followers.add(follower);
    const end = (): void => {
      this.#followers.delete(follower);
      follower.wake();
    };
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
    return readChanges(follower, matches, signal);
  }

  #publish(change: StatusChange): void {
    for (const follower of this.#followers) {
      follower.waiting?.set(change.environment, change);
      if ((follower.waiting?.size ?? 0) > mostWaiting) follower.waiting = undefined;
      follower.wake();
    }
  }
}

async function* readChanges(
  follower: Follower,
  matches: (change: StatusChange) => boolean,
  signal: AbortSignal,
): AsyncGenerator<StatusChange, void> {
  while (!signal.aborted) {
    const { waiting } = follower;
    if (waiting === undefined) throw new EphError('api.too_slow', 'more environments changed than ephd keeps for a slow reader');
    const [next] = waiting.values();
    if (next === undefined)
      await new Promise<void>((resolve) => {
        follower.wake = resolve;
      });
    else {
      waiting.delete(next.environment);
      if (matches(next)) yield next;
    }
  }
}
