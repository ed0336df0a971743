import type { ConfigurationView, ProjectId } from '@eph/contract';
import { isSameFor } from '../values/configuration.ts';
import { type EngineContext, projectOf } from './context.ts';
import type { EnvironmentRecord } from './record.ts';
import type { Records } from './records.ts';
import { environmentKey, type Result } from './result.ts';

/** The configuration of the platform, as its operators wrote it: what is in force for each project, and whom a change concerns. */
export class Platform {
  readonly #context: EngineContext;
  readonly #records: Records;
  /** The first reading: until it is over, it is not known how anything should be. */
  #configured: Promise<unknown> | undefined;
  /** What was in force for each project when its environments were last compared with it. */
  readonly #compared = new Map<ProjectId, ConfigurationView>();

  constructor(context: EngineContext, records: Records) {
    this.#context = context;
    this.#records = records;
  }

  /** Reads the configuration and wakes every environment that a change concerns. */
  async reconcile(signal: AbortSignal): Promise<Result> {
    const { faults } = await this.#context.configuration.refresh(signal);
    signal.throwIfAborted();
    for (const fault of faults) this.#context.telemetry.failed('configuration', fault);
    const wake = [...this.#context.projects.keys()].flatMap((id) => this.#findOutdated(id)).map(({ id }) => environmentKey(id));
    return { wake, ...(faults.some((fault) => fault.disposition !== 'stall') && { retryAfterMs: 500 }) };
  }

  async untilConfigured(signal: AbortSignal): Promise<void> {
    this.#configured ??= this.#context.configuration.refresh(signal);
    await this.#configured;
    // Cut off, it has read nothing.
    if (signal.aborted) this.#configured = undefined;
    signal.throwIfAborted();
  }

  inForce(id: ProjectId): ConfigurationView {
    return this.#context.configuration.layersFor(projectOf(this.#context, id).repository, id);
  }

  /** Whether the configuration in force concerns an environment in another way than the one it was computed with. */
  isOutdated(record: EnvironmentRecord): boolean {
    const { configuration: before } = record;
    if (before === undefined || !this.#context.projects.has(record.project)) return false;
    const now = this.inForce(record.project);
    if (before === now) return false;
    const isSame = isSameFor(record.declared, before, now);
    this.#records.update(record, isSame ? { configuration: now } : { settled: false });
    return !isSame;
  }

  #findOutdated(id: ProjectId): readonly EnvironmentRecord[] {
    const inForce = this.inForce(id);
    if (this.#compared.get(id) === inForce) return [];
    this.#compared.set(id, inForce);
    return [...this.#records.project(id).environments.values()].filter((record) => this.isOutdated(record));
  }
}
