import { join } from 'node:path';
import type { Isolation } from '@eph/contract';
import { cacheVariables } from './package-caches.ts';

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
});
