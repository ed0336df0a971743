import type { Reading, Source, SourceRef } from '@eph/contract';
import type { Forge, SourceAnswer } from '@eph/engine/source/forge';
import type { ForgeFixture, PullState } from './forge-fixture.ts';
import { label } from './triggers.ts';

export type Invariant =
  | 'nothing is destroyed that is wanted'
  | 'a complete reading is complete'
  | 'what is said to be gone is gone'
  | 'the world converges'
  | 'one report per pull request';

export interface Violation {
  readonly invariant: Invariant;
  readonly message: string;
}

/** From so few to none, adapters believe a list without asking twice: each source is read again before anything goes. */
const acceptedDrop = 2;

/**
 * Knows what is true, and compares it with what the adapter says and with what the engine does. Users act while both are at work, so
 * whatever was true at any moment since a question was asked is a true answer to it.
 */
export class Verifier {
  readonly violations: Violation[] = [];
  removals = 0;
  readonly #fixture: ForgeFixture;
  /** Counts what people did; between two acts everything stays as it is. */
  #moment = 0;
  /** What something is being done to this very moment: it is as it was, or as it will be. */
  readonly #ongoing: (number | 'all')[] = [];
  /** How each pull request is since the last act on it. */
  readonly #states = new Map<number, { readonly isOpen: boolean; readonly isWanted: boolean }>();
  /** When each was last closed, and when it last wanted no environment, up to that act. */
  readonly #closedAt = new Map<number, number>();
  readonly #unwantedAt = new Map<number, number>();
  /** The commit that a member last commanded. */
  readonly #commanded = new Map<number, string>();
  /** Whose environment somebody stopped where the forge shows it. */
  readonly #stopped = new Set<number>();
  /** When its source was last asked for. */
  readonly #askedAt = new Map<number, number>();
  #lastCount = 0;

  constructor(fixture: ForgeFixture) {
    this.#fixture = fixture;
  }

  get pulls(): readonly number[] {
    return [...this.#states.keys()];
  }

  addViolation(invariant: Invariant, message: string): void {
    this.violations.push({ invariant, message });
  }

  /** Gives back how to say that it is done. */
  beginAction(on: number | 'all'): () => void {
    this.#ongoing.push(on);
    return () => {
      this.#ongoing.splice(this.#ongoing.indexOf(on), 1);
    };
  }

  opened(number: number): void {
    this.#states.set(number, { isOpen: false, isWanted: false });
    this.actionDone(number);
  }

  commanded(number: number): void {
    this.#commanded.set(number, this.#fixture.pullState(number).commit);
  }

  stopped(number: number): void {
    this.#stopped.add(number);
  }

  /** The next environment is another, which nobody stopped yet. */
  removalReported(number: number): void {
    this.#stopped.delete(number);
  }

  /** Eph takes an environment down, as one of the people would. */
  async takingDown<T>(number: number, takeDown: () => Promise<T>): Promise<T> {
    if (!this.#stopped.has(number))
      this.addViolation('nothing is destroyed that is wanted', `nobody stopped pull request ${number}`);
    const done = this.beginAction(number);
    try {
      return await takeDown();
    } finally {
      this.actionDone(number);
      done();
    }
  }

  /** After everything that people did to a pull request. */
  actionDone(number: number): void {
    const before = this.#states.get(number);
    if (before?.isOpen === false) this.#closedAt.set(number, this.#moment);
    if (before?.isWanted === false) this.#unwantedAt.set(number, this.#moment);
    this.#states.set(number, { isOpen: this.#fixture.pullState(number).isOpen, isWanted: this.wants(number) });
    this.#moment += 1;
  }

  wants(number: number): boolean {
    const pull = this.#fixture.pullState(number);
    if (!pull.isOpen) return false;
    switch (this.#fixture.triggerOf(pull.commit)) {
      case 'label':
        return pull.labels.includes(label);
      case 'ready':
        return !pull.isDraft;
      case 'command':
        return this.#commanded.has(number);
      default:
        return false;
    }
  }

  /** What its environment is made of: what was commanded stays where it was, whatever is pushed. */
  commitOf(number: number): string {
    const { commit } = this.#fixture.pullState(number);
    return this.#fixture.triggerOf(commit) === 'command' ? (this.#commanded.get(number) ?? commit) : commit;
  }

  /** The same forge, with everything it says compared to the truth. */
  watch(forge: Forge): Forge {
    return {
      ...forge,
      sources: async (signal) => {
        const began = this.#moment;
        const reading = await forge.sources(signal);
        this.#compareReading(reading, began);
        return reading;
      },
      source: async (ref, signal) => {
        if (ref.kind !== 'pr') return await forge.source(ref, signal);
        const began = this.#moment;
        this.#askedAt.set(Number(ref.name), began);
        const answer = await forge.source(ref, signal);
        this.#compareAnswer(ref, answer, began);
        return answer;
      },
    };
  }

  removed(ref: SourceRef): void {
    this.removals += 1;
    const number = Number(ref.name);
    const asked = this.#askedAt.get(number) ?? this.#moment;
    if (this.#isSettled(number) && this.wants(number) && !wasAfter(this.#unwantedAt, number, asked))
      this.addViolation('nothing is destroyed that is wanted', `the environment of pull request ${number} is removed`);
  }

  #compareReading({ items, complete }: Reading<Source>, began: number): void {
    if (!complete) return;
    const pulls = items.filter(({ ref }) => ref.kind === 'pr');
    const listed = new Map(pulls.map((source) => [Number(source.ref.name), source]));
    const isBelieved = pulls.length === 0 && this.#lastCount <= acceptedDrop;
    this.#lastCount = pulls.length;
    for (const number of isBelieved ? [] : this.#states.keys()) {
      const pull = this.#fixture.pullState(number);
      const source = listed.get(number);
      if (this.#isSettled(number) && pull.isOpen && source === undefined && !wasAfter(this.#closedAt, number, began))
        this.addViolation('a complete reading is complete', `pull request ${number} is open and not among ${pulls.length}`);
      if (source !== undefined && this.#isQuietSince(began) && !matches(source, pull))
        this.addViolation(
          'a complete reading is complete',
          `pull request ${number} is not as it was read: ${JSON.stringify(pull)}`,
        );
    }
  }

  #compareAnswer({ name }: SourceRef, answer: SourceAnswer, began: number): void {
    const number = Number(name);
    const pull = this.#fixture.pullState(number);
    if (answer.state === 'gone' && this.#isSettled(number) && pull.isOpen && !wasAfter(this.#closedAt, number, began))
      this.addViolation('what is said to be gone is gone', `pull request ${number} is open`);
    if (answer.state === 'present' && this.#isQuietSince(began) && !matches(answer.source, pull))
      this.addViolation(
        'what is said to be gone is gone',
        `pull request ${number} is not as it was read: ${JSON.stringify(pull)}`,
      );
  }

  #isQuietSince(moment: number): boolean {
    return this.#ongoing.length === 0 && this.#moment === moment;
  }

  #isSettled(number: number): boolean {
    return !this.#ongoing.includes(number);
  }
}

const wasAfter = (moments: ReadonlyMap<number, number>, number: number, moment: number): boolean =>
  (moments.get(number) ?? 0) >= moment;

const matches = ({ commit, pull: said }: Source, pull: PullState): boolean =>
  pull.isOpen &&
  commit === pull.commit &&
  said?.draft === pull.isDraft &&
  said.labels.includes(label) === pull.labels.includes(label);
