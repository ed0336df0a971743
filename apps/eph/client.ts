import type { IncomingMessage } from 'node:http';
import {
  type ConfigView,
  configViewSchema,
  type EnvironmentDetailView,
  type EnvironmentRequest,
  type EnvironmentView,
  type EventListView,
  environmentDetailSchema,
  environmentListSchema,
  errorSchema,
  eventListSchema,
  type LogLine,
  logLineSchema,
  type PlanView,
  planSchema,
  type RequestAnswer,
  redact,
  requestAnswerSchema,
  type ValidationView,
  validationSchema,
  versionSchema,
  type WhyView,
  whySchema,
} from '@eph/contract';
import { readApiToken, type TokenReading } from './api-token.ts';
import { CommandFailure } from './command-failure.ts';
import { readEventStream } from './event-stream.ts';
import { exitCodes } from './exit-codes.ts';
import { parseJson } from './parse-json.ts';
import { AnswerTimeout, type Body, type Method, readBody, send } from './transport.ts';

export interface LogQuery {
  readonly component?: string | undefined;
  readonly tail?: number | undefined;
  readonly since?: string | undefined;
  readonly follow: boolean;
}

export interface ValidationQuery {
  /** The name of the file in faults. */
  readonly file: string;
  readonly project?: string | undefined;
}

type Issue = { readonly path: readonly PropertyKey[]; readonly message: string };

interface Schema<T> {
  safeParse(value: unknown): {
    readonly data?: T | undefined;
    readonly error?: { readonly issues: readonly Issue[] } | undefined;
  };
}

/** For requests that ephd answers only after it has read or written Git. */
const slowTimeoutMs = 120_000;

/** The HTTP API of ephd. Every failure is a `CommandFailure`. */
export class Client {
  readonly #base: URL;
  readonly #name: string;
  readonly #variables: Variables;
  readonly #answerTimeoutMs: number;

  /**
   * @param server address of ephd, checked by `parseServer`
   * @param variables say where the token of the API is
   */
  constructor(server: URL, variables: Variables, answerTimeoutMs = 10_000) {
    this.#base = new URL(server);
    // ephd listens on 127.0.0.1 alone. Whoever listens on ::1 must not get the token.
    if (server.hostname === 'localhost') this.#base.hostname = '127.0.0.1';
    this.#name = redact(server.href.replace(/\/$/, ''));
    this.#variables = variables;
    this.#answerTimeoutMs = answerTimeoutMs;
  }

  async listEnvironments(signal?: AbortSignal): Promise<readonly EnvironmentView[]> {
    return (await this.#read(['environments'], environmentListSchema, { signal })).environments;
  }

  /** @param id its id, name or alias */
  readEnvironment(id: string, signal?: AbortSignal): Promise<EnvironmentDetailView> {
    return this.#read(['environments', id], environmentDetailSchema, { signal });
  }

  readWhy(id: string): Promise<WhyView> {
    return this.#read(['environments', id, 'why'], whySchema);
  }

  readConfig(id: string): Promise<ConfigView> {
    return this.#read(['environments', id, 'config'], configViewSchema);
  }

  validateConfig(bytes: Uint8Array, query: ValidationQuery): Promise<ValidationView> {
    return this.#read(['config', 'validate'], validationSchema, {
      method: 'POST',
      query: { ...query },
      body: { type: 'text/yaml', bytes },
    });
  }

  /** Oldest first; of all environments without an id. */
  readEvents(id: string | undefined, limit: number): Promise<EventListView> {
    const path = id === undefined ? ['events'] : ['environments', id, 'events'];
    return this.#read(path, eventListSchema, { query: { limit: String(limit) } });
  }

  readPlan(): Promise<PlanView> {
    return this.#read(['plan'], planSchema, { timeoutMs: slowTimeoutMs });
  }

  async readVersion(): Promise<string> {
    return (await this.#read(['version'], versionSchema)).version;
  }

  bringUp(request: EnvironmentRequest): Promise<RequestAnswer> {
    const body = { type: 'application/json', bytes: new TextEncoder().encode(JSON.stringify(request)) };
    return this.#read(['environments'], requestAnswerSchema, { method: 'POST', body, timeoutMs: slowTimeoutMs });
  }

  takeDown(id: string, force: boolean): Promise<RequestAnswer> {
    const query = { force: force ? 'true' : undefined };
    return this.#read(['environments', id], requestAnswerSchema, { method: 'DELETE', query, timeoutMs: slowTimeoutMs });
  }

  async release(id: string): Promise<void> {
    const response = await this.#send(['environments', id, 'release'], { method: 'POST' });
    response.destroy();
  }

  /** Ends quietly when `signal` aborts. */
  async *readLogs(id: string, { component, tail, since, follow }: LogQuery, signal: AbortSignal): AsyncGenerator<LogLine> {
    const query = { component, tail: tail?.toString(), since, follow: follow ? 'true' : undefined };
    try {
      const response = await this.#send(['environments', id, 'logs'], { query, accept: 'text/event-stream', signal });
      if (response.headers['content-type']?.startsWith('text/event-stream') !== true) throw this.#notEphd(response);
      for await (const data of readEventStream(response)) yield this.#parse(data, logLineSchema);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof CommandFailure) throw error;
      throw this.#unreachable(`The connection to ephd at ${this.#name} was lost: ${describe(error)}.`, error);
    }
  }

  async #read<T>(path: readonly string[], schema: Schema<T>, options: SendOptions = {}): Promise<T> {
    const response = await this.#send(path, options);
    if (response.headers['content-type']?.startsWith('application/json') !== true) throw this.#notEphd(response);
    return this.#parse(await this.#body(response), schema);
  }

  /** Returns successful answers; all others throw. */
  async #send(path: readonly string[], options: SendOptions = {}): Promise<IncomingMessage> {
    const { method = 'GET', query = {}, timeoutMs = this.#answerTimeoutMs, accept = 'application/json', body, signal } = options;
    const url = new URL(`api/v1/${path.map(encodeURIComponent).join('/')}`, this.#base);
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value);
    const reading = await readApiToken(this.#base, this.#name, this.#variables);
    let response: IncomingMessage;
    try {
      response = await send({ url, method, accept, token: reading.token, body, timeoutMs, signal });
    } catch (error) {
      throw this.#absent(error);
    }
    if (response.statusCode !== undefined && response.statusCode >= 200 && response.statusCode < 300) return response;
    throw await this.#refusal(response, reading);
  }

  async #body(response: IncomingMessage): Promise<string> {
    try {
      return await readBody(response, this.#answerTimeoutMs);
    } catch (error) {
      throw this.#unreachable(`ephd at ${this.#name} did not complete its answer: ${describe(error)}.`, error);
    }
  }

  #parse<T>(text: string, schema: Schema<T>): T {
    const { data, error } = schema.safeParse(parseJson(text));
    if (data !== undefined) return data;
    const issue = error?.issues[0];
    const where = issue === undefined || issue.path.length === 0 ? '' : ` at ${issue.path.join('.')}`;
    throw new CommandFailure(
      'api.misunderstood',
      `eph does not understand the answer of ephd at ${this.#name} (${issue?.message ?? 'unknown'}${where}). ` +
        'Compare their versions with `eph version --ephd`.',
    );
  }

  async #refusal(response: IncomingMessage, { refusal }: TokenReading): Promise<CommandFailure> {
    const parsed = errorSchema.safeParse(parseJson(await this.#body(response)));
    if (!parsed.success) return this.#notEphd(response);
    const { code, message } = parsed.data.error;
    if (code === 'api.unauthorized') return new CommandFailure(code, refusal);
    return new CommandFailure(code, message, code === 'api.not_found' ? { exitCode: exitCodes.notFound } : {});
  }

  #notEphd(response: IncomingMessage): CommandFailure {
    response.destroy();
    return this.#unreachable(
      `The server at ${this.#name} is not ephd (status ${response.statusCode ?? 'unknown'}). ` +
        'Set the address of ephd with --server or EPH_SERVER.',
    );
  }

  #absent(error: unknown): CommandFailure {
    return this.#unreachable(
      `ephd does not answer at ${this.#name}: ${describe(error)}.\n` +
        'Start it with `npm run ephd -- --project <path or URL>`, or set another address with --server or EPH_SERVER.',
      error,
    );
  }

  #unreachable(message: string, cause?: unknown): CommandFailure {
    return new CommandFailure('api.unreachable', message, { exitCode: exitCodes.unreachable, cause });
  }
}

type Variables = Readonly<Record<string, string | undefined>>;

interface SendOptions {
  readonly method?: Method;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs?: number;
  readonly accept?: string;
  readonly body?: Body;
  readonly signal?: AbortSignal | undefined;
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was closed',
  ENOTFOUND: 'the host does not exist',
  EAI_AGAIN: 'the host name could not be resolved',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'there was no answer',
};

const describe = (error: unknown): string => {
  if (error instanceof AnswerTimeout) return error.message;
  const { code, message } = error as NodeJS.ErrnoException;
  return (code === undefined ? undefined : reasons[code]) ?? message ?? String(error);
};
