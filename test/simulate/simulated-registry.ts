import { EphError } from '@eph/contract';
import type { FindAnswer, ImageLocation, InspectAnswer, Missing, Registry, TagsAnswer } from '@eph/engine/images/registry';
import type { Clock } from '@eph/engine/time/clock';
import type { Call, Calls, Operation } from './calls.ts';
import type { InvariantChecker } from './invariants.ts';

/** Who answers for images, as a party of calls. */
export const registryParty = 'registry';

/** The contract bounds every answer in time. */
const longestAnswerMs = 20_000;

/** A host that hangs is not asked again before this is over: otherwise every question would wait for it. */
const silenceMs = 60_000;

export interface SimulatedRegistryOptions {
  /** What was really pushed. */
  readonly pushed: Registry;
  readonly calls: Calls;
  readonly invariants: InvariantChecker;
  readonly clock: Clock;
}

/**
 * A registry whose delays and faults the simulation decides. It fails, refuses, and says that something is missing which is there, or
 * shows half of the tags. It does not name a wrong digest: whoever implements the seam compares digests with bytes.
 */
export class SimulatedRegistry implements Registry {
  readonly #options: SimulatedRegistryOptions;
  #isSilent = false;

  constructor(options: SimulatedRegistryOptions) {
    this.#options = options;
  }

  find(image: ImageLocation, signal: AbortSignal): Promise<FindAnswer> {
    return this.#ask('find', `${image.repository}${separatorOf(image)}${image.reference}`, signal, (call) =>
      this.#orMissing(call, () => this.#options.pushed.find(image, signal)),
    );
  }

  inspect(image: ImageLocation, platform: string | undefined, signal: AbortSignal): Promise<InspectAnswer> {
    return this.#ask('inspect', `${image.repository}@${image.reference}`, signal, (call) =>
      this.#orMissing(call, () => this.#options.pushed.inspect(image, platform, signal)),
    );
  }

  tags(
    repository: Omit<ImageLocation, 'reference'>,
    matches: (tag: string) => boolean,
    signal: AbortSignal,
  ): Promise<TagsAnswer> {
    return this.#ask('tags', repository.repository, signal, async (call) => {
      const answer = await this.#orMissing(call, () => this.#options.pushed.tags(repository, matches, signal));
      if (answer.state === 'missing' || call.loss !== 'lying half') return answer;
      return { ...answer, tags: answer.tags.filter((_, index) => index % 2 === 0) };
    });
  }

  async #orMissing<T>({ loss }: Call, ask: () => Promise<T>): Promise<T | Missing> {
    return loss === 'lying empty' ? { state: 'missing', because: 'there is nothing' } : await ask();
  }

  /** Runs share their questions, so that a call belongs to no key. The answer is made at once and may be old when it arrives. */
  async #ask<T>(operation: Operation, about: string, signal: AbortSignal, answer: (call: Call) => Promise<T>): Promise<T> {
    const { calls, invariants } = this.#options;
    const call: Call = { operation, key: registryParty, about, party: registryParty, signal, loss: undefined };
    if (this.#isSilent) throw silent();
    await this.#inTime(call, calls.pause(call, 'before'));
    const made = await answer(call);
    await this.#inTime(call, calls.pause(call, 'after'));
    invariants.registrySaid(`${operation} ${about}`);
    return made;
  }

  async #inTime(call: Call, pause: Promise<void>): Promise<void> {
    const { calls, clock } = this.#options;
    const { promise: tooLate, reject } = Promise.withResolvers<never>();
    const cancel = clock.after(longestAnswerMs, () => {
      calls.withdraw(call);
      this.#isSilent = true;
      clock.after(silenceMs, () => (this.#isSilent = false));
      reject(silent());
    });
    try {
      await Promise.race([pause, tooLate]);
    } finally {
      cancel();
    }
  }
}

const silent = (): EphError => new EphError('registry.unreachable', 'no answer in time');

const separatorOf = ({ reference }: ImageLocation): string => (reference.includes(':') ? '@' : ':');
