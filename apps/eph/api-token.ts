import { constants } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { apiTokenFile } from '@eph/contract';

export interface FileToken {
  /** Undefined where there is none to send. */
  readonly token: string | undefined;
  readonly file: string | undefined;
  /** What to print if ephd does not accept it. */
  readonly refusal: string;
}

/** The token that ephd on this machine has written for its own user. */
export const readApiToken = async (
  server: URL,
  name: string,
  variables: Readonly<Record<string, string | undefined>>,
): Promise<FileToken> => {
  const file = apiTokenFile(variables, Number(server.port || (server.protocol === 'https:' ? 443 : 80)));
  const without = (why: string): FileToken => ({
    token: undefined,
    file,
    refusal: `ephd at ${name} does not accept requests without a token, and ${why}`,
  });
  if (file === undefined) return without('neither HOME nor XDG_STATE_HOME says where it is.');
  try {
    const text = await readFile(file, { encoding: 'utf8', flag: constants.O_NOFOLLOW | constants.O_NONBLOCK });
    const token = text.trim();
    if (/^[\w-]{43}$/.test(token))
      return { token, file, refusal: `ephd at ${name} does not accept the token in ${file}. ${anotherUser}` };
    return without(`${file} does not contain one. ${anotherUser}`);
  } catch (error) {
    return without(`${file} ${describe(error)}. ${anotherUser}`);
  }
};

const anotherUser = 'Was it started by another user, or with another XDG_STATE_HOME?';

const describe = (error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'does not exist';
  return code === 'EACCES' ? 'may not be read by this user' : `cannot be read: ${message}`;
};
