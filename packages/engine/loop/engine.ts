import {
  type EnvironmentId,
  type Event,
  environmentId,
  type Failure,
  type ObservedEnvironment,
  type Plan,
  type ProjectId,
  projectId,
  type Source,
  toFailure,
} from '@eph/contract';
import { passIntervalMs } from './cadence.ts';
import type { Cancel } from './clock.ts';
import type { ExplainedValues } from './draft.ts';
import type { Considered } from './judge.ts';
import { type EnvironmentRecord, Memory } from './memory.ts';
import { Queue } from './queue.ts';
import { Reconciler } from './reconcile.ts';
import { Reports } from './reports.ts';
import type { World } from './world.ts';

export interface EngineOptions extends Omit<World, 'record' | 'report'> {
  readonly random: () => number;
  readonly workers: number;
  readonly record: (event: Event) => void;
  readonly deliver: (report: Parameters<World['report']>[0], signal: AbortSignal) => Promise<void>;
  /** A report about an environment that has had none follows soon. */
  readonly prefetch?: (report: Parameters<World['report']>[0], signal: AbortSignal) => void;
}

type Key = 'pass' | 'configuration' | `project:${string}` | `environment:${string}`;

const projectKey = (id: ProjectId): Key => `project:${id}`;
const environmentKey = (id: EnvironmentId): Key => `environment:${id}`;

/** Fresh work is never held back; failures of many environments at once come back at a pace a forge and a machine can bear. */
const retryRate = { perSecond: 100, burst: 200 };

/** Short for a person, long enough for a small environment to get ready, so that only the outcome is reported. */
const reportSettleMs = 500;

/**
 * The loop: keys, workers, and the time of the next pass. Watches and webhooks wake keys, passes wake all of them, and every
 * run reads the world again. Nothing here survives a restart, and nothing needs to.
 */
export class Engine {
  readonly memory = new Memory();
  readonly #options: EngineOptions;
  readonly #reconciler: Reconciler;
  readonly #queue: Queue<Key>;
  readonly #reports: Reports<Parameters<World['report']>[0]>;
  readonly #stopping = new AbortController();
  #cancelPass: Cancel | undefined;
  #lastActivity = Number.NEGATIVE_INFINITY;
  #passStarted = 0;
  #nextPassAt = Number.NEGATIVE_INFINITY;
  /** Projects the current pass has not looked at yet. */
  #passLeft = new Set<ProjectId>();

  constructor(options: EngineOptions) {
    this.#options = options;
    const { clock, random, workers, telemetry } = options;
    const onFailure = (key: string, failure: Failure): void => telemetry.failed(key, failure);
    this.#queue = new Queue<Key>(
      { clock, random, workers, retryRate, onThrow: (key, error) => onFailure(key, toFailure(error)) },
      (key, signal) => this.#run(key, signal),
    );
    const { deliver, prefetch } = options;
    const settling = { settleMs: reportSettleMs, ...(prefetch && { prefetch }) };
    this.#reports = new Reports({ clock, random, ...settling, onFailure }, deliver);
    const world: World = {
      ...options,
      telemetry: {
        ...telemetry,
        acted: (...args) => {
          this.#noteActivity();
          telemetry.acted(...args);
        },
      },
      report: (report) => (report.last ? this.#reports.conclude(report) : this.#reports.publish(report)),
    };
    this.#reconciler = new Reconciler(world, this.memory, {
      project: (id) => this.#queue.add(projectKey(id)),
      environment: (id) => this.#queue.add(environmentKey(id)),
      retryProject: (id) => this.#queue.retry(projectKey(id), 500),
      retryConfiguration: () => this.#queue.retry('configuration', 500),
      calmConfiguration: () => this.#queue.forget('configuration'),
      calmProject: (id) => this.#queue.forget(projectKey(id)),
      retry: (id, atLeastMs) => this.#queue.retry(environmentKey(id), atLeastMs),
      later: (id, ms) => this.#queue.addAfter(environmentKey(id), ms),
      calm: (id) => this.#queue.forget(environmentKey(id)),
      supersede: (id) => this.#queue.supersede(environmentKey(id)),
    });
  }

  /** Starts watching and makes the first pass. */
  start(): void {
    const { signal } = this.#stopping;
    this.#options.configuration.watch(() => this.wakeConfiguration(), signal);
    for (const [id, { forge }] of this.#options.projects) forge.watch(() => this.wakeProject(id), signal);
    for (const provider of this.#options.providers.values()) provider.watch((id) => this.#providerChanged(id), signal);
    this.#queue.add('pass');
  }

  /** Stops looking. What runs in the world goes on; nothing depends on this being called. */
  async close(): Promise<void> {
    this.#stopping.abort();
    this.#cancelPass?.();
    await this.#queue.close();
    await this.#reports.close();
  }

  /** Something may have changed in a project: look now, not at the next pass. */
  wakeProject(id: ProjectId): void {
    this.#noteActivity();
    this.memory.project(id).wokenAt = this.#options.clock.now();
    this.#queue.add(projectKey(id));
  }

  /** Something may have changed in what the platform says. */
  wakeConfiguration(): void {
    this.#noteActivity();
    this.#queue.add('configuration');
  }

  /** Looks at everything now. */
  wakeAll(): void {
    this.#queue.add('pass');
  }

  environments(): readonly EnvironmentRecord[] {
    return [...this.memory.environments()];
  }

  look(id: EnvironmentId, signal: AbortSignal): Promise<ObservedEnvironment | undefined> {
    return this.#reconciler.look(id, signal);
  }

  explainValues(id: EnvironmentId, signal: AbortSignal): Promise<ExplainedValues> {
    return this.#reconciler.explainValues(id, signal);
  }

  consider(source: Source, signal: AbortSignal): Promise<Considered> {
    return this.#reconciler.consider(source, signal);
  }

  explain(id: EnvironmentId): readonly string[] | undefined {
    return this.#reconciler.explain(id);
  }

  release(id: EnvironmentId): boolean {
    return this.#reconciler.release(id);
  }

  plan(signal: AbortSignal): Promise<{ readonly plans: readonly Plan[]; readonly faults: readonly Failure[] }> {
    return this.#reconciler.dryRun(signal);
  }

  /** Resolves when nothing is left to look at right now. */
  async idle(): Promise<void> {
    await this.#queue.idle();
    await this.#reports.idle();
  }

  get load(): { readonly ready: number; readonly running: number; readonly waiting: number } {
    return { ready: this.#queue.depth, running: this.#queue.runningCount, waiting: this.#queue.waitingCount };
  }

  /** What could not be read at the last look, by project. */
  faults(): ReadonlyMap<ProjectId, readonly Failure[]> {
    return new Map([...this.#options.projects.keys()].map((id) => [id, this.memory.project(id).faults]));
  }

  #providerChanged(id: EnvironmentId): void {
    this.#noteActivity();
    this.#queue.add(environmentKey(id));
  }

  async #run(key: Key, signal: AbortSignal): Promise<void> {
    if (key === 'pass') return this.#pass(signal);
    if (key === 'configuration') return this.#reconciler.configuration(signal);
    const id = key.slice(key.indexOf(':') + 1);
    if (key.startsWith('project:')) {
      await this.#reconciler.project(projectId(id), signal);
      if (this.#passLeft.delete(projectId(id)) && this.#passLeft.size === 0)
        this.#options.telemetry.passFinished(this.#options.clock.now() - this.#passStarted);
      return;
    }
    await this.#reconciler.environment(environmentId(id), signal);
  }

  /** Somebody is at work: the next pass comes soon, also if it was planned for later while nobody was. */
  #noteActivity(): void {
    const { clock, random } = this.#options;
    this.#lastActivity = clock.now();
    const soon = passIntervalMs(this.#lastActivity, this.#lastActivity, random);
    if (this.#nextPassAt > this.#lastActivity + soon) this.#schedulePass(soon);
  }

  #schedulePass(ms: number): void {
    const { clock } = this.#options;
    this.#cancelPass?.();
    this.#nextPassAt = clock.now() + ms;
    this.#cancelPass = clock.after(ms, () => this.#queue.add('pass'));
  }

  async #pass(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    this.#passStarted = clock.now();
    this.#schedulePass(passIntervalMs(this.#passStarted, this.#lastActivity, random));
    this.#passLeft = new Set(this.#options.projects.keys());
    this.#queue.add('configuration');
    await this.#reconciler.pass(signal);
  }
}
