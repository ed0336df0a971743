import { readRefusal, type Transport } from './client.ts';
import { decodeFrame, type ExecFrame, encodeFrame, execProtocol, tokenProtocol } from './exec-frames.ts';
import { ExecWindow } from './exec-window.ts';
import { isLoopback } from './loopback.ts';
import type { End } from './problem.ts';
import { fillPath } from './route.ts';
import { routes } from './routes.ts';

export interface ExecServer {
  /** Ends with a slash. */
  readonly address: URL;
  readonly token: string | undefined;
  readonly transport: Transport;
}

export interface ExecInput {
  /** Of an environment. */
  readonly id: string;
  readonly component?: string | undefined;
  readonly command: readonly string[];
  readonly terminal?: { readonly type: string; readonly columns: number; readonly rows: number } | undefined;
}

export type ExecOutput =
  | { readonly type: 'output' | 'errors'; readonly bytes: Uint8Array }
  | { readonly type: 'exit'; readonly code: number };

/** A command or a connection could not be started, or it was ended: `code` says why. */
export class SessionFailure extends Error {
  readonly code: string;
  readonly hint: string | undefined;

  constructor({ code, message, hint }: End) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

const openTimeoutMs = 10_000;

/** Servers take no longer heads of requests, and the command is in the head. */
const longestPath = 12_000;

/**
 * Starts a command, with the WebSocket that browsers and Node have. It follows no redirect. Why one could not be opened, it does not
 * say; a request without an upgrade gets the reason.
 */
export const connectExec = async ({ address, token, transport }: ExecServer, input: ExecInput): Promise<ExecConnection> => {
  const path = printPath(input);
  if (path.length > longestPath)
    throw new SessionFailure({
      code: 'api.too_large',
      message: 'The command is too long. Send it to the input of `sh` instead.',
    });
  const url = new URL(path.slice(1), address);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  if (url.protocol === 'ws:' && !isLoopback(url.hostname))
    throw new SessionFailure({
      code: 'api.forbidden',
      message: `Without TLS, a token is sent to loopback addresses only, and not to ${url.host}.`,
    });
  const socket = new WebSocket(url, [execProtocol, ...(token === undefined ? [] : [`${tokenProtocol}${token}`])]);
  const connection = new ExecConnection(socket);
  if (await hasOpened(socket)) return connection;
  throw await readRefusal(await transport({ method: 'GET', path, accept: 'application/json', slow: false }));
};

/** A command that runs. */
export class ExecConnection implements Disposable {
  readonly #socket: WebSocket;
  readonly #window = new ExecWindow();
  readonly #received: ExecOutput[] = [];
  #changed = Promise.withResolvers<void>();
  #end: Error | undefined;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('message', ({ data }) => this.#receive(data));
    socket.addEventListener('close', () => {
      this.#end ??= new Error('it was closed');
      this.#changed.resolve();
    });
  }

  /** What the command prints, and its exit code as the last one. Each is taken when the next one is asked for. */
  async *output(): AsyncGenerator<ExecOutput> {
    for (;;) {
      const frame = await this.#next();
      yield frame;
      if (frame.type === 'exit') return;
      this.#send({ type: 'taken', length: frame.bytes.length });
    }
  }

  /** Waits while the command reads no more. */
  async write(bytes: Uint8Array): Promise<void> {
    for await (const piece of this.#window.split(bytes)) this.#send({ type: 'input', bytes: piece });
  }

  endInput(): void {
    this.#send({ type: 'input', bytes: new Uint8Array() });
  }

  resize(columns: number, rows: number): void {
    this.#send({ type: 'resize', columns, rows });
  }

  /** Ends the command, if it still runs. */
  [Symbol.dispose](): void {
    this.#socket.close();
  }

  #receive(data: unknown): void {
    const frame = data instanceof ArrayBuffer ? decodeFrame(new Uint8Array(data)) : undefined;
    switch (frame?.type) {
      case 'taken':
        return this.#window.grow(frame.length);
      case 'output':
      case 'errors':
        this.#received.push({ type: frame.type, bytes: frame.bytes });
        break;
      case 'exit':
        this.#received.push(frame);
        break;
      case 'failure':
        this.#end = new SessionFailure(frame);
        break;
      default:
        this.#end = new Error('it sent what is not a frame of an exec');
    }
    this.#changed.resolve();
  }

  async #next(): Promise<ExecOutput> {
    for (;;) {
      const frame = this.#received.shift();
      if (frame !== undefined) return frame;
      if (this.#end !== undefined) throw this.#end;
      await this.#changed.promise;
      this.#changed = Promise.withResolvers();
    }
  }

  /** A closed socket ignores it. */
  #send(frame: ExecFrame): void {
    this.#socket.send(encodeFrame(frame));
  }
}

const printPath = ({ id, component, command, terminal }: ExecInput): string => {
  const query = new URLSearchParams();
  if (component !== undefined) query.append('component', component);
  for (const word of command) query.append('command', word);
  if (terminal !== undefined) {
    query.append('terminal', terminal.type);
    query.append('columns', String(terminal.columns));
    query.append('rows', String(terminal.rows));
  }
  return `${fillPath(routes.exec.path, { id })}?${query.toString()}`;
};

const hasOpened = async (socket: WebSocket): Promise<boolean> => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), openTimeoutMs);
  socket.addEventListener('open', () => resolve(true), { once: true });
  socket.addEventListener('close', () => resolve(false), { once: true });
  socket.addEventListener('error', () => resolve(false), { once: true });
  const isOpen = await promise;
  clearTimeout(timer);
  if (!isOpen) socket.close();
  return isOpen;
};
