import type { Client } from './client.ts';
import type { Output } from './output.ts';
import type { Prompter } from './prompter.ts';

/** What a command works with that needs no ephd. */
export interface LocalContext {
  /** The answer. */
  readonly out: Output;
  /** Remarks beside the answer, never part of it. */
  readonly err: Output;
  /** The answer is for a program. */
  readonly json: boolean;
  /** Where the command was given. */
  readonly folder: () => string;
  /** Undefined when nobody is there to answer. */
  readonly openPrompter: () => Promise<Prompter | undefined>;
}

/** What a command works with. */
export interface Context extends LocalContext {
  readonly client: Client;
  readonly stdin: () => AsyncIterable<Uint8Array>;
  /** Of the process. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly now: () => number;
  /** Aborts with Ctrl-C. Asked for only by commands that run until then; the others simply end. */
  readonly interruption: () => AbortSignal;
}
