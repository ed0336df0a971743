import { createHmac } from 'node:crypto';
import { type ProjectId, projectId } from '@eph/contract';
import { serve } from '@hono/node-server';
import type { ForgeTypeName } from '../forge-types.ts';
import { createWebhookRoutes } from './webhook-routes.ts';

export const shop = projectId('shop');

/** Forges that are called as their types are, and a second one at GitHub. */
export const secrets = {
  gitea: 'gitea secret',
  github: 'github secret',
  gitlab: 'gitlab sécret',
  enterprise: 'enterprise secret',
  registry: 'registry secret',
  packages: 'packages secret',
};

const typeOf = (name: string): ForgeTypeName => (name === 'gitea' || name === 'gitlab' ? name : 'github');

/** Both forges at GitHub have a repository with this name. */
const projectsAt: Readonly<Record<string, ProjectId>> = {
  gitea: shop,
  github: shop,
  gitlab: shop,
  enterprise: projectId('plans'),
};

export interface Sent {
  readonly forge?: string;
  readonly event?: string;
  readonly secret?: string;
  readonly body?: unknown;
  /** In addition to what a forge sends; undefined removes one. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

export const headersOf = (forge: string, event: string, secret: string, body: string): Record<string, string> => {
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  if (forge === 'gitea') return { 'x-gitea-event': event, 'x-gitea-signature': signature };
  if (forge === 'github') return { 'x-github-event': event, 'x-hub-signature-256': `sha256=${signature}` };
  return { 'x-gitlab-event': event, 'x-gitlab-token': Buffer.from(secret).toString('latin1') };
};

/** Names the same repository for every forge. */
export const payload = { repository: { full_name: 'acme/shop' }, project: { path_with_namespace: 'acme/shop' } };

/** The routes on a real socket, and a client that sends what a forge would. */
export class Receiver implements AsyncDisposable {
  now = 0;
  readonly woken: ProjectId[] = [];
  lists = 0;
  readonly pushed: string[] = [];
  readonly logged: { readonly fields: object; readonly message: string }[] = [];
  url = '';
  #server: ReturnType<typeof serve> | undefined;

  async start(known: Readonly<Record<string, string>> = secrets): Promise<this> {
    const note = (fields: object, message: string): void => void this.logged.push({ fields, message });
    const { fetch } = createWebhookRoutes({
      forgeOf: (name) => (Object.hasOwn(known, name) ? { type: typeOf(name), secret: known[name] } : undefined),
      projectOf: (forge, name) => (name.toLowerCase() === 'acme/shop' ? projectsAt[forge] : undefined),
      wake: (project) => this.woken.push(project),
      registries: [
        { host: 'registry.example', secret: secrets.registry },
        { host: 'ghcr.io', secret: secrets.packages },
      ],
      wakeWaiting: (repository) => void this.pushed.push(repository),
      wakeOrganisations: () => void (this.lists += 1),
      now: () => this.now,
      log: { debug: note, info: note, warn: note },
    });
    const port = await new Promise<number>((resolve) => {
      this.#server = serve({ fetch, hostname: '127.0.0.1', port: 0 }, (address) => resolve(address.port));
    });
    this.url = `http://127.0.0.1:${port}`;
    return this;
  }

  async send({ forge = 'github', event = 'push', secret, body = payload, headers = {} }: Sent): Promise<Response> {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const known = secret ?? new Map(Object.entries(secrets)).get(forge) ?? '';
    const all = { 'content-type': 'application/json', ...headersOf(typeOf(forge), event, known, text), ...headers };
    const given = Object.entries(all).filter((one): one is [string, string] => one[1] !== undefined);
    return await fetch(`${this.url}/webhooks/${forge}`, { method: 'POST', headers: given, body: text });
  }

  async statusOf(sent: Sent): Promise<number> {
    const response = await this.send(sent);
    await response.arrayBuffer();
    return response.status;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const server = this.#server;
    if (server !== undefined && 'closeAllConnections' in server) server.closeAllConnections();
    await new Promise((resolve) => server?.close(resolve));
  }
}

export const eventOf: Record<ForgeTypeName, string> = { gitea: 'push', github: 'push', gitlab: 'Push Hook' };
export const forgeNames = Object.keys(eventOf) as readonly ForgeTypeName[];
