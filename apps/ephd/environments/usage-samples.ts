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
    const series = known ?? { samples: [], askedAt: 0 };
    series.askedAt = this.#clock.now();
    this.#series.set(id, series);
    const sample = await this.#read(id);
    if (known === undefined) {
      series.samples = [sample];
      this.#goOn(id, series);
    }
    return known === undefined ? series.samples : [...series.samples, sample];
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
