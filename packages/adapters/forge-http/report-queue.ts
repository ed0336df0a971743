import { type EnvironmentId, EphError, isEphError, type ReportView } from '@eph/contract';
import type { Report } from '@eph/engine/report/reporter';
import { createKeyedQueue } from './keyed-queue.ts';

export interface ReportQueue {
  /** As the seam promises it. */
  readonly ensure: (report: Report, signal: AbortSignal) => Promise<void>;
  /** What must not meet a report about the same environment that is being written. */
  readonly runExclusive: (environment: EnvironmentId, work: () => Promise<void>) => Promise<void>;
}

/** Reports about one environment follow one another, and only the newest still counts when its turn comes. */
export const createReportQueue = (write: (report: Report, signal: AbortSignal) => Promise<void>): ReportQueue => {
  const newest = new Map<EnvironmentId, Report>();
  const enqueue = createKeyedQueue();

  return {
    async ensure(report, signal) {
      const { environment } = report;
      newest.set(environment, report);
      try {
        await enqueue(environment, () => write(newest.get(environment) ?? report, signal));
      } catch (error) {
        signal.throwIfAborted();
        throw reportError(error);
      } finally {
        if (newest.get(environment) === report) newest.delete(environment);
      }
    },

    runExclusive: (environment, work) => enqueue(environment, work),
  };
};

/** While something may answer there. */
export const reachable: ReadonlySet<ReportView['phase']> = new Set(['Progressing', 'Ready', 'Degraded']);

const reportError = (error: unknown): unknown => {
  if (!isEphError(error) || error.code === 'report.failed') return error;
  const { message, retryAfterMs } = error;
  const options = { cause: error, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  return new EphError('report.failed', `The report could not be written: ${message}`, options);
};
