import { request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type FailureRule, Failures } from '../parts/emulation/failures.ts';
import { type Answer, failing, LoopbackServer, type Outcome, type Received } from '../parts/emulation/loopback-server.ts';

/** A proxy in front of a real server that injects the same faults as the emulators. */
export class FaultProxy implements AsyncDisposable {
  readonly failures: Failures;
  requests = 0;
  faults = 0;
  readonly #port: number;
  #server: LoopbackServer | undefined;

  private constructor(port: number, seed: number) {
    this.#port = port;
    this.failures = new Failures(seed);
  }

  static async start(port: number, seed: number): Promise<FaultProxy> {
    const proxy = new FaultProxy(port, seed);
    proxy.#server = await LoopbackServer.start((received) => proxy.#handle(received));
    return proxy;
  }

  get url(): string {
    return this.#server?.url ?? '';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
  }

  async #handle(received: Received): Promise<Outcome> {
    const rule = this.failures.pick({ method: received.method, path: received.target, operation: undefined });
    this.requests += 1;
    if (rule !== undefined) this.faults += 1;
    const answer = isForwarded(rule) ? await this.#ask(received) : noAnswer;
    return failing(rule?.failure.kind === 'empty-page' ? emptied(answer) : answer, rule?.failure);
  }

  #ask({ method, target, headers, body }: Received): Promise<Answer> {
    return new Promise((resolve, reject) => {
      // The body must be uncompressed and of the length that its header says.
      const asked = { ...headers, connection: 'close', 'accept-encoding': 'identity' };
      const behind = request({ host: '127.0.0.1', port: this.#port, method, path: target, headers: asked }, (answer) => {
        const names = Object.entries(answer.headers).filter(([name]) => !hopByHop.has(name));
        const kept = Object.fromEntries(names.map(([name, value]) => [name, String(value)]));
        buffer(answer).then((content) => resolve({ status: answer.statusCode ?? 502, headers: kept, body: content }), reject);
      });
      behind.on('error', reject);
      behind.end(body);
    });
  }
}

const noAnswer: Answer = { status: 502, headers: {}, body: Buffer.alloc(0) };

const hopByHop = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length']);

/** Whether the request reaches the server at all. */
const isForwarded = (rule: FailureRule | undefined): boolean =>
  rule === undefined || rule.takesEffect === true || ['truncated', 'empty-page', 'slow'].includes(rule.failure.kind);

/** Replaces a list by an empty one. */
const emptied = (answer: Answer): Answer => {
  const isList = answer.status === 200 && answer.body[0] === '['.charCodeAt(0);
  return isList ? { ...answer, headers: { ...answer.headers, 'x-total-count': '0' }, body: Buffer.from('[]') } : answer;
};
