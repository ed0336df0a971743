import type { Reading, Source, SourceRef } from '@eph/contract';
import type { Forge, SourceAnswer } from '@eph/engine/source/forge';
import type { ForgeFixture, PullState } from './forge-fixture.ts';
import { label } from './triggers.ts';

export type Invariant =
  | 'no wanted environment is destroyed'
  | 'a complete reading is complete'
  | 'a source reported as gone is gone'
  | 'environments converge'
  | 'one report per pull request';

export interface Violation {
  readonly invariant: Invariant;
  readonly message: string;
}

/** Adapters accept a drop from this many to zero without confirmation: each source is read again before anything is removed. */
const acceptedDrop = 2;

/**
 * Knows the true state and compares it with what the adapter returns and what the engine does. Users act at the same time, so an
 * answer is correct if it was true at any moment since the request.
 */
export class Verifier {
  readonly violations: Violation[] = [];
  removals = 0;
  readonly #fixture: ForgeFixture;
  /** Counts user actions; nothing changes between two of them. */
  #moment = 0;
  /** Pull requests with an action in progress: both the old and the new state are correct answers. */
  readonly #ongoing: (number | 'all')[] = [];
  /** Each pull request after the last action on it. */
  readonly #states = new Map<number, { readonly isOpen: boolean; readonly isWanted: boolean }>();
  /** The last moment at which each was closed, and at which it wanted no environment. */
  readonly #closedAt = new Map<number, number>();
  readonly #unwantedAt = new Map<number, number>();
  /** The commit at which a member last gave the command. */
  readonly #commanded = new Map<number, string>();
  /** Pull requests whose environment a user stopped in the forge. */
  readonly #stopped = new Set<number>();
  /** When each source was last requested. */
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

  /** Returns a function that ends the action. */
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

  /** The next environment of this pull request is a new one, which no user has stopped. */
  removalReported(number: number): void {
    this.#stopped.delete(number);
  }

  /** Eph removes the label itself after a user stopped the environment. */
  async takingDown<T>(number: number, takeDown: () => Promise<T>): Promise<T> {
    if (!this.#stopped.has(number))
      this.addViolation('no wanted environment is destroyed', `nobody stopped pull request ${number}`);
    const done = this.beginAction(number);
    try {
      return await takeDown();
    } finally {
      this.actionDone(number);
      done();
    }
  }

  /** Call after every user action. */
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

  /** The commit of its environment: a command applies to one commit, whatever is pushed later. */
  commitOf(number: number): string {
    const { commit } = this.#fixture.pullState(number);
    return this.#fixture.triggerOf(commit) === 'command' ? (this.#commanded.get(number) ?? commit) : commit;
  }

  /** Wraps a forge and compares its answers with the true state. */
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
      this.addViolation('no wanted environment is destroyed', `the environment of pull request ${number} is removed`);
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
      this.addViolation('a source reported as gone is gone', `pull request ${number} is open`);
    if (answer.state === 'present' && this.#isQuietSince(began) && !matches(answer.source, pull))
      this.addViolation(
        'a source reported as gone is gone',
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
