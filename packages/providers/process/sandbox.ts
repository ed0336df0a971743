import { join } from 'node:path';
import type { Isolation } from '@eph/contract';
import { cacheVariables } from './package-caches.ts';

/** Where a service finds its checkout, whatever it is called outside. */
export const appFolder = '/app';

/**
 * Confines the command of a service, so that it touches its own checkout and nothing else. The contract (`sandbox.contract.ts`):
 *
 * - It sees the checkout, a HOME and a `/tmp` of its own, and programs of the machine, which it cannot change. It sees neither the
 *   data folder nor the files, variables or processes of ephd, of people or of other services.
 * - When the process that runs the words is killed, everything that the command started is gone, however it tried to get away.
 * - Nothing of `variables` is on a command line or in the environment of a process outside.
 */
export interface Sandbox {
  readonly isolation: Isolation;
  /** Returns what to run in its place. */
  confine(command: Command): Confined;
  /** Returns what to run to have a command in a sandbox beside the service, with the rights that the service has. */
  readonly enter: ((entry: Entry) => Entered) | undefined;
}

export interface Command {
  readonly words: readonly string[];
  /** The checkout, and where in it the command starts. */
  readonly tree: string;
  readonly directory: string;
  /** Of this instance alone. */
  readonly home: string;
  readonly variables: Readonly<Record<string, string>>;
  /** A folder for package managers, which are told of it in variables. */
  readonly cache?: string | undefined;
  /** With a network of its own it is reached from loopback on its port, and reaches these ports of loopback. Undefined if it shares. */
  readonly network: { readonly port: number; readonly reaches: readonly number[] } | undefined;
}

export interface Confined {
  /** For a shell, with the words as its arguments. */
  readonly script: string;
  readonly words: readonly string[];
  readonly folder: string;
  readonly variables: Readonly<Record<string, string>>;
  /** A file for its standard input, which the caller closes after the start; undefined where there is no sandbox. */
  readonly input: number | undefined;
}

export interface Entry extends Pick<Command, 'words' | 'directory' | 'variables'> {
  readonly hasOwnNetwork: boolean;
  readonly terminal: { readonly columns: number; readonly rows: number } | undefined;
  /** Of what runs outside. */
  readonly marker: string;
}

/**
 * Its descriptors from 3 on are a pipe, `Namespaces.all` and `input`, and 7 is `Namespaces.user` if there is one. The process stays
 * outside and waits. Its only child runs the command, and has a UTS namespace which everything that the command starts is in, and
 * nothing else. An empty line comes from the pipe when the command could run, and it runs when a line is written there. With a
 * terminal, the name of that comes next, and each line of name, rows and columns resizes it.
 */
export interface Entered extends Pick<Confined, 'script' | 'words' | 'variables'> {
  /** A file, which the caller closes after the start. */
  readonly input: number;
}

/** Runs commands as ephd itself. */
export const withoutSandbox = (because: string): Sandbox => ({
  isolation: { state: 'trusted', because },
  confine: ({ words, tree, directory, variables, cache }) => ({
    script: 'exec "$@"',
    words,
    folder: join(tree, directory),
    variables: { ...(cache !== undefined && cacheVariables(cache)), ...variables },
    input: undefined,
  }),
  enter: undefined,
});
