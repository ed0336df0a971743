import { type CommitSha, type ProjectId, type Reading, type Source, type SourceRef, sourceKey } from '@eph/contract';
import type { Forge, SourceAnswer } from '@eph/engine/source/forge';
import { FakeForge, type FakeRepository } from '@eph/engine/source/forge.fake';
import type { Call, Calls, Operation } from './calls.ts';
import type { InvariantChecker, Truth } from './invariants.ts';

/** A forge whose delays and faults the simulation decides. */
export class SimulatedForge implements Forge {
  readonly project: ProjectId;
  /** What a webhook or a file watch would call. */
  nudge: () => void = () => {};
  /** Its sources were read since the last pass that counted. */
  isRead = false;
  readonly #repository: FakeRepository;
  readonly #calls: Calls;
  readonly #invariants: InvariantChecker;
  readonly #identify: Truth['identify'];

  constructor(repository: FakeRepository, calls: Calls, invariants: InvariantChecker, identify: Truth['identify']) {
    this.project = repository.project;
    this.#repository = repository;
    this.#calls = calls;
    this.#invariants = invariants;
    this.#identify = identify;
  }

  sources(): Promise<Reading<Source>> {
    return this.#ask('sources', `project:${this.project}`, '', async (call) => {
      this.#invariants.readings.begins(this.project);
      const reading = await this.#fake(call).sources();
      this.#invariants.readings.sourcesRead(this.project, reading);
      this.isRead = true;
      await this.#calls.pause(call, 'after');
      return reading;
    });
  }

  source(ref: SourceRef): Promise<SourceAnswer> {
    const key = `environment:${this.#identify(this.project, ref)}`;
    return this.#ask('source', key, sourceKey(ref), async (call) => {
      this.#invariants.rereadBegins(this.project, ref);
      const answer = await this.#fake(call).source(ref);
      if (answer.state !== 'unknown') this.#invariants.reread(this.project, ref);
      await this.#calls.pause(call, 'after');
      return answer;
    });
  }

  readFile(commit: CommitSha, path: string, limitBytes: number): Promise<Uint8Array | undefined> {
    return this.#ask('readFile', `project:${this.project}`, commit.slice(0, 7), async (call) => {
      this.#invariants.readings.ensureBegun(this.project);
      try {
        return await this.#fake(call).readFile(commit, path, limitBytes);
      } catch (error) {
        this.#invariants.readings.fileUnreadable(this.project);
        throw error;
      }
    });
  }

  exportTree(): Promise<void> {
    return Promise.reject(new Error('no simulated provider needs a checkout'));
  }

  /** No invariant concerns this and `readNote`: several runs may ask about one commit at once. */
  committedAt(commit: CommitSha): Promise<string> {
    return this.#fake(this.#callOf('committedAt', `commit:${commit}`, commit.slice(0, 7))).committedAt(commit);
  }

  readNote(commit: CommitSha, notes: string): Promise<string | undefined> {
    return this.#fake(this.#callOf('readNote', `commit:${commit}`, `${notes} ${commit.slice(0, 7)}`)).readNote(commit, notes);
  }

  watch(wake: () => void): void {
    this.nudge = wake;
  }

  /** Each call has its own forge over the one repository, so that its faults are its own. */
  #fake(call: Call): FakeForge {
    return new FakeForge(this.project, this.#repository, {
      disturb: () => this.#calls.pause(call, 'before'),
      lose: (all) => ({ sources: remainder(call, all), admitted: !call.loss?.startsWith('lying') }),
    });
  }

  async #ask<T>(operation: Operation, key: string, detail: string, act: (call: Call) => Promise<T>): Promise<T> {
    const call = this.#callOf(operation, key, detail);
    this.#invariants.callBegins(call);
    try {
      return await act(call);
    } finally {
      this.#invariants.callEnds(call);
    }
  }

  #callOf(operation: Operation, key: string, detail: string): Call {
    const about = `${this.project} ${detail}`.trimEnd();
    return { operation, key, about, party: this.project, signal: undefined, loss: undefined };
  }
}

const remainder = ({ loss }: Call, all: readonly Source[]): readonly Source[] => {
  if (loss === 'half' || loss === 'lying half') return all.filter((_, index) => index % 2 === 0);
  return loss === 'empty' || loss === 'lying empty' ? [] : all;
};
