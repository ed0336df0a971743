import type { Log } from '@eph/contract';
import { type Answer, type AnswerTable, classifyAnswer, invalidAnswer, noAnswer } from './answer.ts';
import { createBoundedCache } from './bounded-cache.ts';

export interface ForgeHttpOptions {
  /** As `createConditionalFetch` makes it. */
  readonly fetch: typeof fetch;
  /** What every path is put behind. */
  readonly baseUrl: string;
  /** Adds the credentials. */
  readonly authorize: (headers: Headers) => void | Promise<void>;
  readonly table: AnswerTable;
  /** The repository, for people. */
  readonly shown: string;
  readonly now: () => number;
  readonly log: Log;
  /** For what was made of the answers. */
  readonly cacheLimitBytes?: number | undefined;
}

/** Turns the decoded body of an answer into what is needed of it; throws when it is not what it should be. */
export type ParseAnswer<T> = (body: unknown, headers: Headers) => T;

export interface ReadOptions {
  readonly signal: AbortSignal;
  /** Asked after this call began, whoever else is asking the same. */
  readonly fresh?: boolean;
}

/** JSON over HTTP with a forge that sends entity tags or does not. Nothing here throws: whatever happens is an answer. */
export interface ForgeHttp {
  /** The same value, not only an equal one, for as long as the forge says that nothing changed. */
  read<T>(path: string, parse: ParseAnswer<T>, options: ReadOptions): Promise<Answer<T>>;
  /** A change. Never kept, never shared. An answer without a body is parsed as `undefined`. */
  send<T>(method: WriteMethod, path: string, body: unknown, parse: ParseAnswer<T>, signal: AbortSignal): Promise<Answer<T>>;
}

export type WriteMethod = 'POST' | 'PATCH' | 'PUT' | 'DELETE';

interface CacheEntry {
  readonly tag: string;
  readonly parse: unknown;
  readonly value: unknown;
}

export const createForgeHttp = (options: ForgeHttpOptions): ForgeHttp => {
  const { fetch, baseUrl, authorize, table, shown, now, log, cacheLimitBytes = 16 * 1024 * 1024 } = options;
  /** What was made of the answers; the answers themselves are many times larger. */
  const cache = createBoundedCache<CacheEntry>(cacheLimitBytes);

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
      log.warn({ forge: shown, path, reason: String(error) }, 'an answer of a forge makes no sense');
      return invalidAnswer(`${shown}: the forge answered in a way that makes no sense.`);
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
        // Kept under this very function, so it has what the function returns.
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
