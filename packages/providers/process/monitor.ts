import type { Usage } from '@eph/contract';
import { isRunning, type Processes, type ProcessIdentity } from './processes.ts';

/** Looks after processes that are not children of this ephd, and measures all of them. */
export class Monitor {
  readonly #processes: Processes;
  readonly #watched = new Map<ProcessIdentity, () => void>();
  #usage = new Map<number, Usage>();

  constructor(processes: Processes) {
    this.#processes = processes;
  }

  /** Calls back once, soon after the process ended; the system tells only its parent at once. */
  onGone(identity: ProcessIdentity, gone: () => void): Disposable {
    this.#watched.set(identity, gone);
    return { [Symbol.dispose]: () => this.#watched.delete(identity) };
  }

  look(): void {
    for (const [identity, gone] of this.#watched) {
      if (isRunning(this.#processes, identity)) continue;
      this.#watched.delete(identity);
      gone();
    }
  }

  /** As of the last measurement. */
  usage(leader: number): Usage | undefined {
    return this.#usage.get(leader);
  }

  async measure(): Promise<void> {
    const usage = new Map<number, Usage>();
    for (const { session, cpuSeconds, memoryBytes } of await this.#processes.readAll()) {
      const sum = usage.get(session) ?? { cpuSeconds: 0, memoryBytes: 0 };
      usage.set(session, { cpuSeconds: sum.cpuSeconds + cpuSeconds, memoryBytes: sum.memoryBytes + memoryBytes });
    }
    this.#usage = usage;
  }
}
