import { isDeepStrictEqual } from 'node:util';
import type { EnvironmentId } from '@eph/contract';
import type { Report, Reporter } from './reporter.ts';

export interface FakeReporterOptions {
  /** Awaited before and after every report; may delay it or throw. */
  readonly disturb?: (moment: 'before' | 'after', report: Report) => Promise<void>;
}

/** A reporter in memory. */
export class FakeReporter implements Reporter {
  readonly reports = new Map<EnvironmentId, Report>();
  writes = 0;
  readonly #options: FakeReporterOptions;

  constructor(options: FakeReporterOptions = {}) {
    this.#options = options;
  }

  async ensure(report: Report): Promise<void> {
    await this.#options.disturb?.('before', report);
    if (!isDeepStrictEqual(this.reports.get(report.environment), report)) {
      this.reports.set(report.environment, report);
      this.writes += 1;
    }
    await this.#options.disturb?.('after', report);
  }
}
