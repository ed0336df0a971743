import { type Log, type ProjectId, toFailure } from '@eph/contract';
import type { HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { type ForgeTypeName, forgeTypes } from '../forge-types.ts';
import { BodyReader, type IncomingBody } from './body-reader.ts';
import type { Dialect } from './dialect.ts';
import { Refusal } from './refusal.ts';
import { findSender, type NotifyingRegistry, readPushes, registrySignature } from './registry-pushes.ts';
import { SeenBodies } from './seen-bodies.ts';

export interface WebhookRoutesOptions {
  /** A forge by its name in ephd's file. A secret counts for one forge only: others may know theirs. */
  readonly forgeOf: (name: string) => WebhookForge | undefined;
  readonly projectOf: (forge: string, fullName: string) => ProjectId | undefined;
  /** Does nothing while another ephd leads; refusing instead would make forges disable the webhook. */
  readonly wake: (project: ProjectId) => void;
  /** Registries that may say that something was pushed. */
  readonly registries: readonly NotifyingRegistry[];
  /** Images of this repository may have changed. */
  readonly wakeWaiting: (repository: string) => void;
  /** Organisations may have other repositories. */
  readonly wakeOrganisations: () => void;
  readonly now: () => number;
  readonly log: Log;
}

export interface WebhookForge {
  readonly type: ForgeTypeName;
  /** Absent where it sends no webhooks. */
  readonly secret: string | undefined;
}

const limits = { bytes: 5 * 1024 * 1024, bytesAtOnce: 64 * 1024 * 1024, timeMs: 10_000 };

/**
 * `POST /webhooks/<name of a forge>` and `POST /webhooks/registry`: wake the loop, which reads the forge or the registry itself. Only
 * the name of the repository is taken from the body. It has its own error handling, because it has a port of its own: forges must reach
 * it, and need not reach the API.
 */
export const createWebhookRoutes = (options: WebhookRoutesOptions): Hono => {
  const { forgeOf, now, log } = options;
  const bodies = new BodyReader(limits);
  const seen = new SeenBodies(now);
  const logRefusal = createRefusalLog(now, log);

  const deliver = async (c: Context, forge: string): Promise<Delivered> => {
    const { type, secret = '' } = forgeOf(forge) ?? {};
    // Anybody can sign with an empty secret.
    if (type === undefined || secret === '') throw notFound(c.req.path);
    const dialect: Dialect = forgeTypes[type].dialect;
    if (!/^application\/json\s*(?:;|$)/i.test(c.req.header('content-type') ?? ''))
      throw new Refusal(415, 'set the content type of the webhook to application/json');
    const verify = dialect.createVerify(c.req.header(dialect.credentialHeader), secret);
    if (verify === undefined) throw unverified(dialect);
    const event = c.req.header(dialect.eventHeader) ?? '';
    return await bodies.withBody(readableBody(c), (body) => {
      if (!verify(body)) throw unverified(dialect);
      const names = namesIn(type, dialect, body);
      const isListed = dialect.listEvents.has(event);
      if (!isListed && !dialect.events.has(event)) return { woken: [], because: 'this event affects no environment' };
      const projects = [...new Set(names.flatMap((name) => options.projectOf(forge, name) ?? []))];
      if (projects.length === 0 && !isListed) return { woken: [], because: 'no project uses this repository' };
      if (!seen.add(forge, body)) return { woken: [], because: 'already delivered' };
      if (isListed) options.wakeOrganisations();
      for (const project of projects) options.wake(project);
      log.debug({ forge, event, projects }, 'webhook woke projects');
      return { woken: projects };
    });
  };

  const receivePushes = async (c: Context): Promise<DeliveredPushes> => {
    const { registries } = options;
    if (registries.length === 0) throw notFound(c.req.path);
    const findHosts = findSender(registries, {
      authorization: c.req.header('authorization'),
      signature: c.req.header(registrySignature),
    });
    const refusal = new Refusal(401, `neither Authorization nor ${registrySignature} matches the webhook_secret of a registry`);
    if (findHosts === undefined) throw refusal;
    return await bodies.withBody(readableBody(c), (body) => {
      const hosts = findHosts(body);
      if (hosts.length === 0) throw refusal;
      const payload = parseJson(body);
      const pushed = hosts.flatMap((host) => {
        const repositories = readPushes(payload, host);
        if (repositories === undefined) throw new Refusal(400, 'the body is not a notification of a registry');
        return repositories;
      });
      if (!seen.add('registry', body)) return { pushed: [], because: 'already delivered' };
      for (const repository of pushed) options.wakeWaiting(repository);
      return { pushed };
    });
  };

  const routes = new Hono();
  routes.post('/webhooks/registry', async (c) => c.json(await receivePushes(c), 202));
  routes.post('/webhooks/:forge', async (c) => c.json(await deliver(c, c.req.param('forge')), 202));
  routes.notFound((c) => answerError(c, notFound(c.req.path)));
  routes.onError((error, c) => {
    if (error instanceof Refusal) {
      logRefusal(c.req.path, error.status);
      return answerError(c, error);
    }
    const { code, message } = toFailure(error);
    log.warn({ path: c.req.path, code, err: error }, 'webhook failed');
    return c.json({ error: { code, message } }, 500);
  });
  return routes;
};

/** Directly from the socket where there is one: web streams cost as much as all other handling of a webhook. */
const readableBody = (c: Context): IncomingBody => {
  const { incoming } = (c.env ?? {}) as Partial<HttpBindings>;
  const chunks =
    incoming?.iterator({ destroyOnReturn: false }) ?? (c.req.raw.body ?? new Blob([]).stream()).values({ preventCancel: true });
  return { announcedLength: c.req.header('content-length'), chunks };
};

interface DeliveredPushes {
  readonly pushed: readonly string[];
  readonly because?: string;
}

interface Delivered {
  readonly woken: readonly ProjectId[];
  /** Why nothing was woken, for the forge's page of deliveries. */
  readonly because?: string;
}

const namesIn = (type: ForgeTypeName, { repositoriesIn }: Dialect, body: Uint8Array): readonly string[] => {
  const names = repositoriesIn(parseJson(body));
  if (names === undefined) throw new Refusal(400, `the body is not a webhook of ${type}`);
  return names;
};

const parseJson = (body: Uint8Array): unknown => {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    // The parser's message would quote the untrusted body.
    throw new Refusal(400, 'the body is not JSON');
  }
};

const unverified = ({ credentialHeader }: Dialect): Refusal =>
  new Refusal(401, `${credentialHeader} does not match; compare the webhook secrets of the forge and of ephd`);

const notFound = (path: string): Refusal => new Refusal(404, `${path} does not exist`);

const answerError = (c: Context, { status, code, message }: Refusal): Response => {
  // The rest of the body is not read, so the connection cannot be used again.
  c.header('connection', 'close');
  return c.json({ error: { code, message } }, status);
};

const refusalLogMs = 60_000;

/** At most one line a minute: a flood of forgeries must not fill the log. */
const createRefusalLog = (now: () => number, log: Log): ((path: string, status: number) => void) => {
  let last = Number.NEGATIVE_INFINITY;
  let unlogged = 0;
  return (path, status) => {
    unlogged += 1;
    if (now() - last < refusalLogMs) return;
    log.warn({ path, status, count: unlogged }, 'webhooks were refused');
    last = now();
    unlogged = 0;
  };
};
