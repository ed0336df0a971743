import type { EnvironmentId, UsageSample } from '@eph/contract';
import type { Clock } from '@eph/engine/time/clock';

export type ReadSample = (id: EnvironmentId) => Promise<UsageSample>;

interface Series {
  samples: readonly UsageSample[];
  askedAt: number;
}

const everyMs = 5_000;
const forgottenAfterMs = 60_000;
const kept = 60;

/** What environments have used lately: measured again and again while somebody asks, and forgotten soon after. */
export class UsageSamples {
  readonly #series = new Map<EnvironmentId, Series>();
  readonly #clock: Clock;
  readonly #read: ReadSample;

  constructor(clock: Clock, read: ReadSample) {
    this.#clock = clock;
    this.#read = read;
  }

  /** Oldest first; the last is from now. */
  async ask(id: EnvironmentId): Promise<readonly UsageSample[]> {
    const known = this.#series.get(id);
    if (known !== undefined) known.askedAt = this.#clock.now();
    const sample = await this.#read(id);
    const series = this.#series.get(id);
    if (series !== undefined) return [...series.samples, sample];
    const begun = { samples: [sample], askedAt: this.#clock.now() };
    this.#series.set(id, begun);
    this.#goOn(id, begun);
    return begun.samples;
  }

  #goOn(id: EnvironmentId, series: Series): void {
    this.#clock.after(everyMs, () => {
      if (this.#clock.now() - series.askedAt > forgottenAfterMs) return void this.#series.delete(id);
      void this.#read(id)
        .then((sample) => {
          series.samples = [...series.samples, sample].slice(-kept);
        })
        // The next one may be read again; a gap shows that this one was not.
        .catch(() => undefined)
        .finally(() => this.#goOn(id, series));
    });
  }
}
