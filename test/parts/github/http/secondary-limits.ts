export interface SecondaryLimitOptions {
  /** Concurrent requests. */
  readonly concurrent: number;
  /** A read counts one point, a write five. */
  readonly pointsPerMinute: number;
  /** Requests that create content with notifications. */
  readonly contentPerMinute: number;
}

/** As GitHub documents them. They count every request, also the ones that are answered with 304. */
export const githubSecondaryLimits: SecondaryLimitOptions = { concurrent: 100, pointsPerMinute: 900, contentPerMinute: 80 };

interface Spent {
  readonly at: number;
  readonly points: number;
  readonly content: boolean;
}

const windowMs = 60_000;

export class SecondaryLimits {
  readonly #options: SecondaryLimitOptions | undefined;
  readonly #now: () => number;
  readonly #spent = new Map<string, Spent[]>();
  #underWay = 0;

  constructor(options: SecondaryLimitOptions | undefined, now: () => number) {
    this.#options = options;
    this.#now = now;
  }

  /** Seconds to wait, if this request exceeds a limit. */
  enter(budget: string, method: string): number | undefined {
    this.#underWay += 1;
    if (this.#options === undefined) return undefined;
    const now = this.#now();
    const recent = (this.#spent.get(budget) ?? []).filter(({ at }) => at > now - windowMs);
    const isRead = method === 'GET' || method === 'HEAD';
    recent.push({ at: now, points: isRead ? 1 : 5, content: method === 'POST' });
    this.#spent.set(budget, recent);
    return this.#isTooMuch(recent, this.#options) ? this.#secondsUntilFree(recent, now) : undefined;
  }

  leave(): void {
    this.#underWay -= 1;
  }

  #isTooMuch(recent: readonly Spent[], { concurrent, pointsPerMinute, contentPerMinute }: SecondaryLimitOptions): boolean {
    const points = recent.reduce((sum, entry) => sum + entry.points, 0);
    const content = recent.filter((entry) => entry.content).length;
    return this.#underWay > concurrent || points > pointsPerMinute || content > contentPerMinute;
  }

  #secondsUntilFree(recent: readonly Spent[], now: number): number {
    const oldest = recent[0]?.at ?? now;
    return Math.max(1, Math.ceil((oldest + windowMs - now) / 1000));
  }
}
