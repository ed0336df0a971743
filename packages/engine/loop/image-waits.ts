import type { CommitSha, EnvironmentId } from '@eph/contract';
import type { WantedTimes } from '../images/resolver.ts';

interface Wait {
  readonly commit: CommitSha;
  readonly times: WantedTimes;
  readonly repositories: readonly string[];
}

/** Environments whose images are being looked for. Losing it lengthens a wait. */
export class ImageWaits {
  readonly #waits = new Map<EnvironmentId, Wait>();

  timesOf(environment: EnvironmentId, commit: CommitSha): WantedTimes | undefined {
    const wait = this.#waits.get(environment);
    return wait?.commit === commit ? wait.times : undefined;
  }

  begin(environment: EnvironmentId, commit: CommitSha, times: WantedTimes): void {
    this.#waits.set(environment, { commit, times, repositories: [] });
  }

  /** What is looked for now; without any, the wait is over. */
  note(environment: EnvironmentId, repositories: readonly string[]): void {
    const wait = this.#waits.get(environment);
    if (repositories.length === 0) this.#waits.delete(environment);
    else if (wait !== undefined) this.#waits.set(environment, { ...wait, repositories });
  }

  /** Who waits for an image of this repository. */
  waitingFor(repository: string): readonly EnvironmentId[] {
    return [...this.#waits].flatMap(([id, { repositories }]) => (repositories.includes(repository) ? [id] : []));
  }
}
