import { Readable } from 'node:stream';
import {
  type Api,
  ApiMisunderstanding,
  ApiRefusal,
  connectExec,
  createClient,
  type Exchange,
  type ExecConnection,
  ExecFailure,
  type ExecInput,
  type Reply,
  redact,
} from '@eph/contract';
import { readApiToken, type TokenReading } from './api-token.ts';
import { CommandFailure } from './command-failure.ts';
import { exitCodes } from './exit-codes.ts';
import { AnswerTimeout, readBody, send } from './transport.ts';

/** The API of ephd. Every failure is a `CommandFailure`. */
export interface Client extends Api {
  /** Runs a command, which ends with `use` at the latest. */
  readonly exec: <T>(input: ExecInput, use: (connection: ExecConnection) => Promise<T>) => Promise<T>;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** For requests that ephd answers only after it has read or written Git. */
const slowTimeoutMs = 120_000;

/**
 * @param server address of ephd, checked by `parseServer`
 * @param variables say where the token of the API is
 */
export const createApiClient = (server: URL, variables: Variables, answerTimeoutMs = 10_000): Client => {
  const ephd = new Ephd(server, variables, answerTimeoutMs);
  const api = createClient(
    (exchange) => ephd.send(exchange),
    (error) => ephd.explain(error),
  );
  return { ...api, exec: (input, use) => ephd.exec(input, use) };
};

class Ephd {
  readonly #base: URL;
  readonly #name: string;
  readonly #variables: Variables;
  readonly #answerTimeoutMs: number;
  #token: TokenReading | undefined;

  constructor(server: URL, variables: Variables, answerTimeoutMs: number) {
    this.#base = new URL(server);
    // ephd listens on 127.0.0.1 alone. Whoever listens on ::1 must not get the token.
    if (server.hostname === 'localhost') this.#base.hostname = '127.0.0.1';
    this.#name = redact(server.href.replace(/\/$/, ''));
    this.#variables = variables;
    this.#answerTimeoutMs = answerTimeoutMs;
  }

  async send({ method, path, accept, body, slow, signal }: Exchange): Promise<Reply> {
    const timeoutMs = slow ? slowTimeoutMs : this.#answerTimeoutMs;
    this.#token = await readApiToken(this.#base, this.#name, this.#variables);
    const url = new URL(path.slice(1), this.#base);
    try {
      const response = await send({ url, method, accept, token: this.#token.token, body, timeoutMs, signal });
      return {
        status: response.statusCode ?? 0,
        contentType: response.headers['content-type'] ?? '',
        text: () => this.#text(response),
        chunks: () => response,
      };
    } catch (error) {
      throw this.#absent(error);
    }
  }

  async exec<T>(input: ExecInput, use: (connection: ExecConnection) => Promise<T>): Promise<T> {
    try {
      const { token } = await readApiToken(this.#base, this.#name, this.#variables);
      const server = { address: this.#base, token, transport: (exchange: Exchange) => this.send(exchange) };
      using connection = await connectExec(server, input);
      return await use(connection);
    } catch (error) {
      throw this.explain(error);
    }
  }

  async #text(response: Parameters<typeof readBody>[0]): Promise<string> {
    try {
      return await readBody(response, this.#answerTimeoutMs);
    } catch (error) {
      throw this.#unreachable(`ephd at ${this.#name} did not complete its answer: ${describe(error)}.`, error);
    }
  }

  explain(error: unknown): CommandFailure {
    if (error instanceof CommandFailure) return error;
    if (error instanceof ExecFailure) return new CommandFailure(error.code, error.message);
    if (error instanceof ApiRefusal) return this.#refusal(error);
    if (error instanceof ApiMisunderstanding) return this.#misunderstanding(error);
    return this.#unreachable(`The connection to ephd at ${this.#name} was lost: ${describe(error)}.`, error);
  }

  #refusal({ problem: { code, detail } }: ApiRefusal): CommandFailure {
    if (code === 'api.unauthorized') return new CommandFailure(code, this.#token?.refusal ?? detail);
    return new CommandFailure(code, detail, code === 'api.not_found' ? { exitCode: exitCodes.notFound } : {});
  }

  #misunderstanding({ message, reply }: ApiMisunderstanding): CommandFailure {
    const rest = reply.chunks();
    if (rest instanceof Readable) rest.destroy();
    if (message === '')
      return this.#unreachable(
        `The server at ${this.#name} is not ephd (status ${reply.status || 'unknown'}). ` +
          'Set the address of ephd with --server or EPH_SERVER.',
      );
    return new CommandFailure(
      'api.misunderstood',
      `eph does not understand the answer of ephd at ${this.#name} (${message}). ` +
        'Compare their versions with `eph version --ephd`.',
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
