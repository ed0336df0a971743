import type { UrlLocation } from './location.ts';

export interface SmartHttpOptions {
  readonly location: UrlLocation;
  /** The process environment, as Git gets it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/**
 * Lists refs with these prefixes over HTTP in one request of Git's protocol version 2, in the format of `git ls-remote`. A Git
 * process costs more than the whole request, and a pass lists every repository.
 *
 * Returns `undefined` for everything but a complete and valid list. The caller then uses Git, which follows redirects,
 * supports older servers and explains errors best.
 */
export type ListBySmartHttp = (prefixes: readonly string[], signal: AbortSignal) => Promise<Buffer | undefined>;

/** With one of these set, only Git can reach the server. */
const proxyVariables = 'http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY SSL_CERT_FILE SSL_CERT_DIR'.split(' ');

const timeLimitMs = 60_000;
const answerLimitBytes = 64 * 1024 * 1024;

export const createSmartHttp = ({ location, environment }: SmartHttpOptions): ListBySmartHttp => {
  const { url, authorization } = location;
  const isSupported = /^https?:/i.test(url) && proxyVariables.every((name) => (environment[name] ?? '') === '');
  const address = `${url.replace(/\/+$/, '')}/git-upload-pack`;
  const headers = {
    accept: resultType,
    'content-type': 'application/x-git-upload-pack-request',
    'git-protocol': 'version=2',
    'user-agent': 'eph',
  };

  const postListRequest = async (
    prefixes: readonly string[],
    authorized: Record<string, string>,
    signal: AbortSignal,
  ): Promise<Buffer | undefined> => {
    const response = await fetch(address, {
      method: 'POST',
      headers: { ...headers, ...authorized },
      body: listRequest(prefixes),
      redirect: 'manual',
      signal,
    });
    const isList = response.status === 200 && response.headers.get('content-type') === resultType;
    const answer = isList ? await readWhole(response) : undefined;
    if (answer === undefined) await response.body?.cancel();
    return answer === undefined ? undefined : toLsRemote(answer);
  };

  return async (prefixes, signal) => {
    if (!isSupported) return undefined;
    const authorized = authorization === undefined ? undefined : { authorization: await authorization() };
    try {
      return await postListRequest(prefixes, { ...authorized }, AbortSignal.any([signal, AbortSignal.timeout(timeLimitMs)]));
    } catch {
      signal.throwIfAborted();
      // Git tries next and reports the error.
      return undefined;
    }
  };
};

const resultType = 'application/x-git-upload-pack-result';

const packet = (text: string): string => (text.length + 4).toString(16).padStart(4, '0') + text;
const listRequest = (prefixes: readonly string[]): string =>
  `${packet('command=ls-refs\n')}0001${packet('peel\n')}${prefixes.map((prefix) => packet(`ref-prefix ${prefix}\n`)).join('')}0000`;

const readWhole = async (response: Response): Promise<Buffer | undefined> => {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > answerLimitBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
};

/** The last packet has length zero; a truncated list lacks it. */
const toLsRemote = (answer: Buffer): Buffer | undefined => {
  const lines: Buffer[] = [];
  for (let at = 0; ; ) {
    const digits = answer.toString('latin1', at, at + 4);
    if (digits === '0000') return at + 4 === answer.length ? Buffer.concat(lines) : undefined;
    const length = /^[0-9a-f]{4}$/.test(digits) ? Number.parseInt(digits, 16) : 0;
    const line = length > 4 && at + length <= answer.length ? toLines(answer.subarray(at + 4, at + length)) : undefined;
    if (line === undefined) return undefined;
    lines.push(line);
    at += length;
  }
};

const id = '(?:[0-9a-f]{40}|[0-9a-f]{64})';
const refLine = new RegExp(`^(${id}) ([^ \\n]+)((?: [^ \\n]+)*)\\n?$`);
const peeledPart = new RegExp(` peeled:(${id})(?: |$)`);

/** As bytes: names need not be UTF-8. */
const toLines = (packetText: Buffer): Buffer | undefined => {
  const [, object, name, rest = ''] = refLine.exec(packetText.toString('latin1')) ?? [];
  if (object === undefined) return undefined;
  const peeled = peeledPart.exec(rest)?.[1];
  return Buffer.from(`${object}\t${name}\n${peeled === undefined ? '' : `${peeled}\t${name}^{}\n`}`, 'latin1');
};
