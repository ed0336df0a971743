import { hash } from 'node:crypto';
import { type CommitSha, type EnvironmentId, type Failure, type ProjectId, type ReportView, toFailure } from '@eph/contract';
import type { Clock } from '../time/clock.ts';
import { Queue } from './queue.ts';

interface Report {
  readonly project: ProjectId;
  readonly environment: EnvironmentId;
  /** Where people look for it: the same on another commit is news. */
  readonly commit: CommitSha;
  readonly view: ReportView;
}

/**
 * How long a report waits for a newer one: several follow each other while an environment starts. Short for a person, long enough for
 * a small environment to get ready, so that only the outcome is reported.
 */
const settleMs = 500;

/**
 * How many are delivered at once. A reporter may write what comes together in one go: a repository with a hundred environments then
 * gets a few commits with notes and not a hundred. Forges are asked no faster than their gates allow.
 */
const workers = 32;

/** Delivers the newest report of each environment, beside the loop: a slow or refusing forge never holds up an environment. */
export class Reports<R extends Report> {
  readonly #queue: Queue<EnvironmentId>;
  readonly #pending = new Map<EnvironmentId, R>();
  /** The mark of the newest report of each; the reports themselves would be a large part of all that is remembered. */
  readonly #newest = new Map<EnvironmentId, string>();
  /** Environments whose pending report is their last. */
  readonly #last = new Set<EnvironmentId>();

  constructor(
    options: {
      readonly clock: Clock;
      readonly random: () => number;
      readonly onFailure: (key: string, failure: Failure) => void;
    },
    deliver: (report: R, signal: AbortSignal) => Promise<void>,
  ) {
    const queue: Queue<EnvironmentId> = new Queue<EnvironmentId>(
      {
        clock: options.clock,
        random: options.random,
        workers,
        onThrow: (key, error) => options.onFailure(key, toFailure(error)),
      },
      async (id, signal): Promise<void> => {
        const report = this.#pending.get(id);
        if (report === undefined) return;
        try {
          await deliver(report, signal);
        } catch (error) {
          if (signal.aborted) return;
          const failure = toFailure(error);
          options.onFailure(`report:${id}`, failure);
          queue.retry(id, failure.retryAfterMs ?? 1000);
          return;
        }
        queue.forget(id);
        if (this.#pending.get(id) !== report) return queue.add(id);
        this.#pending.delete(id);
        if (this.#last.delete(id)) this.#newest.delete(id);
      },
    );
    this.#queue = queue;
  }

  publish(report: R): void {
    const { environment } = report;
    const mark = markOf(report);
    if (this.#newest.get(environment) === mark) return;
    this.#newest.set(environment, mark);
    this.#pending.set(environment, report);
    this.#last.delete(environment);
    // Nobody waits for news as for this, and nothing newer is to be expected.
    if (report.view.phase === 'Ready') this.#queue.add(environment);
    else this.#queue.addAfter(environment, settleMs);
  }

  /** The environment is gone and this was its last report. */
  conclude(report: R): void {
    this.publish(report);
    if (this.#pending.has(report.environment)) this.#last.add(report.environment);
    else this.#newest.delete(report.environment);
  }

  /** Reports that nobody can deliver any more, as their projects have left. */
  drop(projects: ReadonlySet<ProjectId>): void {
    for (const [id, { project }] of this.#pending) {
      if (!projects.has(project)) continue;
      this.#pending.delete(id);
      this.#newest.delete(id);
      this.#last.delete(id);
      this.#queue.supersede(id);
    }
  }

  /** How many have not been delivered yet. */
  get waiting(): number {
    return this.#pending.size;
  }

  idle(): Promise<void> {
    return this.#queue.idle();
  }

  close(): Promise<void> {
    return this.#queue.close();
  }
}

const markOf = ({ commit, view }: Report): string => hash('sha256', `${commit} ${JSON.stringify(view)}`, 'base64');
