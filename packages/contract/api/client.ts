import type { z } from 'zod';
import { parseJson } from '../parse-json.ts';
import { readEventStream } from './event-stream.ts';
import { type End, endSchema, type Problem, problemSchema } from './problem.ts';
import { type AnswerOf, type BodyOf, fillPath, type Method, type PathOf, type Route } from './route.ts';
import { type RouteName, type Routes, routes } from './routes.ts';

export interface Exchange {
  readonly method: Method;
  /** With the query, relative to the address of ephd. */
  readonly path: string;
  readonly accept: string;
  readonly body?: { readonly type: string; readonly bytes: Uint8Array };
  /** The answer comes only after Git or providers have been read. */
  readonly slow: boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly text: () => Promise<string>;
  readonly chunks: () => AsyncIterable<unknown>;
}

/** Sends a request with the token of the caller. It follows no redirect: that would take the token elsewhere. */
export type Transport = (exchange: Exchange) => Promise<Reply>;

/** ephd answered that it does not do this. */
export class ApiRefusal extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** ephd ended a stream before its time. */
export class StreamEnd extends Error {
  readonly code: string;
  readonly hint: string | undefined;

  constructor({ code, message, hint }: End) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

/** What answered is not an ephd that this client understands. */
export class ApiMisunderstanding extends Error {
  readonly reply: Reply;

  constructor(message: string, reply: Reply) {
    super(message);
    this.reply = reply;
  }
}

type QueryValue = string | number | boolean | readonly string[] | undefined;

/** What ephd makes of them. */
type QueryInput<R extends Route> = R extends { readonly query: infer Query extends z.ZodObject }
  ? { readonly query?: { readonly [name in keyof z.output<Query>]?: Given<z.output<Query>[name]> | undefined } }
  : object;
type Given<Value> = Value extends readonly (infer One)[] ? readonly One[] : Value;
type PathInput<R extends Route> = keyof PathOf<R> extends never ? object : { readonly path: PathOf<R> };
type BodyInput<R extends Route> = BodyOf<R> extends undefined ? object : { readonly body: BodyOf<R> };

export type Input<R extends Route> = PathInput<R> & QueryInput<R> & BodyInput<R> & { readonly signal?: AbortSignal | undefined };

type Result<R extends Route> = R['answer'] extends { readonly type: 'stream' } ? AnswerOf<R> : Promise<AnswerOf<R>>;

type Call<R extends Route> = object extends Input<R> ? (input?: Input<R>) => Result<R> : (input: Input<R>) => Result<R>;

/**
 * The whole API for programs, one function for each route. For `exec`, which is more than an answer, there is `connectExec`; `forwardPort`
 * is for programs that can make a WebSocket wait, which browsers cannot.
 */
export type Api = { readonly [name in Exclude<RouteName, 'exec' | 'forwardPort' | 'readPage'>]: Call<Routes[name]> };

/** @param translate makes of what went wrong what callers get */
export const createClient = (transport: Transport, translate = (error: unknown): unknown => error): Api => {
  const callRoute = (route: Route, input: AnyInput): unknown => {
    if (route.answer.type === 'stream') return follow(route, input, transport, translate);
    return ask(route, input, transport).catch((error: unknown) => {
      throw translate(error);
    });
  };
  return Object.fromEntries(
    (Object.entries(routes) as [RouteName, Route][]).map(([name, route]) => [
      name,
      (input: AnyInput = {}) => callRoute(route, input),
    ]),
  ) as unknown as Api;
};

interface AnyInput {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, QueryValue>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

const ask = async (route: Route, input: AnyInput, transport: Transport): Promise<unknown> => {
  const { answer } = route;
  const reply = await send(route, input, transport, answer.type === 'text' ? '*/*' : 'application/json');
  if (answer.type === 'none') return undefined;
  const text = await reply.text();
  if (answer.type === 'text') return text;
  if (answer.type !== 'json' || !reply.contentType.startsWith('application/json')) throw notEphd(reply);
  return parse(text, answer.schema, reply);
};

/** Ends quietly when its signal aborts. */
async function* follow(
  route: Route,
  input: AnyInput,
  transport: Transport,
  translate: (error: unknown) => unknown,
): AsyncGenerator {
  try {
    const reply = await send(route, input, transport, 'text/event-stream');
    if (route.answer.type !== 'stream' || !reply.contentType.startsWith('text/event-stream')) throw notEphd(reply);
    for await (const { name, data } of readEventStream(reply.chunks()))
      if (name === '') yield parse(data, route.answer.schema, reply);
      else if (name === 'end') throw new StreamEnd(parse(data, endSchema, reply));
  } catch (error) {
    if (input.signal?.aborted !== true) throw translate(error);
  }
}

/** Returns successful answers; all others throw. */
const send = async (route: Route, { path = {}, query = {}, body, signal }: AnyInput, transport: Transport, accept: string) => {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) search.append(name, String(one));
  const reply = await transport({
    method: route.method,
    path: `${fillPath(route.path, path)}${search.size === 0 ? '' : `?${search.toString()}`}`,
    accept,
    ...(route.body && { body: encodeBody(route.body, body) }),
    slow: route.slow === true,
    signal,
  });
  if (reply.status >= 200 && reply.status < 300) return reply;
  throw await readRefusal(reply);
};

export const readRefusal = async (reply: Reply): Promise<ApiRefusal | ApiMisunderstanding> => {
  const problem = problemSchema.safeParse(parseJson(await reply.text()));
  return problem.success ? new ApiRefusal(problem.data) : notEphd(reply);
};

const encodeBody = (shape: NonNullable<Route['body']>, body: unknown): NonNullable<Exchange['body']> =>
  shape.type === 'bytes'
    ? { type: shape.contentType, bytes: body as Uint8Array }
    : { type: 'application/json', bytes: new TextEncoder().encode(JSON.stringify(body)) };

const parse = <T>(text: string, schema: z.ZodType<T>, reply: Reply): T => {
  const { data, error } = schema.safeParse(parseJson(text));
  if (data !== undefined) return data;
  const issue = error?.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? '' : ` at ${issue.path.join('.')}`;
  throw new ApiMisunderstanding(`${issue?.message ?? 'unknown'}${where}`, reply);
};

const notEphd = (reply: Reply): ApiMisunderstanding => new ApiMisunderstanding('', reply);
