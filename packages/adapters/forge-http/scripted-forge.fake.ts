import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { silentLog } from '@eph/contract';
import { createGate, type Gate, type GateOptions } from './gate.ts';

export interface ScriptedRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface ScriptedAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** `hang`: no answer; `reset`: the connection breaks instead; `truncated`: it breaks in the middle. */
  readonly fault?: 'hang' | 'reset' | 'truncated';
}

export type Script = (request: ScriptedRequest) => ScriptedAnswer | Promise<ScriptedAnswer>;

/** What Git is told: a repository without branches and tags. */
const emptyList: ScriptedAnswer = { headers: { 'content-type': 'application/x-git-upload-pack-result' }, body: '0000' };

/** A server on loopback with scripted answers. It records the requests, without those of Git, which finds an empty repository. */
export class ScriptedForge implements AsyncDisposable {
  script: Script = () => ({ status: 404 });
  readonly requests: ScriptedRequest[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      // Reading a request fails only if the client went away.
      this.#answer(request, response).catch(() => response.destroy());
    });
  }

  static async start(): Promise<ScriptedForge> {
    const forge = new ScriptedForge();
    forge.#server.listen(0, '127.0.0.1');
    await once(forge.#server, 'listening');
    return forge;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const scripted = { method: request.method ?? '', target: request.url ?? '', headers, body: await buffer(request) };
    if (scripted.target.endsWith('/git-upload-pack')) return play(emptyList, response);
    this.requests.push(scripted);
    play(await this.script(scripted), response);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}

const play = ({ status = 200, headers = {}, body = null, fault }: ScriptedAnswer, response: ServerResponse): void => {
  if (fault === 'hang') return;
  if (fault === 'reset') {
    response.destroy();
    return;
  }
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const bodiless = status === 204 || status === 304;
  response.writeHead(status, {
    'content-type': 'application/json',
    ...(bodiless ? {} : { 'content-length': Buffer.byteLength(text) }),
    ...headers,
  });
  if (fault === 'truncated') response.write(text.slice(0, text.length / 2), () => response.destroy());
  else response.end(bodiless ? undefined : text);
};

/** A clock that only a test moves. */
export class ManualClock {
  ms = 1_800_000_000_000;
  readonly now = (): number => this.ms;
}

export const createTestGate = (clock: ManualClock, options: Partial<GateOptions> = {}): Gate =>
  createGate({ shown: 'the forge', now: clock.now, random: () => 0, log: silentLog, ...options });
