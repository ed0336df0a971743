import { digestText, mix } from './random.ts';

export type Operation = 'list' | 'ensure' | 'remove' | 'sources' | 'source' | 'readFile' | 'deliver';
export type Moment = 'before' | 'during' | 'after';

/** What happens to a reading on its way. Whoever lies calls it complete nevertheless. */
export type Loss = 'half' | 'empty' | 'torn' | 'lying half' | 'lying empty';

/** Something the engine asked of the world. */
export interface Call {
  readonly operation: Operation;
  /** The key whose run asked. */
  readonly key: string;
  readonly about: string;
  /** Who has to answer. */
  readonly party: string;
  loss: Loss | undefined;
}

export interface Waiting {
  /** Tells it from others, and stays the same when other calls come or go. */
  readonly mark: number;
  readonly call: Call;
  readonly moment: Moment;
  readonly goOn: () => void;
  readonly fail: (error: Error) => void;
}

/**
 * The calls under way. Each stands still at every moment it passes until somebody lets it go on, so that who decides the order
 * decides how the workers interleave.
 */
export class Calls {
  #waiting: Waiting[] = [];

  pause(call: Call, moment: Moment): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const mark = digestText(0, `${call.operation} ${call.key} ${call.about} ${moment}`);
    this.#waiting.push({ mark, call, moment, goOn: resolve, fail: reject });
    return promise;
  }

  get count(): number {
    return this.#waiting.length;
  }

  /**
   * One of them. Each gets a lot from the seed and its mark, and the lowest wins: with the same seed it is the same one as long as
   * it is there, whoever else is.
   */
  take(seed: number): Waiting | undefined {
    let best = -1;
    let lowest = Number.POSITIVE_INFINITY;
    for (const [index, { mark }] of this.#waiting.entries()) {
      const lot = mix(seed, mark);
      if (lot >= lowest) continue;
      best = index;
      lowest = lot;
    }
    return best === -1 ? undefined : this.#waiting.splice(best, 1)[0];
  }

  /** The process is gone: nothing that it asked goes on, and nobody hears an answer. */
  drop(): void {
    this.#waiting = [];
  }
}

/** What going on from here means. */
export const describeProgress = ({ call: { operation, about }, moment }: Waiting): string => {
  const effect = operation === 'ensure' || operation === 'remove';
  const after = moment === 'after' ? 'returns' : moment === 'during' || !effect ? 'takes place' : 'half takes place';
  return `${operation} ${about} ${after}`;
};

/** Resolves when the engine can do nothing more before a call or the clock goes on. */
export const quiet = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
