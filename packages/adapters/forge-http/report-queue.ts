import { type EnvironmentId, EphError, isEphError, type ReportView } from '@eph/contract';
import type { Report } from '@eph/engine/report/reporter';
import { createKeyedQueue } from './keyed-queue.ts';

export interface CommentOptions {
  readonly renderComment: (report: Report) => string;
  readonly computeStatus: (view: ReportView) => ComputedStatus;
  /** Whether pull requests get comments. */
  readonly comments: boolean;
}

export type ReporterOptions<Client> = CommentOptions & { readonly client: Client };

export interface ComputedStatus {
  readonly state: 'success' | 'pending' | 'failure' | 'inactive';
  readonly description: string;
}

export interface ReportQueue {
  readonly ensure: (report: Report, signal: AbortSignal) => Promise<void>;
  /** Runs work while no report about the same environment is being written. */
  readonly runExclusive: (environment: EnvironmentId, work: () => Promise<void>) => Promise<void>;
}

/** Writes one report per environment at a time, and only the newest. */
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

/** Writes a part of a report unless this process knows it to be written. Until the end of a write that is unknown: it may fail. */
export const createWriteOnce = () => {
  const known = new Map<string, string>();

  return async ({ environment, last }: Report, part: string, wanted: unknown, write: () => Promise<void>): Promise<void> => {
    const [key, text] = [`${environment} ${part}`, JSON.stringify(wanted)];
    if (known.get(key) === text) return;
    known.delete(key);
    await write();
    if (!last) known.set(key, text);
  };
};

/** Phases in which something may answer at the address. */
export const reachable: ReadonlySet<ReportView['phase']> = new Set(['Progressing', 'Ready', 'Degraded']);

const reportError = (error: unknown): unknown => {
  if (!isEphError(error) || error.code === 'report.failed') return error;
  const { message, retryAfterMs } = error;
  return new EphError('report.failed', `The report could not be written: ${message}`, { cause: error, retryAfterMs });
};
