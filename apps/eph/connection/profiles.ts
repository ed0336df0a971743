import { parseJson } from '@eph/contract';
import { CommandFailure } from '../command-failure.ts';
import { exitCodes } from '../exit-codes.ts';
import { readPrivateFile, writePrivateFile } from './private-file.ts';

/** A server that somebody has signed in to, under a name. */
export interface Profile {
  readonly server: string;
  /** Asked for only there: a keychain may have to be unlocked, and takes longer than a list of environments. */
  readonly tokenIn: 'keychain' | 'file';
}

export interface Profiles {
  /** The one that is used when none is named. */
  readonly current: string | undefined;
  readonly all: ReadonlyMap<string, Profile>;
}

const nameForm = /^[A-Za-z0-9][\w.:-]{0,99}$/;

export const checkProfileName = (name: string): string => {
  if (nameForm.test(name)) return name;
  throw new CommandFailure(
    'cli.usage',
    `A profile has a name of letters, digits and any of . : _ and -, not ${JSON.stringify(name)}.`,
    { exitCode: exitCodes.usage },
  );
};

/** The folder of configuration; undefined where the variables name none. */
export const configFolder = ({
  XDG_CONFIG_HOME: config,
  HOME: home,
}: Readonly<Record<string, string | undefined>>): string | undefined => {
  // The XDG specification ignores relative paths.
  const folder = config?.startsWith('/') === true ? config : home && `${home}/.config`;
  return folder ? `${folder}/eph` : undefined;
};

const fileIn = (folder: string): string => `${folder}/config.json`;

export const readProfiles = async (folder: string | undefined): Promise<Profiles> => {
  const text = folder && (await readPrivateFile(fileIn(folder)));
  if (!folder || text === undefined) return { current: undefined, all: new Map() };
  const given = parseJson(text);
  const { current, profiles } = isMap(given) ? given : {};
  const entries = isMap(profiles) ? Object.entries(profiles) : undefined;
  if (entries?.every(isProfile) !== true || (current !== undefined && typeof current !== 'string'))
    throw new CommandFailure('cli.config', `eph does not understand ${fileIn(folder)}. Delete it, and sign in again.`);
  return { current, all: new Map(entries) };
};

export const writeProfiles = (folder: string, { current, all }: Profiles): Promise<void> =>
  writePrivateFile(fileIn(folder), `${JSON.stringify({ current, profiles: Object.fromEntries(all) }, null, 2)}\n`);

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isProfile = (entry: [string, unknown]): entry is [string, Profile] => {
  const [name, value] = entry;
  return (
    nameForm.test(name) &&
    isMap(value) &&
    typeof value['server'] === 'string' &&
    (value['tokenIn'] === 'keychain' || value['tokenIn'] === 'file')
  );
};
