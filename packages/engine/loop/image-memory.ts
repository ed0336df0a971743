import type { CommitSha, EnvironmentId, PinnedImage } from '@eph/contract';
import type { WantedTimes } from '../images/resolver.ts';

/** What a search for the images of one environment leaves to the next one. */
export interface Sought {
  readonly commit: CommitSha;
  /** Of the wait, as long as there is one. */
  readonly times: WantedTimes | undefined;
  /** What was found, also where no provider had anything to write down for it, or where its turn has not come. */
  readonly pinned: readonly PinnedImage[];
  /** Where a push may change the answer. */
  readonly repositories: readonly string[];
}

/** What one ephd remembers of the images of environments. Losing it lengthens waits and costs requests. */
export class ImageMemory {
  readonly #sought = new Map<EnvironmentId, Sought>();

  of(environment: EnvironmentId): Sought | undefined {
    return this.#sought.get(environment);
  }

  /** @param sought undefined where nothing was looked for, such as while the file has faults */
  note(environment: EnvironmentId, sought: Sought | undefined): void {
    if (sought === undefined) return;
    if (sought.times === undefined && sought.pinned.length === 0 && sought.repositories.length === 0) this.forget(environment);
    else this.#sought.set(environment, sought);
  }

  forget(environment: EnvironmentId): void {
    this.#sought.delete(environment);
  }

  /** Who looks for an image of this repository. */
  lookingIn(repository: string): readonly EnvironmentId[] {
    return [...this.#sought].flatMap(([id, { repositories }]) => (repositories.includes(repository) ? [id] : []));
  }
}
