import type { Reporter } from '@eph/engine/report/reporter';
import type { Forge } from '@eph/engine/source/forge';
import type { TriggerKind } from './triggers.ts';

export interface FixtureOptions {
  readonly seed: number;
  readonly now: () => number;
  readonly random: () => number;
}

/** The true state of a pull request, whatever the API answers. */
export interface PullState {
  readonly isOpen: boolean;
  readonly isDraft: boolean;
  readonly labels: readonly string[];
  readonly commit: string;
}

export interface WrittenReport {
  readonly id: number;
  readonly body: string;
}

/** A forge with one repository: the actions and views of its users, and the adapter and reporter of Eph. */
export interface ForgeFixture extends AsyncDisposable {
  readonly forge: Forge;
  readonly reporter: Reporter;

  open(branch: string, trigger: TriggerKind): Promise<number>;
  push(number: number, trigger: TriggerKind): Promise<void>;
  label(number: number): Promise<void> | void;
  unlabel(number: number): Promise<void> | void;
  close(number: number): Promise<void> | void;
  reopen(number: number): Promise<void> | void;
  setDraft(number: number, isDraft: boolean): Promise<void> | void;
  comment(number: number, text: string, by: 'member' | 'non-member'): Promise<void> | void;
  deleteComment(number: number, id: number): Promise<void> | void;
  /** Presses the stop button of a deployment, where the forge has one; false if there is nothing to stop. */
  pressStop?(number: number): boolean;

  pullState(number: number): PullState;
  /** The trigger in `eph.yaml` at this commit; undefined while the commit is being pushed. */
  triggerOf(commit: string): TriggerKind | undefined;
  /** The comments that Eph wrote. */
  reports(number: number): Promise<readonly WrittenReport[]> | readonly WrittenReport[];
  /** The commits that the forge itself lists as deployed; undefined if it keeps no such list. */
  deployed(): readonly string[] | undefined;

  readonly requests: number;
  readonly faults: number;
  startFaults(): void;
  stopFaults(): void;
}
