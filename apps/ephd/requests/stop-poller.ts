import {
  type EnvironmentId,
  type EnvironmentName,
  isEphError,
  type Log,
  type ProjectId,
  type SourceRef,
  toFailure,
} from '@eph/contract';
import { identify } from '@eph/engine/desired/identity';
import type { Reporter } from '@eph/engine/report/reporter';
import type { Cancel, Clock } from '@eph/engine/time/clock';
import { type AuditOptions, recordStop } from '../api/audit.ts';
import type { EnvironmentRequests } from './environment-requests.ts';

export interface StopPollerOptions {
  readonly projects: ReadonlyMap<ProjectId, { readonly reporter: Reporter }>;
  /** Projects with environments; none unless this ephd leads. */
  readonly activeProjects: () => ReadonlySet<ProjectId>;
  readonly requests: Pick<EnvironmentRequests, 'takeDown'>;
  readonly nameOf: (id: EnvironmentId) => EnvironmentName | undefined;
  readonly audit: AuditOptions;
  readonly clock: Clock;
  readonly log: Log;
}

/** How often each project is polled. */
const roundMs = 20_000;
/** Between two polls, so that with many projects a round takes longer. */
const minimumPauseMs = 1_000;

/** Follows the stop buttons of forges. No forge sends a webhook for them, so it polls one project after another. */
export class StopPoller implements AsyncDisposable {
  readonly #options: StopPollerOptions;
  readonly #stopping = new AbortController();
  /** The projects still to be polled, and the pause between two. */
  #round: { readonly left: ProjectId[]; readonly pauseMs: number } = { left: [], pauseMs: roundMs };
  #cancel: Cancel | undefined;
  #polling: Promise<void> = Promise.resolve();

  constructor(options: StopPollerOptions) {
    this.#options = options;
    this.#schedule();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#cancel?.();
    await this.#polling;
  }

  #schedule(): void {
    this.#cancel = this.#options.clock.after(this.#round.pauseMs, () => {
      this.#polling = this.#next();
    });
  }

  async #next(): Promise<void> {
    if (this.#round.left.length === 0) this.#round = this.#beginRound();
    const id = this.#round.left.shift();
    if (id !== undefined) await this.#poll(id);
    if (!this.#stopping.signal.aborted) this.#schedule();
  }

  #beginRound() {
    const { projects, activeProjects } = this.#options;
    const active = activeProjects();
    const left = [...projects].flatMap(([id, { reporter }]) =>
      reporter.handleStops !== undefined && active.has(id) ? [id] : [],
    );
    return { left, pauseMs: Math.max(minimumPauseMs, roundMs / Math.max(1, left.length)) };
  }

  async #poll(id: ProjectId): Promise<void> {
    const { signal } = this.#stopping;
    try {
      await this.#options.projects.get(id)?.reporter.handleStops?.((ref) => this.#takeDown(id, ref, signal), signal);
    } catch (error) {
      // The loop uses the same forge and reports when it cannot reach it.
      if (!signal.aborted) this.#options.log.debug({ project: id, ...toFailure(error) }, 'could not poll for stops');
    }
  }

  async #takeDown(project: ProjectId, ref: SourceRef, signal: AbortSignal): Promise<boolean> {
    const { requests, nameOf, audit } = this.#options;
    const environment = identify(project, ref);
    const stop = { project, ref, environment, name: nameOf(environment) ?? null };
    try {
      const { changes } = await requests.takeDown({ project, ref }, false, signal);
      // The forge shows it as stopped until the removal is finished.
      if (changes.length > 0) recordStop(stop, 'done', null, audit);
      return true;
    } catch (error) {
      if (!isEphError(error) || error.code !== 'api.conflict') throw error;
      recordStop(stop, 'failed', error.message, audit);
      return false;
    }
  }
}
