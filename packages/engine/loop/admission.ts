import type { EnvironmentId, ProjectId } from '@eph/contract';
import type { Records } from './records.ts';

/** How many environments there are besides one. */
export interface Counts {
  readonly project: number;
  readonly team: number;
  readonly cluster: number;
}

/**
 * Who may be made where policy limits how many there may be. What exists counts, and so does what was let in and is on its way: two
 * that are worked out at the same time must not both take the last place.
 */
export class Admission {
  readonly #records: Records;
  readonly #teamOf: (project: ProjectId) => string | undefined;
  readonly #admitted = new Set<EnvironmentId>();
  readonly #waiting = new Set<EnvironmentId>();

  constructor(records: Records, teamOf: (project: ProjectId) => string | undefined) {
    this.#records = records;
    this.#teamOf = teamOf;
  }

  countOthers(id: EnvironmentId, project: ProjectId): Counts {
    const team = this.#teamOf(project);
    const counts = { project: 0, team: 0, cluster: 0 };
    for (const other of this.#records.all()) {
      const exists = (other.observed?.components.length ?? 0) > 0;
      if (other.id === id || !(exists || this.#admitted.has(other.id))) continue;
      counts.cluster += 1;
      if (other.project === project) counts.project += 1;
      if (team !== undefined && this.#teamOf(other.project) === team) counts.team += 1;
    }
    return counts;
  }

  admit(id: EnvironmentId): void {
    this.#admitted.add(id);
    this.#waiting.delete(id);
  }

  /** It waits for room. */
  queue(id: EnvironmentId): void {
    this.#admitted.delete(id);
    this.#waiting.add(id);
  }

  /** It is gone; those that waited for room may try again. */
  leave(id: EnvironmentId): readonly EnvironmentId[] {
    this.#admitted.delete(id);
    this.#waiting.delete(id);
    return [...this.#waiting];
  }
}
