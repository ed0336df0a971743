import { isEphError } from '@eph/contract';
import { digestText, mix } from './random.ts';

export type Operation =
  | 'list'
  | 'ensure'
  | 'remove'
  | 'hold'
  | 'sources'
  | 'source'
  | 'readFile'
  | 'committedAt'
  | 'readNote'
  | 'find'
  | 'inspect'
  | 'tags'
  | 'deliver';
export type Moment = 'before' | 'during' | 'after';

/** What a reading loses. A lying one is called complete nevertheless. */
export type Loss = 'half' | 'empty' | 'torn' | 'lying half' | 'lying empty';

/** A call of the engine to a forge, a provider, a registry or the reporter. */
export interface Call {
  readonly operation: Operation;
  /** The key whose run made it. */
  readonly key: string;
  readonly about: string;
  /** Who answers: a project for its forge, a provider, the registry, or the reporter. */
  readonly party: string;
  readonly signal: AbortSignal | undefined;
  loss: Loss | undefined;
}

export interface Waiting {
  /** Identifies the call, whatever other calls there are. */
  readonly mark: number;
  readonly call: Call;
  readonly moment: Moment;
  readonly goOn: () => void;
  readonly fail: (error: Error) => void;
}

/**
 * The calls under way. Each waits at every moment until it is let go, so that the order in which calls are let go decides how the
 * workers interleave.
 */
export class Calls {
  /** Parties that do not answer: their calls wait. */
  readonly hung = new Set<string>();
  #waiting: Waiting[] = [];

  pause(call: Call, moment: Moment): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const mark = digestText(0, `${call.operation} ${call.key} ${call.about} ${moment}`);
    this.#waiting.push({ mark, call, moment, goOn: resolve, fail: reject });
    return promise;
  }

  /**
   * Takes the call whose hash of seed and mark is lowest: with the same seed it is the same call as long as it is there, whatever
   * other calls there are.
   */
  take(seed: number): Waiting | undefined {
    let best = -1;
    let lowest = Number.POSITIVE_INFINITY;
    for (const [index, { mark, call }] of this.#waiting.entries()) {
      const hash = mix(seed, mark);
      if (hash >= lowest || this.hung.has(call.party)) continue;
      best = index;
      lowest = hash;
    }
    return best === -1 ? undefined : this.#waiting.splice(best, 1)[0];
  }

  /** Takes this call at its next moment. */
  takeAgain(call: Call): Waiting | undefined {
    const index = this.#waiting.findIndex((one) => one.call === call);
    return index === -1 || this.hung.has(call.party) ? undefined : this.#waiting.splice(index, 1)[0];
  }

  /** Takes another listing that the same run waits for. */
  takeAlike({ key, operation }: Call): Waiting | undefined {
    if (operation !== 'list' || !key.startsWith('environment:')) return undefined;
    const index = this.#waiting.findIndex(
      ({ call }) => call.key === key && call.operation === operation && !this.hung.has(call.party),
    );
    return index === -1 ? undefined : this.#waiting.splice(index, 1)[0];
  }

  /** Nobody waits for this call any more. */
  withdraw(call: Call): void {
    this.#waiting = this.#waiting.filter((one) => one.call !== call);
  }

  /** The process has crashed: none of its calls goes on. */
  drop(): void {
    this.#waiting = [];
  }
}

/** The engine did not get the answer in time. The signal of a run that was superseded has another reason. */
export const isGivenUp = ({ signal }: Call): boolean => signal?.aborted === true && isEphError(signal.reason);

/** What happens when the call goes on from here. */
export const describeProgress = ({ call: { operation, about }, moment }: Waiting): string => {
  const effect = operation === 'ensure' || operation === 'remove';
  const after = moment === 'after' ? 'returns' : moment === 'during' || !effect ? 'takes place' : 'half takes place';
  return `${operation} ${about} ${after}`;
};

/** Resolves when the engine can do nothing before a call or the clock goes on. */
export const untilBlocked = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
