import { failure, type ProjectId } from '@eph/contract';
import { type Decision, unwanted } from '../desired/decisions.ts';
import type { ConfiguredProject } from './context.ts';
import type { Records } from './records.ts';
import { environmentKey, type Key, projectKey, type Result } from './result.ts';

/** The projects of an engine and the watches of their forges. Projects join and leave while it runs. */
export class ProjectSet {
  readonly #projects: Map<ProjectId, ConfiguredProject>;
  readonly #wake: (id: ProjectId) => void;
  readonly #watches = new Map<ProjectId, AbortController>();

  constructor(projects: ReadonlyMap<ProjectId, ConfiguredProject>, wake: (id: ProjectId) => void) {
    this.#projects = new Map(projects);
    this.#wake = wake;
  }

  get all(): ReadonlyMap<ProjectId, ConfiguredProject> {
    return this.#projects;
  }

  watch(projects: ReadonlyMap<ProjectId, ConfiguredProject> = this.#projects): void {
    for (const [id, { forge }] of projects) {
      const watch = new AbortController();
      this.#watches.set(id, watch);
      forge.watch(() => this.#wake(id), watch.signal);
    }
  }

  close(): void {
    for (const watch of this.#watches.values()) watch.abort();
  }

  /** What a project had before it left is neither held nor removed until the project has been read. */
  add(joined: ReadonlyMap<ProjectId, ConfiguredProject>, records: Records): Result {
    const supersede: Key[] = [];
    for (const [id, project] of joined) {
      this.#projects.set(id, project);
      const fault = failure('forge.incomplete', `project ${id} has not been read yet`);
      const decision: Decision = { state: 'unknown', because: fault.message, fault };
      for (const record of records.environmentsOf(id)) {
        records.update(record, { decision, held: false, permitted: false });
        supersede.push(environmentKey(record.id));
      }
    }
    this.watch(joined);
    return { supersede, wake: ['pass'] };
  }

  /** Holds the environments of these projects, as a pass does with those of a project that was never configured. */
  remove(left: Iterable<ProjectId>, records: Records): Result {
    const keys: Key[] = [];
    for (const id of left) {
      this.#projects.delete(id);
      this.#watches.get(id)?.abort();
      this.#watches.delete(id);
      keys.push(projectKey(id));
      for (const record of records.forgetProject(id)) {
        const nothing = { source: undefined, head: undefined, reportedCommit: undefined };
        records.update(record, { ...nothing, decision: notConfigured(id), held: true, permitted: false, settled: false });
        keys.push(environmentKey(record.id));
      }
    }
    return { supersede: keys, wake: ['pass', ...keys] };
  }
}

/** That a project is not configured may be a mistake: only an operator releases its environments. */
export const notConfigured = (id: ProjectId): Decision => unwanted(`project ${id} is not configured here`);
