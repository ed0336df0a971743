import { Agent, fetch, type Response } from 'undici';
import type { Certificate } from './certificate-authority.ts';

export type Login = ({ readonly type: 'certificate' } & Certificate) | { readonly type: 'token'; readonly token: string };

export interface KubernetesObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

export interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: T;
}

/** What a patch is, by the name that the API server gives it. */
type PatchType = 'apply-patch+yaml' | 'merge-patch+json' | 'strategic-merge-patch+json' | 'json-patch+json';

export interface RequestOptions {
  readonly body?: unknown;
  readonly patch?: PatchType;
  readonly signal?: AbortSignal;
}

/** An answer of the API server that is not a success. */
export class ClusterRefusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The API of a cluster with the credentials of one user. */
export class ClusterApi {
  readonly url: string;
  readonly #agent: Agent;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, authority: string, login: Login) {
    this.url = url;
    const client = login.type === 'certificate' ? { cert: login.certificate, key: login.key } : {};
    // A watch may be silent for as long as it likes, and takes a connection.
    const settings = { allowH2: false, connections: 32, bodyTimeout: 0 };
    this.#agent = new Agent({ ...settings, connect: { ca: authority, ...client } });
    this.#headers = login.type === 'token' ? { authorization: `Bearer ${login.token}` } : {};
  }

  /** The answer as it is, errors included. */
  request(method: string, path: string, { body, patch, signal }: RequestOptions = {}): Promise<Response> {
    const headers = { ...this.#headers, 'content-type': `application/${patch ?? 'json'}` };
    const text = body === undefined ? null : JSON.stringify(body);
    return fetch(`${this.url}${path}`, { method, headers, body: text, dispatcher: this.#agent, signal: signal ?? null });
  }

  /** The body of a successful answer; throws for any other. The caller is responsible for the type `T`. */
  async send<T = KubernetesObject>(method: string, path: string, options?: RequestOptions): Promise<T> {
    const response = await this.request(method, path, options);
    const text = await response.text();
    if (!response.ok)
      throw new ClusterRefusal(response.status, `${method} ${path} is answered with ${response.status}: ${text.trim()}`);
    return JSON.parse(text) as T;
  }

  /** What happens from a version on, until the server ends it. The path has a query. */
  async *watch<T = KubernetesObject>(path: string, from: string, signal: AbortSignal): AsyncGenerator<WatchEvent<T>> {
    const response = await this.request('GET', `${path}&watch=true&resourceVersion=${from}`, { signal });
    if (!response.ok || response.body === null)
      throw new ClusterRefusal(response.status, `${path} is not watched: ${response.status}`);
    let rest = '';
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      const lines = `${rest}${chunk}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield JSON.parse(line) as WatchEvent<T>;
    }
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}
