import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import {
  type Api,
  ApiMisunderstanding,
  ApiRefusal,
  connectExec,
  createClient,
  type Exchange,
  type ExecConnection,
  type ExecInput,
  type Reply,
  routes,
  SessionFailure,
  StreamEnd,
} from '@eph/contract';
import { CommandFailure } from './command-failure.ts';
import type { Connection, TokenReading } from './connection/connection.ts';
import { type ExitCode, exitCodes } from './exit-codes.ts';
import type { PortInput } from './port-connection.ts';
import { AnswerTimeout, readBody, send } from './transport.ts';

/** The API of ephd. Every failure is a `CommandFailure`. */
export interface Client extends Api {
  /** Runs a command, which ends with `use` at the latest. */
  readonly exec: <T>(input: ExecInput, use: (connection: ExecConnection) => Promise<T>) => Promise<T>;
  /** Connects somebody to a port of a component, until one of both, or the signal, ends it. */
  readonly carryPort: (input: PortInput, visitor: Socket, signal: AbortSignal) => Promise<void>;
  /** The time of an answer that everybody gets; undefined where it has none. */
  readonly readDate: () => Promise<string | undefined>;
}

const answerTimeoutMs = 10_000;

/** For requests that ephd answers only after it has read or written Git. */
const slowTimeoutMs = 120_000;

export const createApiClient = (connection: Connection): Client => {
  const ephd = new Ephd(connection);
  const api = createClient(
    (exchange) => ephd.send(exchange),
    (error) => ephd.explain(error),
  );
  return {
    ...api,
    exec: (input, use) => ephd.exec(input, use),
    carryPort: (...args) => ephd.carryPort(...args),
    readDate: () => ephd.readDate(),
  };
};

class Ephd {
  readonly #connection: Connection;
  readonly #name: string;
  #token: TokenReading | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#name = connection.name;
  }

  async send({ method, path, accept, body, slow, signal }: Exchange): Promise<Reply> {
    const timeoutMs = slow ? slowTimeoutMs : answerTimeoutMs;
    this.#token = await this.#connection.readToken();
    const url = new URL(path.slice(1), this.#connection.server);
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

  async readDate(): Promise<string | undefined> {
    const url = new URL(routes.readHealth.path.slice(1), this.#connection.server);
    try {
      const response = await send({ url, method: 'GET', accept: '*/*', token: undefined, timeoutMs: answerTimeoutMs });
      response.destroy();
      return response.headers.date;
    } catch (error) {
      throw this.#absent(error);
    }
  }

  async exec<T>(input: ExecInput, use: (connection: ExecConnection) => Promise<T>): Promise<T> {
    try {
      this.#token = await this.#connection.readToken();
      const { server: address } = this.#connection;
      const server = { address, token: this.#token.token, transport: (exchange: Exchange) => this.send(exchange) };
      using connection = await connectExec(server, input);
      return await use(connection);
    } catch (error) {
      throw this.explain(error);
    }
  }

  async carryPort(input: PortInput, visitor: Socket, signal: AbortSignal): Promise<void> {
    try {
      this.#token = await this.#connection.readToken();
      const { carryPort } = await import('./port-connection.ts');
      await carryPort({ address: this.#connection.server, token: this.#token.token }, input, visitor, signal);
    } catch (error) {
      throw this.explain(error);
    }
  }

  async #text(response: Parameters<typeof readBody>[0]): Promise<string> {
    try {
      return await readBody(response, answerTimeoutMs);
    } catch (error) {
      throw this.#unreachable(`ephd at ${this.#name} did not complete its answer: ${describe(error)}.`, error);
    }
  }

  explain(error: unknown): CommandFailure {
    if (error instanceof CommandFailure) return error;
    // It was accepted before, so its own words say more than where the token comes from.
    if (error instanceof SessionFailure) return toCommandFailure(error.message, error);
    if (error instanceof ApiRefusal) return this.#refusal(error);
    if (error instanceof StreamEnd) return toCommandFailure(`ephd ended the stream: ${error.message}.`, error);
    if (error instanceof ApiMisunderstanding) return this.#misunderstanding(error);
    return this.#unreachable(`The connection to ephd at ${this.#name} was lost: ${describe(error)}.`, error);
  }

  #refusal({ problem: { code, detail, hint } }: ApiRefusal): CommandFailure {
    const explained = code === 'api.unauthorized' ? this.#token?.explain(detail) : undefined;
    if (explained !== undefined) return new CommandFailure(code, explained, exitOf(code));
    return toCommandFailure(detail, { code, hint });
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
    if (cause instanceof AnswerTimeout)
      return new CommandFailure('api.timeout', message, { exitCode: exitCodes.timedOut, cause });
    return new CommandFailure('api.unreachable', message, { exitCode: exitCodes.unreachable, cause });
  }
}

/** With what to do about it. */
const toCommandFailure = (message: string, { code, hint }: { readonly code: string; readonly hint?: string | undefined }) =>
  new CommandFailure(code, hint === undefined ? message : `${message.replace(/\.$/, '')}. ${hint}`, exitOf(code));

const exitOf = (code: string): { readonly exitCode?: ExitCode } => {
  if (code === 'api.unauthorized' || code === 'api.forbidden') return { exitCode: exitCodes.signIn };
  if (['api.starting', 'api.standby', 'api.stopping'].includes(code)) return { exitCode: exitCodes.unreachable };
  return code === 'api.not_found' ? { exitCode: exitCodes.notFound } : {};
};

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
