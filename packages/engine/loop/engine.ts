import {
  type EnvironmentId,
  environmentId,
  type Failure,
  type ObservedEnvironment,
  type ProjectId,
  type ProviderName,
  projectId,
  type Source,
  toFailure,
} from '@eph/contract';
import { PassTimer } from './cadence.ts';
import type { EngineContext } from './context.ts';
import { type Considered, considerSource } from './decide.ts';
import { createLoop, type Loop } from './loop.ts';
import { conclude } from './outcome.ts';
import { runPass } from './pass.ts';
import type { PollingState } from './polling-state.ts';
import { type Preview, previewAll } from './preview.ts';
import { reconcileProject } from './project.ts';
import { type ExplainedValues, explainValues, explainWhy, look } from './queries.ts';
import { Queue } from './queue.ts';
import { reconcile } from './reconcile.ts';
import type { EnvironmentRecord, ProjectRecord } from './record.ts';
import { release } from './removal.ts';
import { Reports } from './reports.ts';
import { environmentKey, type Key, projectKey, type Result } from './result.ts';

type Report = Parameters<EngineContext['report']>[0];

export interface EngineOptions extends Omit<EngineContext, 'report'> {
  readonly random: () => number;
  readonly workers: number;
  readonly deliver: (report: Report, signal: AbortSignal) => Promise<void>;
  /** A report about an environment that has had none follows soon. */
  readonly prefetch?: (report: Report, signal: AbortSignal) => void;
}

/** Only retries are limited: many that fail at once come back at a pace that a forge and a machine can bear. */
const retryRate = { perSecond: 100, burst: 200 };

/** Short for a person, long enough for a small environment to get ready, so that only the outcome is reported. */
const reportSettleMs = 500;

/** Keys, workers, and the time of the next pass. Only this class touches the queue. Nothing here has to survive a restart. */
export class Engine {
  readonly #options: EngineOptions;
  readonly #loop: Loop;
  readonly #queue: Queue<Key>;
  readonly #reports: Reports<Report>;
  readonly #stopping = new AbortController();
  readonly #passTimer: PassTimer;

  constructor(options: EngineOptions) {
    this.#options = options;
    const { clock, random, workers, telemetry, deliver, prefetch } = options;
    const onFailure = (key: string, failure: Failure): void => telemetry.failed(key, failure);
    this.#queue = new Queue<Key>(
      { clock, random, workers, retryRate, onThrow: (key, error) => onFailure(key, toFailure(error)) },
      (key, signal) => this.#run(key, signal),
    );
    this.#passTimer = new PassTimer(clock, random, () => this.#queue.add('pass'));
    const settling = { settleMs: reportSettleMs, ...(prefetch && { prefetch }) };
    this.#reports = new Reports({ clock, random, ...settling, onFailure }, deliver);
    this.#loop = createLoop(
      {
        ...options,
        telemetry: {
          ...telemetry,
          acted: (...args) => {
            this.#passTimer.noteActivity();
            telemetry.acted(...args);
          },
        },
        report: (report) => (report.last ? this.#reports.conclude(report) : this.#reports.publish(report)),
      },
      random,
    );
  }

  /** Starts watching and makes the first pass. */
  start(): void {
    const { signal } = this.#stopping;
    const { configuration, projects, providers } = this.#options;
    configuration.watch(() => this.#wake('configuration'), signal);
    for (const [id, { forge }] of projects) forge.watch(() => this.wakeProject(id), signal);
    for (const provider of providers.values()) provider.watch((id) => this.#wake(environmentKey(id)), signal);
    this.#queue.add('pass');
  }

  /** Ends all runs. What runs in environments goes on; nothing depends on this being called. */
  async close(): Promise<void> {
    this.#stopping.abort();
    this.#passTimer.cancel();
    await this.#queue.close();
    await this.#reports.close();
  }

  /** Something may have changed in a project: read it now, not at the next pass. */
  wakeProject(id: ProjectId): void {
    this.#loop.records.project(id).wokenAt = this.#options.clock.now();
    this.#wake(projectKey(id));
  }

  /** A webhook says that something changed. */
  announce(id: ProjectId): void {
    this.#loop.polling.announce(id);
    this.wakeProject(id);
  }

  /** How often repositories are read at present. */
  polling(): ReadonlyMap<ProjectId, PollingState> {
    return this.#loop.polling.states();
  }

  /** Reads everything now. */
  wakeAll(): void {
    this.#queue.add('pass');
  }

  environments(): readonly EnvironmentRecord[] {
    return [...this.#loop.records.all()];
  }

  environment(id: EnvironmentId): EnvironmentRecord | undefined {
    return this.#loop.records.get(id);
  }

  /** Providers that could not be read in the last pass, and why: what is known of their environments was seen before. */
  away(): ReadonlyMap<ProviderName, Failure> {
    return this.#loop.records.away;
  }

  look(id: EnvironmentId, signal: AbortSignal): Promise<ObservedEnvironment | undefined> {
    return look(this.#loop, id, signal);
  }

  explainValues(id: EnvironmentId, signal: AbortSignal): Promise<ExplainedValues> {
    return explainValues(this.#loop, id, signal);
  }

  /** What Git says about a source as it is, or as it would be; nothing follows from it. */
  consider(source: Source, signal: AbortSignal): Promise<Considered> {
    return considerSource(this.#loop, source, signal);
  }

  explain(id: EnvironmentId): readonly string[] | undefined {
    return explainWhy(this.#loop, id);
  }

  /** An operator lets go of what is held; false if nothing is. */
  release(id: EnvironmentId): boolean {
    const result = release(this.#loop, id);
    for (const key of result?.wake ?? []) this.#queue.add(key);
    return result !== undefined;
  }

  plan(signal: AbortSignal): Promise<Preview> {
    return previewAll(this.#loop, signal);
  }

  /** Resolves when no key is ready or running. */
  async idle(): Promise<void> {
    await this.#queue.idle();
    await this.#reports.idle();
  }

  get load(): Queue<Key>['load'] {
    return this.#queue.load;
  }

  /** What is known of each project that is configured. */
  projects(): ReadonlyMap<ProjectId, Readonly<ProjectRecord>> {
    return new Map([...this.#options.projects.keys()].map((id) => [id, this.#loop.records.project(id)]));
  }

  async #run(key: Key, signal: AbortSignal): Promise<void> {
    const result = await this.#reconcile(key, signal);
    if (result === undefined) return;
    for (const other of result.supersede ?? []) this.#queue.supersede(other);
    for (const other of result.wake ?? []) this.#queue.add(other);
    if (result.retryAfterMs === undefined) this.#queue.forget(key);
    else this.#queue.retry(key, result.retryAfterMs);
    if (result.lookAt !== undefined) this.#queue.addAfter(key, Math.max(0, result.lookAt - this.#options.clock.now()));
  }

  async #reconcile(key: Key, signal: AbortSignal): Promise<Result | undefined> {
    if (key === 'pass') return this.#pass(signal);
    if (key === 'configuration') return this.#loop.platform.reconcile(signal);
    const id = key.slice(key.indexOf(':') + 1);
    if (key.startsWith('project:')) return this.#project(projectId(id), signal);
    const record = this.#loop.records.get(environmentId(id));
    if (record === undefined) return undefined;
    const outcome = await reconcile(this.#loop, record, signal);
    return conclude(this.#loop, record, signal.aborted ? { ...outcome, state: 'superseded' } : outcome);
  }

  async #project(id: ProjectId, signal: AbortSignal): Promise<Result> {
    const result = await reconcileProject(this.#loop, id, signal);
    const passMs = this.#passTimer.finish(id);
    if (passMs !== undefined) this.#options.telemetry.passFinished(passMs);
    return result;
  }

  async #pass(signal: AbortSignal): Promise<Result> {
    this.#passTimer.begin(this.#options.projects.keys());
    this.#queue.add('configuration');
    return await runPass(this.#loop, signal);
  }

  #wake(key: Key): void {
    this.#passTimer.noteActivity();
    this.#queue.add(key);
  }
}
