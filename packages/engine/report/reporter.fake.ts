import { isDeepStrictEqual } from 'node:util';
import type { EnvironmentId } from '@eph/contract';
import type { Report, Reporter } from './reporter.ts';

export interface FakeReporterOptions {
  /** Called around every report, awaited; may delay it or throw to make it fail before or after it took hold. */
  readonly disturb?: (moment: 'before' | 'after', report: Report) => Promise<void>;
}

/** Keeps the contract of a reporter in memory. */
export class FakeReporter implements Reporter {
  /** What people see of each environment now. */
  readonly reports = new Map<EnvironmentId, Report>();
  /** How often something people see was changed. */
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
