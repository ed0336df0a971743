import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface ScriptedRequest {
  readonly method: string;
  /** With its query. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface ScriptedAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: unknown;
}

/** Answers, or does with the connection what it likes. */
export type Script = (request: ScriptedRequest, response: ServerResponse) => ScriptedAnswer | undefined;

export const ociManifest = 'application/vnd.oci.image.manifest.v1+json';
export const ociIndex = 'application/vnd.oci.image.index.v1+json';
export const ociConfig = 'application/vnd.oci.image.config.v1+json';

export const digestOf = (bytes: string | Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** A server on loopback that answers as a test wants it to, and as a registry does without a script. */
export class ScriptedRegistry implements AsyncDisposable {
  script: Script = (request) => this.serve(request);
  readonly requests: ScriptedRequest[] = [];
  readonly #files = new Map<string, { readonly mediaType: string; readonly bytes: Buffer }>();
  readonly #server: Server;

  private constructor(tls: { readonly cert: string; readonly key: string } | undefined) {
    const listener: Parameters<typeof createServer>[1] = (request, response) => {
      // Reading a request fails only if the client went away.
      text(request).then(
        (body) =>
          this.#answer({ method: request.method ?? '', target: request.url ?? '', headers: request.headers, body }, response),
        () => response.destroy(),
      );
    };
    this.#server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  }

  static async start(tls?: { readonly cert: string; readonly key: string }): Promise<ScriptedRegistry> {
    const registry = new ScriptedRegistry(tls);
    registry.#server.listen(0, '127.0.0.1');
    await once(registry.#server, 'listening');
    return registry;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get host(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** The targets of requests with this method. */
  targets(method?: string): readonly string[] {
    return this.requests.filter((request) => method === undefined || request.method === method).map(({ target }) => target);
  }

  /** Makes `acme/shop` hold a manifest. Returns its digest. */
  putManifest(manifest: unknown, mediaType: string, ...tags: readonly string[]): string {
    const bytes = Buffer.from(typeof manifest === 'string' ? manifest : JSON.stringify(manifest));
    for (const reference of [digestOf(bytes), ...tags])
      this.#files.set(`/v2/acme/shop/manifests/${reference}`, { mediaType, bytes });
    return digestOf(bytes);
  }

  /** Returns its descriptor. */
  putBlob(content: unknown, mediaType = ociConfig) {
    const bytes = Buffer.from(JSON.stringify(content));
    this.#files.set(`/v2/acme/shop/blobs/${digestOf(bytes)}`, { mediaType: 'application/octet-stream', bytes });
    return { mediaType, digest: digestOf(bytes), size: bytes.length };
  }

  /** An image of this configuration. Returns its digest. */
  putImage(config: unknown, ...tags: readonly string[]): string {
    const manifest = { schemaVersion: 2, mediaType: ociManifest, config: this.putBlob(config), layers: [] };
    return this.putManifest(manifest, ociManifest, ...tags);
  }

  serve({ target }: ScriptedRequest): ScriptedAnswer {
    const file = this.#files.get(target);
    if (file === undefined) return { status: 404, body: { errors: [{ code: 'MANIFEST_UNKNOWN' }] } };
    const { mediaType, bytes } = file;
    return { headers: { 'content-type': mediaType, 'docker-content-digest': digestOf(bytes) }, body: bytes };
  }

  #answer(request: ScriptedRequest, response: ServerResponse): void {
    this.requests.push(request);
    const answer = this.script(request, response);
    if (answer === undefined) return;
    const { status = 200, headers = {}, body = '' } = answer;
    const bytes = typeof body === 'string' || Buffer.isBuffer(body) ? Buffer.from(body) : Buffer.from(JSON.stringify(body));
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes.length, ...headers });
    response.end(request.method === 'HEAD' ? undefined : bytes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}
