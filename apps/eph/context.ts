import type { Readable } from 'node:stream';
import type { Client } from './client.ts';
import type { Connection } from './connection/connection.ts';
import type { Output } from './output.ts';
import type { Prompter } from './prompter.ts';

export type InputStream = Readable & { readonly isTTY?: boolean; readonly setRawMode?: (isRaw: boolean) => unknown };

/** For commands that need no ephd. */
export interface LocalContext {
  readonly out: Output;
  /** For messages beside the result. */
  readonly err: Output;
  readonly json: boolean;
  /** The result of a command: as JSON if that is asked for, else as lines. */
  readonly print: (value: unknown, render: () => readonly string[]) => Promise<void>;
  readonly folder: () => string;
  /** Undefined without a terminal. */
  readonly openPrompter: () => Promise<Prompter | undefined>;
}

export interface Context extends LocalContext {
  readonly client: Client;
  readonly connection: Connection;
  readonly stdin: () => InputStream;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly now: () => number;
  /** Aborts with Ctrl-C. Only commands that run until then call it; others end at once. */
  readonly interruption: () => AbortSignal;
}
