import type { ComponentName, EnvironmentId } from '@eph/contract';
import type { Clock } from '@eph/engine/time/clock';

/** What is undone again and again is put right less and less often. */
const firstWaitMs = 2_000;
const longestWaitMs = 5 * 60_000;
/** What stayed right for so long begins anew. */
const forgivenMs = 10 * 60_000;

interface Repair {
  readonly at: number;
  readonly inARow: number;
}

/** When objects that others changed were put right, so that a fight with somebody else costs little. */
export class Repairs {
  readonly #clock: Clock;
  readonly #last = new Map<string, Repair>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  note(environment: EnvironmentId, component: ComponentName): void {
    const key = `${environment}/${component}`;
    const before = this.#last.get(key);
    const now = this.#clock.now();
    const isRepeated = before !== undefined && now - before.at < forgivenMs;
    this.#last.delete(key);
    this.#last.set(key, { at: now, inARow: isRepeated ? before.inARow + 1 : 0 });
    for (const [old, { at }] of this.#last) {
      if (now - at < forgivenMs) break;
      this.#last.delete(old);
    }
  }

  /** Zero where it may be put right now. */
  waitMs(environment: EnvironmentId, component: ComponentName): number {
    const last = this.#last.get(`${environment}/${component}`);
    if (last === undefined) return 0;
    const wait = Math.min(longestWaitMs, firstWaitMs * 2 ** last.inARow);
    return Math.max(0, Math.min(wait, last.at + wait - this.#clock.now()));
  }

  isTooSoon(environment: EnvironmentId, component: ComponentName): boolean {
    return this.waitMs(environment, component) > 0;
  }
}
