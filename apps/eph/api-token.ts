import { constants } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { apiTokenFile } from '@eph/contract';

export interface TokenReading {
  /** Undefined where there is none to send. */
  readonly token: string | undefined;
  /** What to print if ephd does not accept it. */
  readonly refusal: string;
}

/** Read for every request, because every start of ephd writes another token. */
export const readApiToken = async (
  server: URL,
  name: string,
  variables: Readonly<Record<string, string | undefined>>,
): Promise<TokenReading> => {
  if (!/^(localhost|127(\.\d+){3}|\[::1\])$/.test(server.hostname))
    return without(name, 'eph sends it to loopback addresses only. Run eph on the machine of ephd.');
  const file = apiTokenFile(variables, Number(server.port || (server.protocol === 'https:' ? 443 : 80)));
  if (file === undefined) return without(name, 'neither HOME nor XDG_STATE_HOME says where it is.');
  try {
    const text = await readFile(file, { encoding: 'utf8', flag: constants.O_NOFOLLOW | constants.O_NONBLOCK });
    const token = text.trim();
    if (/^[\w-]{43}$/.test(token))
      return { token, refusal: `ephd at ${name} does not accept the token in ${file}. ${anotherUser}` };
    return without(name, `${file} does not contain one. ${anotherUser}`);
  } catch (error) {
    return without(name, `${file} ${describe(error)}. ${anotherUser}`);
  }
};

const anotherUser = 'Was it started by another user, or with another XDG_STATE_HOME?';

const without = (name: string, why: string): TokenReading => ({
  token: undefined,
  refusal: `ephd at ${name} does not accept requests without its token, and ${why}`,
});

const describe = (error: unknown): string => {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'does not exist';
  return code === 'EACCES' ? 'may not be read by this user' : `cannot be read: ${message}`;
};
