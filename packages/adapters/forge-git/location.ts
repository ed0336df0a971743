import { resolve } from 'node:path';
import { EphError, redact, registerSecret } from '@eph/contract';

/** A local folder, read in place, or a URL that Git fetches from. */
export type Location = PathLocation | UrlLocation;

export interface PathLocation {
  readonly kind: 'path';
  readonly path: string;
  /** For messages. */
  readonly shown: string;
}

export interface UrlLocation {
  readonly kind: 'url';
  /** Without credentials: command lines are visible to all users of the machine. */
  readonly url: string;
  readonly shown: string;
  readonly authorization?: Authorization;
}

/** Returns the `Authorization` header. Called before each exchange, because a token may have been renewed. */
export type Authorization = () => Promise<string>;

/** `ext::` and `fd::` are not allowed: they run commands or take over descriptors. */
export const transports = ['file', 'git', 'http', 'https', 'ssh'] as const;

export const parseLocation = (text: string): Location => {
  if (text === '' || text.includes('\0')) throw refused(text, 'it is not a path or an address');
  const helper = /^([a-z0-9][a-z0-9+.-]*)::/i.exec(text);
  if (helper) throw refused(text, `the transport "${helper[1]}::" is not allowed`);
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase();
  if (scheme !== undefined) return parseUrl(text, scheme);
  // As in Git: a colon before the first slash means `host:path`.
  if (/^[^/]*:/.test(text)) return { kind: 'url', url: text, shown: redact(text) };
  const path = resolve(text);
  return { kind: 'path', path, shown: path };
};

const parseUrl = (text: string, scheme: string): UrlLocation => {
  if (!transports.some((known) => known === scheme)) throw refused(text, `the transport "${scheme}" is not allowed`);
  const plain: UrlLocation = { kind: 'url', url: text, shown: redact(text) };
  if (scheme !== 'http' && scheme !== 'https') return plain;
  if (!URL.canParse(text)) throw refused(text, 'it is not a valid address');
  const url = new URL(text);
  if (url.username === '' && url.password === '') return plain;
  return { ...plain, ...withoutCredentials(url) };
};

const withoutCredentials = (url: URL): Pick<UrlLocation, 'url' | 'authorization'> => {
  const password = decode(url.password);
  const basic = Buffer.from(`${decode(url.username)}:${password}`).toString('base64');
  registerSecret(password === '' ? decode(url.username) : password);
  registerSecret(basic);
  url.username = '';
  url.password = '';
  return { url: url.href, authorization: () => Promise.resolve(`Basic ${basic}`) };
};

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    // A stray `%` is part of the secret.
    return text;
  }
};

const refused = (text: string, why: string): EphError =>
  new EphError(
    'config.invalid',
    `${JSON.stringify(text)} cannot be a project: ${why}. Use a path or one of ${transports.join(', ')}.`,
  );
