import type { Command, CommitSha, Failure, Reading, Source, Trigger } from '@eph/contract';
import type { ShortCommand } from './commands.ts';

/**
 * Decides whether a source wants an environment under one kind of trigger.
 *
 * Contract
 * - Pure: the same source, trigger and facts give the same answer.
 * - A fact that was not read, or only partly, never makes a source unwanted. The answer is then `unknown` and names the fact.
 * - `because` is the line `eph why` prints. It names the rule and the fact; long or unprintable names are shortened.
 */
export interface Generator {
  /** The trigger type it handles. */
  readonly type: Trigger['type'];
  wants(source: Source, trigger: Trigger, facts?: SourceFacts): Answer;
}

/** Facts that cost a request per source. They are read only when a trigger needs them. */
export interface SourceFacts {
  /** Comments that begin with `/`, oldest first. */
  readonly commands?: Reading<Command>;
  readonly changedPaths?: Reading<string>;
}

export type Answer =
  | {
      readonly wanted: true;
      readonly because: string;
      readonly checks?: readonly string[];
      readonly command?: Command;
      /** The commit that was asked for, if the source has moved on since. */
      readonly at?: CommitSha;
    }
  | { readonly wanted: false; readonly because: string; readonly short?: ShortCommand }
  | {
      readonly wanted: 'unknown';
      readonly because: string;
      readonly fault: Failure;
      /** The fact that was not read at all. Absent if it was read incompletely. */
      readonly lacks?: keyof SourceFacts;
    };
