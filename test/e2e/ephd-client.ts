import { existsSync, readFileSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { apiTokenFile, type EnvironmentView, environmentListSchema, environmentSchema, serverSchema } from '@eph/contract';
import { eventually } from './eventually.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface RequestOptions {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface EphdAddresses {
  readonly apiPort: number;
  readonly gatewayPort: number;
  /** XDG_STATE_HOME of ephd, where its token is. */
  readonly stateFolder: string;
}

/** What a request to the API needs, as long as ephd runs; each start writes another token. */
export const readAuthorization = (stateFolder: string, apiPort: number): { readonly authorization?: string } => {
  const file = apiTokenFile({ XDG_STATE_HOME: stateFolder }, apiPort) ?? '';
  return existsSync(file) ? { authorization: `Bearer ${readFileSync(file, 'utf8').trim()}` } : {};
};

/** The API and the gateway of an ephd, as its clients see them. */
export class EphdClient implements EphdAddresses {
  readonly apiPort: number;
  readonly gatewayPort: number;
  readonly stateFolder: string;

  constructor({ apiPort, gatewayPort, stateFolder }: EphdAddresses) {
    this.apiPort = apiPort;
    this.gatewayPort = gatewayPort;
    this.stateFolder = stateFolder;
  }

  api(path: string, options: Omit<RequestOptions, 'path'> = {}): Promise<Answer> {
    return this.anonymousApi(path, { ...options, headers: { ...this.authorization(), ...options.headers } });
  }

  /** Without the token, as anybody else on this machine. */
  anonymousApi(path: string, options: Omit<RequestOptions, 'path'> = {}): Promise<Answer> {
    return send(this.apiPort, { ...options, path });
  }

  authorization(): { readonly authorization?: string } {
    return readAuthorization(this.stateFolder, this.apiPort);
  }

  /** Reads and validates an answer of the API. */
  async read<T>(path: string, schema: { parse(value: unknown): T }): Promise<T> {
    const { status, body } = await this.api(path);
    if (status !== 200) throw new Error(`${path} answered ${status}: ${body}`);
    return schema.parse(JSON.parse(body));
  }

  /** How services of the provider `process` run: `sandboxed` or `trusted`. */
  async isolation(): Promise<string> {
    const { isolation } = await this.read('/api/v1/server', serverSchema);
    return isolation['process']?.state ?? 'absent';
  }

  async environments(): Promise<readonly EnvironmentView[]> {
    return (await this.read('/api/v1/environments?limit=1000', environmentListSchema)).environments;
  }

  environment(nameOrId: string): Promise<EnvironmentView> {
    return this.read(`/api/v1/environments/${nameOrId}`, environmentSchema);
  }

  /** Sends a request to an environment through the gateway, by its name or alias. */
  visit(name: string, options: RequestOptions = {}): Promise<Answer> {
    return send(this.gatewayPort, { ...options, headers: { host: `${name}.localhost:${this.gatewayPort}`, ...options.headers } });
  }

  /** The environment of a branch or tag, as soon as `check` holds. */
  until(ref: string, what: string, check: (environment: EnvironmentView) => boolean, seconds?: number): Promise<EnvironmentView> {
    let last: EnvironmentView | undefined;
    const look = async (): Promise<EnvironmentView | undefined> => {
      last = (await this.environments()).find((one) => one.source.name === ref);
      return last !== undefined && check(last) ? last : undefined;
    };
    return eventually(`${ref}: ${what}`, look, seconds).catch((error: unknown) => {
      throw new Error(`${String(error)}\nlast seen: ${JSON.stringify(last, undefined, 2)}`, { cause: error });
    });
  }

  /** Ready at this commit. */
  untilReady(ref: string, commit: string, seconds?: number): Promise<EnvironmentView> {
    return this.until(ref, `ready at ${commit}`, (one) => one.phase === 'Ready' && one.commit === commit, seconds);
  }

  /** Waits for readiness too: before its first complete reading, ephd does not know which environments exist. */
  untilGone(ref: string, seconds?: number): Promise<boolean> {
    const look = async (): Promise<boolean> =>
      (await this.api('/readyz')).status === 200 && !(await this.environments()).some((one) => one.source.name === ref);
    return eventually(`${ref} is gone`, look, seconds);
  }
}

const timeoutMs = 30_000;

const send = (port: number, { method = 'GET', path = '/', headers = {}, body = '' }: RequestOptions): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const sending = request({ host: '127.0.0.1', port, method, path, headers: { ...headers } }, (response) => {
      let answer = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        answer += text;
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: answer }));
      response.once('error', reject);
    });
    sending.setTimeout(timeoutMs, () => sending.destroy(new Error(`no answer within ${timeoutMs} ms: ${method} ${path}`)));
    sending.once('error', reject);
    sending.end(body);
  });
