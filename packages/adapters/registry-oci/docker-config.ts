import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { EphError, type Log, parseJson, registerSecret } from '@eph/contract';
import { z } from 'zod';
import { parseHost } from './repository-name.ts';

/** What a registry or its token server is asked with. */
export type Credentials =
  | { readonly type: 'password'; readonly username: string; readonly password: string }
  /** A refresh token of OAuth 2, as `az acr login` stores it. */
  | { readonly type: 'identity'; readonly token: string };

/** Where the credentials of one host are. */
export type CredentialSource =
  | { readonly type: 'file'; readonly credentials: Credentials }
  /** The program `docker-credential-<name>`, which is asked for `server`. */
  | { readonly type: 'helper'; readonly name: string; readonly server: string };

/** A configuration file of Docker. It is read again for each question, because `docker login` writes it. */
export interface DockerConfig {
  find(host: string): Promise<CredentialSource | undefined>;
}

const limitBytes = 1024 * 1024;

const entry = z.object({
  auth: z.string().optional(),
  username: z.string().optional(),
  password: z.string().optional(),
  identitytoken: z.string().optional(),
});

const shape = z.object({
  auths: z.record(z.string(), entry).default({}),
  credHelpers: z.record(z.string(), z.string()).default({}),
  credsStore: z.string().optional(),
});

export type DockerFile = z.output<typeof shape>;

/** What Docker calls Docker Hub. */
const dockerHubServer = 'https://index.docker.io/v1/';

/** Throws `config.invalid` where the file cannot be used. Later, the last good reading stays in force. */
export const openDockerConfig = (path: string, log: Log): DockerConfig => {
  let last = parseOrThrow(path);

  const read = async (): Promise<DockerFile> => {
    try {
      last = parse(await readFile(path, 'utf8'));
    } catch (error) {
      log.warn({ path, reason: explain(error) }, 'the file with credentials of registries cannot be used; the last reading is');
    }
    return last;
  };

  return {
    find: async (host) => findSource(await read(), host),
  };
};

const parseOrThrow = (path: string): DockerFile => {
  try {
    return parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new EphError('config.invalid', `${path}, the file with credentials of registries, cannot be used: ${explain(error)}`);
  }
};

const parse = (text: string): DockerFile => {
  const parsed = parseDockerFile(text);
  if (parsed === undefined) throw new EphError('config.invalid', 'it is not a configuration file of Docker');
  return parsed;
};

/** Undefined for what is none. */
export const parseDockerFile = (text: string): DockerFile | undefined =>
  text.length > limitBytes ? undefined : shape.safeParse(parseJson(text)).data;

/**
 * What such a file says itself, without helpers. Not registered as secrets: what comes from elsewhere is replaced again and again, and none
 * would ever be forgotten.
 */
export const findInDockerFile = ({ auths }: Pick<DockerFile, 'auths'>, host: string): Credentials | undefined =>
  toCredentials(findByHost(auths, host) ?? {});

/** Without what the file says, which is secret. */
const explain = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** In the order of Docker: the helper for the host, then the store for all hosts, then the file itself. */
const findSource = (file: DockerFile, host: string): CredentialSource | undefined => {
  const { auths, credHelpers, credsStore } = file;
  const name = findByHost(credHelpers, host) ?? credsStore;
  if (name !== undefined && name !== '')
    return { type: 'helper', name, server: host === parseHost('docker.io') ? dockerHubServer : host };
  const credentials = findInDockerFile(file, host);
  if (credentials === undefined) return undefined;
  registerSecret(credentials.type === 'identity' ? credentials.token : credentials.password);
  registerSecret(findByHost(auths, host)?.auth ?? '');
  return { type: 'file', credentials };
};

/** Keys are hosts, or addresses of which only the host counts. */
const findByHost = <T>(entries: Readonly<Record<string, T>>, host: string): T | undefined =>
  Object.entries(entries).find(([key]) => parseHost(key.replace(/^https?:\/\//, '').replace(/\/.*$/s, '')) === host)?.[1];

const toCredentials = ({ auth = '', identitytoken = '', ...given }: z.output<typeof entry>): Credentials | undefined => {
  if (identitytoken !== '') return { type: 'identity', token: identitytoken };
  const decoded = Buffer.from(auth, 'base64').toString();
  const colon = decoded.indexOf(':');
  const username = given.username ?? decoded.slice(0, Math.max(colon, 0));
  // Old versions of Docker filled it up.
  const password = given.password ?? decoded.slice(colon + 1).replace(/\0+$/, '');
  return username === '' || password === '' ? undefined : { type: 'password', username, password };
};
