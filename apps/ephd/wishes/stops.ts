import { isEphError, type Log, type ProjectId, type SourceRef, sourceKey, toFailure } from '@eph/contract';
import type { Cancel, Clock } from '@eph/engine/loop/clock';
import type { Reporter } from '@eph/engine/report/reporter';
import type { Wishes } from './wishes.ts';

export interface StopsOptions {
  readonly projects: ReadonlyMap<ProjectId, { readonly reporter: Reporter }>;
  readonly wishes: Pick<Wishes, 'takeDown'>;
  /** Only who reconciles knows what stands where. */
  readonly isLeading: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** Every project has its turn so often, and with many projects no request follows another any sooner. */
const roundMs = 15_000;
const leastMs = 200;

/** Follows the stop buttons of forges. No forge tells when somebody presses one, so it is looked for, one project after another. */
export class Stops implements AsyncDisposable {
  readonly #options: StopsOptions;
  readonly #followed: readonly (readonly [ProjectId, FollowingReporter])[];
  readonly #stopping = new AbortController();
  #next = 0;
  #cancel: Cancel | undefined;
  #looking: Promise<void> = Promise.resolve();

  constructor(options: StopsOptions) {
    this.#options = options;
    this.#followed = [...options.projects].flatMap(([id, { reporter }]) =>
      isFollowing(reporter) ? [[id, reporter] as const] : [],
    );
    this.#plan();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#cancel?.();
    await this.#looking;
  }

  #plan(): void {
    const count = this.#followed.length;
    if (count === 0 || this.#stopping.signal.aborted) return;
    this.#cancel = this.#options.clock.after(Math.max(leastMs, roundMs / count), () => {
      this.#looking = this.#look(this.#next).finally(() => this.#plan());
      this.#next = (this.#next + 1) % count;
    });
  }

  async #look(index: number): Promise<void> {
    const [id, reporter] = this.#followed[index] ?? [];
    if (id === undefined || reporter === undefined || !this.#options.isLeading()) return;
    const { signal } = this.#stopping;
    try {
      await reporter.followStops((ref) => this.#takeDown(id, ref, signal), signal);
    } catch (error) {
      // The loop speaks to the same forge, and says so to people when it cannot.
      if (!signal.aborted) this.#options.log.debug({ project: id, ...toFailure(error) }, 'stops could not be followed');
    }
  }

  async #takeDown(project: ProjectId, ref: SourceRef, signal: AbortSignal): Promise<boolean> {
    const about = { project, source: sourceKey(ref) };
    try {
      const { because } = await this.#options.wishes.takeDown({ project, ref }, false, signal);
      this.#options.log.info({ ...about, because }, 'stopped on the forge');
      return true;
    } catch (error) {
      if (!isEphError(error) || error.code !== 'api.conflict') throw error;
      this.#options.log.warn({ ...about, because: error.message }, 'stopped on the forge, but it stays');
      return false;
    }
  }
}

type FollowingReporter = Reporter & Required<Pick<Reporter, 'followStops'>>;

const isFollowing = (reporter: Reporter): reporter is FollowingReporter => reporter.followStops !== undefined;
