import { isRunning, type Processes, type ProcessIdentity } from './processes.ts';

/** Watches processes that are not children of this ephd. */
export class Monitor {
  readonly #processes: Processes;
  readonly #watched = new Map<ProcessIdentity, () => void>();

  constructor(processes: Processes) {
    this.#processes = processes;
  }

  /** Calls back once, soon after the process ended; the system tells only its parent at once. */
  onGone(identity: ProcessIdentity, gone: () => void): Disposable {
    this.#watched.set(identity, gone);
    return { [Symbol.dispose]: () => this.#watched.delete(identity) };
  }

  check(): void {
    for (const [identity, gone] of this.#watched) {
      if (isRunning(this.#processes, identity)) continue;
      this.#watched.delete(identity);
      gone();
    }
  }
}
