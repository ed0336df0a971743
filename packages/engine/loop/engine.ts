import {
  type ComponentName,
  type EnvironmentId,
  environmentId,
  type Failure,
  type ParsedSpec,
  type Plan,
  type ProjectId,
  type ProviderName,
  projectId,
  type Source,
  toFailure,
} from '@eph/contract';
import { PassTimer } from '../polling/cadence.ts';
import type { PollingState } from '../polling/polling-state.ts';
import type { ConfiguredProject, EngineOptions } from './context.ts';
import { type Considered, considerSource } from './decide.ts';
import { considerLifetime } from './lifetime.ts';
import { createLoop, type Loop } from './loop.ts';
import { conclude } from './outcome.ts';
import { runPass } from './pass.ts';
import { type Preview, previewAll, previewSource } from './preview.ts';
import { reconcileProject } from './project.ts';
import { holdAll, unholdAll } from './project-set.ts';
import { type ExplainedValues, explainValues, explainWhy, look, type RenderedValues, renderValues } from './queries.ts';
import { Queue } from './queue.ts';
import { reconcile } from './reconcile.ts';
import type { EnvironmentRecord, ProjectRecord } from './record.ts';
import { requestRedeploy } from './redeploy.ts';
import { release } from './removal.ts';
import { Reports } from './reports.ts';
import { environmentKey, type Key, projectKey, type Result } from './result.ts';
import { noteActions } from './telemetry.ts';

/** Only retries are limited: many that fail at once come back at a pace that a forge and a machine can bear. */
const retryRate = { perSecond: 100, burst: 200 };

/** Keys, workers, and the time of the next pass. Only this class touches the queue. Nothing here has to survive a restart. */
export class Engine {
  readonly #options: EngineOptions;
  readonly #loop: Loop;
  readonly #queue: Queue<Key>;
  readonly #reports: Reports<Parameters<EngineOptions['deliver']>[0]>;
  readonly #stopping = new AbortController();
  readonly #passTimer: PassTimer;
  readonly #projects: Map<ProjectId, ConfiguredProject>;

  constructor(options: EngineOptions) {
    this.#options = options;
    const { clock, random, workers, telemetry, deliver } = options;
    const onFailure = (key: string, failure: Failure): void => telemetry.failed(key, failure);
    this.#queue = new Queue<Key>(
      { clock, random, workers, retryRate, onThrow: (key, error) => onFailure(key, toFailure(error)) },
      async (key, signal) => {
        telemetry.began(key);
        try {
          this.#queue.conclude(key, await this.#reconcile(key, signal));
        } finally {
          telemetry.ended(key);
        }
      },
    );
    this.#passTimer = new PassTimer(clock, random, () => this.#queue.add('pass'));
    this.#reports = new Reports({ clock, random, onFailure }, deliver);
    this.#projects = new Map(options.projects);
    this.#loop = createLoop({
      ...options,
      projects: this.#projects,
      telemetry: noteActions(telemetry, () => this.#passTimer.noteActivity()),
      report: (report) => (report.last ? this.#reports.conclude(report) : this.#reports.publish(report)),
    });
  }

  /** Starts watching and makes the first pass. */
  start(): void {
    const { configuration, providers } = this.#options;
    const { signal } = this.#stopping;
    configuration.watch(() => this.#wake('configuration'), signal);
    for (const [id, { forge }] of this.#projects) forge.watch(() => this.wakeProject(id), signal);
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
    if (!this.#projects.has(id)) return;
    this.#loop.records.project(id).wokenAt = this.#options.clock.now();
    this.#wake(projectKey(id));
  }

  /** A webhook says that something changed. */
  announce(id: ProjectId): void {
    this.#loop.polling.announce(id);
    this.wakeProject(id);
  }

  /** A registry says that images of a repository may have changed. */
  announceImages(repository: string): void {
    for (const id of this.#loop.imageMemory.lookingIn(repository)) this.#wake(environmentKey(id));
  }

  polling(): ReadonlyMap<ProjectId, PollingState> {
    return this.#loop.polling.states();
  }

  addProjects(joined: EngineOptions['projects']): void {
    for (const [id, project] of joined) {
      this.#projects.set(id, project);
      project.forge.watch(() => this.wakeProject(id), this.#stopping.signal);
    }
    this.#queue.follow(unholdAll(this.#loop.records, joined.keys()));
  }

  /** Their environments are held until they are added again. The caller closes their forges, which ends the watches. */
  removeProjects(left: ReadonlySet<ProjectId>): void {
    for (const id of left) this.#projects.delete(id);
    this.#reports.drop(left);
    this.#loop.polling.forget(left);
    this.#queue.follow(holdAll(this.#loop.records, left));
  }

  wakeAll(): void {
    this.#queue.add('pass');
  }

  environments(): readonly EnvironmentRecord[] {
    return [...this.#loop.records.all()];
  }

  environmentsByName(): readonly EnvironmentRecord[] {
    return this.#loop.records.sorted;
  }

  environment(id: EnvironmentId): EnvironmentRecord | undefined {
    return this.#loop.records.get(id);
  }

  /** By id or name. */
  findEnvironment(text: string): EnvironmentRecord | undefined {
    return this.#loop.records.find(text);
  }

  /** What has not been read completely since the start: environments may be there that are not known. */
  unsurveyed(): { readonly providers: boolean; readonly projects: readonly ProjectId[] } {
    const { records, context } = this.#loop;
    return {
      providers: !records.haveBeenRead(context.providers.keys()),
      projects: [...this.#projects.keys()].filter((id) => !records.project(id).surveyed),
    };
  }

  /**
   * Providers that could not be read in the last pass: what is known of their environments was seen before. Why is only for those
   * who may see every project; for others there is `withoutReasons`.
   */
  away(): ReadonlyMap<ProviderName, Failure> {
    return this.#loop.records.away;
  }

  look(id: EnvironmentId, signal: AbortSignal): ReturnType<typeof look> {
    return look(this.#loop, id, signal);
  }

  explainValues(id: EnvironmentId, signal: AbortSignal): Promise<ExplainedValues> {
    return explainValues(this.#loop, id, signal);
  }

  renderValues(id: EnvironmentId, signal: AbortSignal): Promise<RenderedValues> {
    return renderValues(this.#loop, id, signal);
  }

  /** What Git says about a source as it is, or as it would be; nothing follows from it. */
  consider(source: Source, signal: AbortSignal): Promise<Considered> {
    return considerSource(this.#loop, source, signal);
  }

  considerLifetime(source: Source, signal: AbortSignal): ReturnType<typeof considerLifetime> {
    return considerLifetime(this.#loop, source, signal);
  }

  explain(id: EnvironmentId): readonly string[] | undefined {
    return explainWhy(this.#loop, id);
  }

  /** An operator lets go of what is held; false if nothing is, nor was until now. */
  release(id: EnvironmentId): boolean {
    const result = release(this.#loop, id);
    if (result !== undefined) this.#queue.follow(result);
    return result !== undefined;
  }

  /** Somebody asks to remove components and make them again; without names, all that hold no data. Returns which. */
  async redeploy(
    id: EnvironmentId,
    names: readonly string[] | undefined,
    signal: AbortSignal,
  ): Promise<readonly ComponentName[]> {
    const components = await requestRedeploy(this.#loop, id, names, signal);
    this.#wake(environmentKey(id));
    return components;
  }

  /** @param isAsked of which projects */
  plan(isAsked: (project: ProjectId) => boolean, signal: AbortSignal): Promise<Preview> {
    return previewAll(this.#loop, isAsked, signal);
  }

  /** What would be done for a source as it is, or as it would be, if there were only the visible projects. */
  planSource(
    source: Source,
    file: ParsedSpec | undefined,
    isVisible: (project: ProjectId) => boolean,
    signal: AbortSignal,
  ): Promise<Plan> {
    return previewSource(this.#loop, source, file, isVisible, signal);
  }

  async idle(): Promise<void> {
    await this.#queue.idle();
    await this.#reports.idle();
  }

  get load(): Queue<Key>['load'] & { readonly reports: number } {
    return { ...this.#queue.load, reports: this.#reports.waiting };
  }

  projects(): ReadonlyMap<ProjectId, Readonly<ProjectRecord>> {
    return new Map([...this.#projects.keys()].map((id) => [id, this.#loop.records.project(id)]));
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
    const result = this.#projects.has(id) ? await reconcileProject(this.#loop, id, signal) : {};
    const passMs = this.#passTimer.finish(id);
    if (passMs !== undefined) this.#options.telemetry.passFinished(passMs);
    return result;
  }

  async #pass(signal: AbortSignal): Promise<Result> {
    this.#passTimer.begin(this.#projects.keys());
    this.#queue.add('configuration');
    return await runPass(this.#loop, signal);
  }

  #wake(key: Key): void {
    this.#passTimer.noteActivity();
    this.#queue.add(key);
  }
}
