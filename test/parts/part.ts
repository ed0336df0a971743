/**
 * A real component that tests and benchmarks run against: a database, a web server, later a forge, a registry or a cluster.
 * One file per part; `all-parts.ts` lists them.
 *
 * Contract
 * - `find` changes nothing. Its reason names the places it searched.
 * - `get` is the only method that changes the machine, and only `npm run parts -- --get` calls it.
 * - `start` gives every caller a separate, ready instance on loopback, with its own folder and port.
 * - `stop` ends the instance and removes its folder: no process and no file is left. Stopping twice is harmless. If the test run is
 *   killed, the instance ends with it.
 */
export interface Part<Options = never, Running extends RunningPart = RunningPart> extends Program {
  start(options: Options): Promise<Running>;
}

/** A part that is not started by itself. */
export interface Program {
  readonly name: string;
  /** What it is for, in a few words. */
  readonly purpose: string;
  /** `EPH_PARTS=require` demands all parts but the extended ones, whose suites run where the part is here. */
  readonly tier?: 'extended' | undefined;
  find(): Finding;
  get(progress: (line: string) => void, signal: AbortSignal): Promise<void>;
}

export type Finding =
  | { readonly found: true; readonly where: string; readonly version: string }
  | { readonly found: false; readonly reason: string };

export interface RunningPart {
  readonly folder: string;
  readonly port: number;
  stop(): Promise<void>;
}

/** The command that installs a part. */
export const getCommand = (...names: readonly string[]): string => `npm run parts -- --get ${names.join(' ')}`;

/** Why a suite is skipped although its part may be here. */
export const leftOut = 'left out by EPH_PARTS=none';
