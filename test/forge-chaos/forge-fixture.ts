import type { Reporter } from '@eph/engine/report/reporter';
import type { Forge } from '@eph/engine/source/forge';
import type { TriggerKind } from './triggers.ts';

/** What a forge is started with. */
export interface FixtureOptions {
  readonly seed: number;
  readonly now: () => number;
  readonly random: () => number;
}

/** A pull request as it really is, whatever anybody is told about it. */
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

/** A forge with one repository: what people do to it and see in it, and what Eph gets of it. */
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
  comment(number: number, text: string, by: 'a member' | 'a stranger'): Promise<void> | void;
  deleteComment(number: number, id: number): Promise<void> | void;
  /** Where forges have a stop button for what they list as deployed; false when there is nothing to stop. */
  pressStop?(number: number): boolean;

  pullState(number: number): PullState;
  /** What commits ask for in their `eph.yaml`; undefined of one that is just being pushed. */
  triggerOf(commit: string): TriggerKind | undefined;
  /** The comments that Eph wrote. */
  reports(number: number): Promise<readonly WrittenReport[]> | readonly WrittenReport[];
  /** The commits of what the forge itself lists as deployed; undefined of one that keeps no such list. */
  deployed(): readonly string[] | undefined;

  readonly requests: number;
  readonly faults: number;
  startFaults(): void;
  stopFaults(): void;
}
