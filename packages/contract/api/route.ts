import type { z } from 'zod';
import type { Permission } from '../access/permissions.ts';
import type { ProblemStatus } from './problem.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/**
 * What a permission is about.
 * - `environment`: the one that `{id}` names, by id, name or alias.
 * - `project`: the one that `{project}` names.
 * - `each`: of many projects, the answer holds those that the caller may see. At least one of them is needed.
 * - `all`: the answer does not tell one project from another, so the permission is needed in each of them.
 * - `server`: ephd itself. Of the roles, only admin counts for it.
 */
export type Target = 'environment' | 'project' | 'each' | 'all' | 'server';

export type AnswerShape =
  | { readonly type: 'json'; readonly status: 200 | 201 | 202; readonly schema: z.ZodType }
  /** Server-sent events with such data. */
  | { readonly type: 'stream'; readonly schema: z.ZodType }
  | { readonly type: 'text'; readonly contentType: string }
  /** For browsers. */
  | { readonly type: 'page' }
  /** A WebSocket that carries a command, as `exec-frames.ts` describes. */
  | { readonly type: 'exec' }
  /** A WebSocket that carries a TCP connection, as `port-messages.ts` describes. */
  | { readonly type: 'port' }
  | { readonly type: 'none' };

export type BodyShape =
  | { readonly type: 'json'; readonly schema: z.ZodType }
  /** Bytes, of which ephd reads at most so many. */
  | { readonly type: 'bytes'; readonly contentType: string; readonly most: number };

/** One route of the API, as data: ephd serves it, clients call it, and the documentation describes it. */
export interface Route {
  readonly method: Method;
  /** As OpenAPI writes it: `{id}` stands for one segment. */
  readonly path: `/${string}`;
  /** Null for what nobody needs to sign in for. */
  readonly permission: Permission | null;
  readonly target: Target;
  /** A sentence for people. */
  readonly summary: string;
  readonly query?: z.ZodObject;
  readonly body?: BodyShape;
  readonly answer: AnswerShape;
  /** Each call is an event in the audit history. Refused calls are events on every route. */
  readonly audit?: 'change' | 'sign-in';
  /** The answer comes only after Git or providers have been read. */
  readonly slow?: true;
  /** What a call counts for in the limit of requests; 1 unless ephd reads Git or providers for it, or works for long. */
  readonly cost?: number;
  /** A client that has the same answer already gets none. */
  readonly etag?: true;
  /** Errors that other routes do not have. */
  readonly problems?: readonly ProblemStatus[];
}

type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

export type PathOf<R extends Route> = { readonly [name in NamesIn<R['path']>]: string };

/** As ephd has parsed it. */
export type QueryOf<R extends Route> = R extends { readonly query: infer Query extends z.ZodType } ? z.output<Query> : undefined;

export type BodyOf<R extends Route> = R extends { readonly body: { readonly type: 'json'; readonly schema: infer Schema } }
  ? z.output<Schema>
  : R extends { readonly body: { readonly type: 'bytes' } }
    ? Uint8Array
    : undefined;

/** What a handler returns and a client gets. */
export type AnswerOf<R extends Route> = R['answer'] extends { readonly type: 'json'; readonly schema: infer Schema }
  ? z.output<Schema>
  : R['answer'] extends { readonly type: 'stream'; readonly schema: infer Schema }
    ? AsyncIterable<z.output<Schema>>
    : R['answer'] extends { readonly type: 'text' | 'page' }
      ? string
      : undefined;

/** The segments of a path with values filled in. */
export const fillPath = (path: string, values: Readonly<Record<string, string>>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
