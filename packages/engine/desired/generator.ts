import type { Command, CommitSha, Failure, Reading, Source, Trigger } from '@eph/contract';

/**
 * Decides whether a source wants an environment under one kind of trigger.
 *
 * Contract
 * - Pure: the same source, trigger and facts give the same answer.
 * - A fact that was not read, or not completely, never makes a source unwanted that the whole fact would make wanted: the answer is
 *   then `unknown`, and says which fact was not read at all.
 * - `because` is the sentence `eph why` prints: one line that names the rule and the fact, however long and strange the names are.
 */
export interface Generator {
  /** The trigger type it understands. */
  readonly type: Trigger['type'];
  wants(source: Source, trigger: Trigger, facts?: SourceFacts): Answer;
}

/** What has to be asked of a forge for one source alone. Nobody reads it before a trigger needs it. */
export interface SourceFacts {
  /** Comments that begin with `/`, oldest first. */
  readonly commands?: Reading<Command>;
  readonly changedPaths?: Reading<string>;
}

export type Answer =
  | {
      readonly wanted: true;
      readonly because: string;
      /** Checks that must have succeeded first. */
      readonly checks?: readonly string[];
      /** The comment that asked for it. */
      readonly command?: Command;
      /** The commit that was asked for, where that is no longer where the source stands. */
      readonly at?: CommitSha;
    }
  | { readonly wanted: false; readonly because: string }
  | {
      readonly wanted: 'unknown';
      readonly because: string;
      readonly fault: Failure;
      /** Asking again with this fact gives another answer. Absent when it was read, and could not be read completely. */
      readonly lacks?: keyof SourceFacts;
    };
