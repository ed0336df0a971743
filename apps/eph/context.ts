import type { Client } from './client.ts';
import type { Output } from './output.ts';

/** What a command works with. */
export interface Context {
  readonly client: Client;
  /** The answer. */
  readonly out: Output;
  /** Remarks beside the answer, never part of it. */
  readonly err: Output;
  /** The answer is for a program. */
  readonly json: boolean;
  /** Of the process. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly now: () => number;
  /** Aborts with Ctrl-C. Asked for only by commands that run until then; the others simply end. */
  readonly interruption: () => AbortSignal;
}
