import { type CommitSha, type ProjectId, type Reading, type Source, type SourceRef, sourceKey } from '@eph/contract';
import { identify } from '@eph/engine/desired/identity';
import type { Forge, SourceAnswer } from '@eph/engine/source/forge';
import { FakeForge, type FakeRepository } from '@eph/engine/source/forge.fake';
import type { Call, Calls, Operation } from './calls.ts';
import type { Witness } from './witness.ts';

/** A forge whose every answer takes as long and goes as wrong as the simulation says. */
export class SimulatedForge implements Forge {
  readonly project: ProjectId;
  /** What a webhook or a file watch would call. */
  nudge: () => void = () => {};
  readonly #repository: FakeRepository;
  readonly #calls: Calls;
  readonly #witness: Witness;

  constructor(project: ProjectId, repository: FakeRepository, calls: Calls, witness: Witness) {
    this.project = project;
    this.#repository = repository;
    this.#calls = calls;
    this.#witness = witness;
  }

  sources(signal: AbortSignal): Promise<Reading<Source>> {
    return this.#ask('sources', `project:${this.project}`, '', signal, async (call) => {
      this.#witness.surveys.begins(this.project);
      const reading = await this.#fake(call).sources();
      this.#witness.surveys.sourcesRead(this.project, reading);
      await this.#calls.pause(call, 'after');
      return reading;
    });
  }

  source(ref: SourceRef, signal: AbortSignal): Promise<SourceAnswer> {
    return this.#ask('source', `environment:${identify(this.project, ref)}`, sourceKey(ref), signal, async (call) => {
      this.#witness.rereadBegins(this.project, signal);
      const answer = await this.#fake(call).source(ref);
      if (answer.state !== 'unknown') this.#witness.reread(this.project, ref, signal);
      await this.#calls.pause(call, 'after');
      return answer;
    });
  }

  readFile(commit: CommitSha, path: string, limitBytes: number, signal: AbortSignal): Promise<Uint8Array | undefined> {
    return this.#ask('readFile', `project:${this.project}`, commit.slice(0, 7), signal, async (call) => {
      try {
        return await this.#fake(call).readFile(commit, path, limitBytes);
      } catch (error) {
        this.#witness.surveys.fileUnreadable(this.project);
        throw error;
      }
    });
  }

  exportTree(): Promise<void> {
    return Promise.reject(new Error('no simulated provider needs a checkout'));
  }

  watch(wake: () => void): void {
    this.nudge = wake;
  }

  /** Every call has a forge of its own over the one repository, so that its mishaps are its own. */
  #fake(call: Call): FakeForge {
    return new FakeForge(this.project, this.#repository, {
      disturb: () => this.#calls.pause(call, 'before'),
      lose: (all) => ({ sources: remainder(call, all), admitted: !call.loss?.startsWith('lying') }),
    });
  }

  async #ask<T>(
    operation: Operation,
    key: string,
    detail: string,
    signal: AbortSignal,
    act: (call: Call) => Promise<T>,
  ): Promise<T> {
    const call: Call = { operation, key, about: `${this.project} ${detail}`.trimEnd(), party: this.project, loss: undefined };
    this.#witness.callBegins(key, signal);
    try {
      return await act(call);
    } finally {
      this.#witness.callEnds(key);
    }
  }
}

const remainder = ({ loss }: Call, all: readonly Source[]): readonly Source[] => {
  if (loss === 'half' || loss === 'lying half') return all.filter((_, index) => index % 2 === 0);
  return loss === 'empty' || loss === 'lying empty' ? [] : all;
};
