import { type Log, registerSecret } from '@eph/contract';
import { type Answer, type AnswerTable, classifyAnswer, invalidAnswer, noAnswer } from './answer.ts';
import { parseBaseUrl } from './base-url.ts';
import { createBoundedCache } from './bounded-cache.ts';
import type { ForgeServerOptions } from './forge-server.ts';
import { createGate } from './gate.ts';

export interface TokenServerOptions extends ForgeServerOptions {
  /** The web address, such as `https://git.example.com`. */
  readonly baseUrl: string;
  readonly token: string;
}

/** What a client of a forge with tokens needs. The gate is shared by all clients with the same token. */
export type ForgeApiOptions = ReturnType<typeof createApiOptions>;

/** `what` is for the message about an invalid address. */
export const createApiOptions = (options: TokenServerOptions, what: string) => {
  const { token, now, random, log } = options;
  const base = parseBaseUrl(options.baseUrl, what, 'https://git.example.com');
  registerSecret(token);
  return { base, token, now, log, gate: createGate({ shown: base.host, now, random, log }) };
};

export interface ForgeHttpOptions {
  readonly fetch: typeof fetch;
  readonly baseUrl: string;
  readonly authorize: (headers: Headers) => void | Promise<void>;
  readonly table: AnswerTable;
  /** The repository, for messages. */
  readonly shown: string;
  readonly now: () => number;
  readonly log: Log;
}

/** Parses the decoded body; throws if it is invalid. */
export type ParseAnswer<T> = (body: unknown, headers: Headers) => T;

export interface ReadOptions {
  readonly signal: AbortSignal;
  /** Sends its own request instead of sharing one that is under way. */
  readonly fresh?: boolean;
}

/** JSON over HTTP. Nothing here throws: every outcome is an `Answer`. */
export interface ForgeHttp {
  /** Returns the same object as long as the forge says that nothing changed. */
  readonly read: <T>(path: string, parse: ParseAnswer<T>, options: ReadOptions) => Promise<Answer<T>>;
  /** Never cached, as writes must not be. An empty body is parsed as `undefined`. */
  readonly send: <T>(
    method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE',
    path: string,
    body: unknown,
    parse: ParseAnswer<T>,
    signal: AbortSignal,
  ) => Promise<Answer<T>>;
}

interface CacheEntry {
  readonly tag: string;
  readonly parse: unknown;
  readonly value: unknown;
}

export const createForgeHttp = (options: ForgeHttpOptions): ForgeHttp => {
  const { fetch, baseUrl, authorize, table, shown, now, log } = options;
  /** Parsed values; the answers themselves are many times larger. */
  const cache = createBoundedCache<CacheEntry>(16 * 1024 * 1024);

  const request = async (path: string, init: RequestInit & { readonly tag?: string | undefined }): Promise<Response> => {
    const headers = new Headers({ accept: 'application/json' });
    if (init.tag !== undefined) headers.set('if-none-match', init.tag);
    if (init.body !== undefined) headers.set('content-type', 'application/json');
    await authorize(headers);
    return await fetch(`${baseUrl}${path}`, { ...init, headers });
  };

  const decode = async <T>(response: Response, path: string, parse: ParseAnswer<T>): Promise<Answer<T>> => {
    const text = await response.text();
    try {
      return { ok: true, value: parse(text === '' ? undefined : JSON.parse(text), response.headers) };
    } catch (error) {
      log.warn({ forge: shown, path, reason: String(error) }, 'invalid answer from a forge');
      return invalidAnswer(`${shown}: the forge sent an invalid answer.`);
    }
  };

  const keep = (path: string, response: Response, parse: unknown, value: unknown) => {
    const tag = response.headers.get('etag');
    if (tag === null) cache.delete(path);
    else cache.set(path, { tag, parse, value }, (JSON.stringify(value) ?? '').length + path.length + tag.length);
  };

  return {
    async read<T>(path: string, parse: ParseAnswer<T>, { signal, fresh = false }: ReadOptions): Promise<Answer<T>> {
      const found = cache.get(path);
      const before = found?.parse === parse ? found : undefined;
      try {
        const response = await request(path, { signal, cache: fresh ? 'no-cache' : 'default', tag: before?.tag });
        // Cached under this parse function, so it has its type.
        if (response.status === 304 && before !== undefined) return { ok: true, value: before.value as T };
        if (!response.ok) return classifyAnswer(table, response, shown, now());
        const answer = await decode(response, path, parse);
        if (answer.ok) keep(path, response, parse, answer.value);
        return answer;
      } catch (error) {
        return noAnswer(error, signal);
      }
    },

    async send(method, path, body, parse, signal) {
      try {
        const response = await request(path, { method, signal, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
        if (!response.ok) return classifyAnswer(table, response, shown, now());
        return await decode(response, path, parse);
      } catch (error) {
        return noAnswer(error, signal);
      }
    },
  };
};
