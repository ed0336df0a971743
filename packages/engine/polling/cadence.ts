import type { ProjectId } from '@eph/contract';
import type { Cancel, Clock } from '../time/clock.ts';

const ordinaryMs = 30_000;
const activeMs = 10_000;
const quietWeekendMs = 120_000;
const activityWindowMs = 2 * 60_000;

/**
 * How long until the next full pass. Webhooks and watches make Eph quick; the pass is what makes it right when they are lost, so
 * it never stops, and only slows down when nobody is likely to look. The tenth either way keeps several ephd from asking a
 * forge in step.
 */
export const passIntervalMs = (now: number, lastActivity: number, random: () => number): number => {
  const day = new Date(now).getUTCDay();
  const active = now - lastActivity < activityWindowMs;
  const whole = active ? activeMs : day === 0 || day === 6 ? quietWeekendMs : ordinaryMs;
  return whole * (0.9 + 0.2 * random());
};

/** Calls for the next pass in time, and knows how long a pass takes. */
export class PassTimer {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #call: () => void;
  #lastActivity = Number.NEGATIVE_INFINITY;
  #nextAt = Number.NEGATIVE_INFINITY;
  #cancel: Cancel | undefined;
  #startedAt = 0;
  /** Projects that the current pass has not read yet. */
  #left = new Set<ProjectId>();

  constructor(clock: Clock, random: () => number, call: () => void) {
    this.#clock = clock;
    this.#random = random;
    this.#call = call;
  }

  begin(projects: Iterable<ProjectId>): void {
    this.#startedAt = this.#clock.now();
    this.#left = new Set(projects);
    this.#scheduleIn(passIntervalMs(this.#startedAt, this.#lastActivity, this.#random));
  }

  /** How long the pass took, if this was its last project. */
  finish(project: ProjectId): number | undefined {
    return this.#left.delete(project) && this.#left.size === 0 ? this.#clock.now() - this.#startedAt : undefined;
  }

  /** Somebody is at work: the next pass comes soon, also if it was planned for later while nobody was. */
  noteActivity(): void {
    const now = this.#clock.now();
    this.#lastActivity = now;
    const soonMs = passIntervalMs(now, now, this.#random);
    if (this.#nextAt > now + soonMs) this.#scheduleIn(soonMs);
  }

  cancel(): void {
    this.#cancel?.();
  }

  #scheduleIn(ms: number): void {
    this.#cancel?.();
    this.#nextAt = this.#clock.now() + ms;
    this.#cancel = this.#clock.after(ms, this.#call);
  }
}
