import { spawnSync } from 'node:child_process';
import { accessSync, constants, globSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

export interface Search {
  readonly program: string;
  /** Folders off the PATH where packages put it; may hold wildcards. The last match in natural order wins: the newest version. */
  readonly places: readonly string[];
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Outside the checkout, so that a new clone does not rebuild everything. */
export const partsCache = (env: Environment): string =>
  env['EPH_PARTS_CACHE'] ?? join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'eph', 'parts');

/** Searches the PATH, then the well-known folders, then the parts cache. */
export const findProgram = ({ program, places }: Search, env: Environment): string | undefined => {
  const onPath = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const wellKnown = places.flatMap((place) => globSync(place).toSorted(byVersion).toReversed());
  const cached = join(partsCache(env), 'bin');
  return [...onPath, ...wellKnown, cached].map((folder) => join(folder, program)).find(isExecutable);
};

/** Where `findProgram` searched, for its error message. */
export const describeSearch = ({ program, places }: Search, env: Environment): string =>
  `no ${program} on the PATH, in ${[...places, join(partsCache(env), 'bin')].join(' or ')}`;

/** The first line of the version output. Some programs print it to standard error. */
export const readVersion = (program: string, flag: string): string => {
  const { stdout, stderr } = spawnSync(program, flag.split(' '), { encoding: 'utf8', timeout: 10_000 });
  return `${stdout}${stderr}`.trim().split('\n')[0]?.trim() ?? '';
};

const byVersion = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true });

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false; // Missing, or not executable by this user.
  }
};
