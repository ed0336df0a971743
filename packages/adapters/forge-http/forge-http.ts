import { type Log, registerSecret } from '@eph/contract';
import { LRUCache } from 'lru-cache';
import type { z } from 'zod';
import { type Answer, type AnswerTable, classifyAnswer, invalidAnswer, noAnswer, type ReceivedAnswer } from './answer.ts';
import { parseBaseUrl } from './base-url.ts';
import type { Exchange } from './exchange.ts';
import type { ForgeServerOptions } from './forge-server.ts';
import { createGate } from './gate.ts';
import type { Listing } from './read-pages.ts';

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

/** The API of one repository or owner. Nothing here throws: every outcome is an `Answer` or a `Listing`. */
export interface ForgeApi {
  /** The repository or owner, for messages. */
  readonly shown: string;
  /** Returns the same object as long as the forge says that nothing changed. The path `''` is the repository itself. */
  readonly read: <T>(path: string, parse: ParseAnswer<T>, signal: AbortSignal) => Promise<Answer<T>>;
  readonly list: <T>(path: string, listed: Listed<T>, signal: AbortSignal) => Promise<Listing<T>>;
  /** A write. An empty body is parsed as `undefined`. */
  readonly send: <T>(
    method: 'POST' | 'PATCH' | 'PUT' | 'DELETE',
    path: string,
    body: unknown,
    parse: ParseAnswer<T>,
    signal: AbortSignal,
  ) => Promise<Answer<T>>;
}

/** Parses the decoded body; throws if it is invalid. Create each once: it is part of the cache key. */
export type ParseAnswer<T> = (body: unknown, headers: Headers) => T;

export const parserOf =
  <T>(shape: z.ZodType<T>): ParseAnswer<T> =>
  (body) =>
    shape.parse(body);

/** For answers whose body is not needed. */
export const parseNothing: ParseAnswer<undefined> = () => undefined;

/** One kind of list. Create each once: it is part of the cache key. */
export interface Listed<T> {
  /** For messages. */
  readonly what: string;
  readonly parse: ParseAnswer<readonly T[]>;
  readonly keyOf: (item: T) => string | number;
}

export const listOf = <T extends { readonly id: number }>(what: string, shape: z.ZodType<T>): Listed<T> =>
  listBy(what, shape, ({ id }) => id);

export const listBy = <T>(what: string, shape: z.ZodType<T>, keyOf: Listed<T>['keyOf']): Listed<T> => {
  // Gitea returns `null` for some empty lists; a missing body is an error.
  const items = shape.array().nullable();
  return { what, keyOf, parse: (body) => items.parse(body) ?? [] };
};

export interface ForgeHttpOptions<Position> {
  readonly exchange: Exchange;
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly table: AnswerTable;
  readonly shown: string;
  readonly now: () => number;
  readonly log: Log;
  /** Where a page is in its list; throws if the headers do not say so. */
  readonly parsePosition: (headers: Headers) => Position;
  /** For a forge that sends entity tags. */
  readonly cache?: AnswerCache | undefined;
  /** Headers that are new also in an answer without a body; if one differs, the answer is read again. */
  readonly countHeaders?: readonly string[];
}

/** Parsed: the answers themselves are about fifty times larger. */
interface CachedAnswer {
  readonly tag: string;
  readonly counts: string;
  readonly parse: unknown;
  readonly value: unknown;
}

export type AnswerCache = LRUCache<string, CachedAnswer>;

export const createAnswerCache = (bytes: number): AnswerCache =>
  new LRUCache({ maxSize: bytes, sizeCalculation: ({ value }, key) => key.length + (JSON.stringify(value) ?? '').length });

export interface ForgeHttp<Position> extends Pick<ForgeApi, 'read' | 'send'> {
  /** `isUnconditional` ignores the cached entity tag, so that all headers are new. */
  readonly readPage: <T>(
    path: string,
    listed: Listed<T>,
    signal: AbortSignal,
    isUnconditional?: boolean,
  ) => Promise<Answer<Position & { readonly items: readonly T[] }>>;
}

/** JSON over HTTP. */
export const createForgeHttp = <Position>(options: ForgeHttpOptions<Position>): ForgeHttp<Position> => {
  const { exchange, baseUrl, table, shown, now, log, parsePosition, cache, countHeaders = [] } = options;

  const attempt = async <T>(
    path: string,
    init: { readonly method?: string; readonly body?: unknown; readonly tag?: string | undefined },
    parse: (received: ReceivedAnswer) => Answer<T> | Promise<Answer<T>>,
    signal: AbortSignal,
  ): Promise<Answer<T>> => {
    const { method = 'GET', tag } = init;
    const headers = new Headers({ accept: 'application/json', ...options.headers });
    const body = init.body === undefined ? {} : { body: JSON.stringify(init.body) };
    if (tag !== undefined) headers.set('if-none-match', tag);
    if (init.body !== undefined) headers.set('content-type', 'application/json');
    try {
      const received = await exchange(new Request(`${baseUrl}${path}`, { method, headers, ...body }), signal);
      const { status } = received;
      const isUsable = (status >= 200 && status < 300) || (status === 304 && tag !== undefined);
      return isUsable ? await parse(received) : classifyAnswer(table, received, shown, now());
    } catch (error) {
      return noAnswer(error, signal);
    }
  };

  const decode = <T>({ body, headers }: ReceivedAnswer, path: string, parse: ParseAnswer<T>): Answer<T> => {
    try {
      return { ok: true, value: parse(body === '' ? undefined : JSON.parse(body), headers) };
    } catch (error) {
      log.warn({ forge: shown, path, reason: String(error) }, 'invalid answer from a forge');
      return invalidAnswer(`${shown}: the forge sent an invalid answer.`);
    }
  };

  /** `identity` stands for how the value is parsed: one path may be cached in several forms. */
  const readCached = async <T>(
    path: string,
    identity: unknown,
    parse: ParseAnswer<T>,
    signal: AbortSignal,
    isUnconditional = false,
  ): Promise<Answer<T>> => {
    const key = `${baseUrl}${path}`;
    const found = isUnconditional ? undefined : cache?.get(key);
    const before = found?.parse === identity ? found : undefined;
    return await attempt(
      path,
      { tag: before?.tag },
      async (received) => {
        const counts = countHeaders.map((name) => received.headers.get(name)).join();
        if (received.status === 304 && before !== undefined)
          // Cached with this identity, so it has its type.
          return before.counts === counts
            ? { ok: true, value: before.value as T }
            : await readCached(path, identity, parse, signal, true);
        const answer = decode(received, path, parse);
        const tag = received.headers.get('etag');
        if (!answer.ok || tag === null) cache?.delete(key);
        else cache?.set(key, { tag, counts, parse: identity, value: answer.value });
        return answer;
      },
      signal,
    );
  };

  return {
    read: (path, parse, signal) => readCached(path, parse, parse, signal),
    readPage: (path, listed, signal, isUnconditional) =>
      readCached(
        path,
        listed,
        (body, headers) => ({ items: listed.parse(body, headers), ...parsePosition(headers) }),
        signal,
        isUnconditional,
      ),
    send: (method, path, body, parse, signal) =>
      attempt(path, { method, body }, (received) => decode(received, path, parse), signal),
  };
};
