import { type Log, type ProjectId, toFailure } from '@eph/contract';
import type { HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { type BodyLimits, BodyReader, type IncomingBody } from './body-reader.ts';
import { type Dialect, dialects, type WebhookForge, webhookForges } from './dialects.ts';
import { Refusal } from './refusal.ts';
import { SeenBodies } from './seen-bodies.ts';

export interface WebhookRoutesOptions {
  /** What the forges of a kind prove themselves with: several while one replaces another, none where there are no webhooks. */
  readonly secrets: (forge: WebhookForge) => readonly string[];
  /** Whose repository it is, by its full name as the forge spells it. */
  readonly projectOf: (forge: WebhookForge, fullName: string) => ProjectId | undefined;
  /** Soon looks at a project. Does nothing while another ephd leads: forges give up on webhooks that are refused too often. */
  readonly wake: (project: ProjectId) => void;
  readonly now: () => number;
  readonly log: Log;
  readonly limits?: Partial<BodyLimits>;
}

const defaultLimits: BodyLimits = { bytes: 5 * 1024 * 1024, bytesAtOnce: 64 * 1024 * 1024, timeMs: 10_000 };

/**
 * `POST /webhooks/{gitea,github,gitlab}`: a forge says that something happened, and the loop looks for itself. Nothing but a full name
 * is taken from what it says. Complete with its own errors, because it is served apart from the API: forges are other machines.
 */
export const createWebhookRoutes = (options: WebhookRoutesOptions): Hono => {
  const { secrets, now, log } = options;
  const bodies = new BodyReader({ ...defaultLimits, ...options.limits });
  const seen = new SeenBodies(now);
  const logRefusal = createRefusalLog(now, log);

  const deliver = async (c: Context, forge: WebhookForge): Promise<Delivered> => {
    const dialect = dialects[forge];
    // Anybody can sign with an empty secret.
    const allowed = secrets(forge).filter((secret) => secret !== '');
    if (allowed.length === 0) throw notFound(c.req.path);
    if (!/^application\/json\s*(?:;|$)/i.test(c.req.header('content-type') ?? ''))
      throw new Refusal(415, 'set the content type of the webhook to application/json');
    const verify = dialect.createVerify(c.req.header(dialect.credentialHeader), allowed);
    if (verify === undefined) throw unverified(dialect);
    const event = c.req.header(dialect.eventHeader) ?? '';
    return await bodies.withBody(readableBody(c), (body) => {
      if (!verify(body)) throw unverified(dialect);
      const { projects, because } = projectsIn(forge, event, body, options.projectOf);
      if (projects.length === 0) return { woken: [], because };
      if (!seen.add(forge, body)) return { woken: [], because: 'it was delivered before' };
      for (const project of projects) options.wake(project);
      log.debug({ forge, event, projects }, 'a webhook woke projects');
      return { woken: projects };
    });
  };

  const routes = new Hono();
  for (const forge of webhookForges) routes.post(`/webhooks/${forge}`, async (c) => c.json(await deliver(c, forge), 202));
  routes.notFound((c) => answerError(c, notFound(c.req.path)));
  routes.onError((error, c) => {
    if (error instanceof Refusal) {
      logRefusal(c.req.path, error.status);
      return answerError(c, error);
    }
    const { code, message } = toFailure(error);
    log.warn({ path: c.req.path, code, err: error }, 'a webhook failed');
    return c.json({ error: { code, message } }, 500);
  });
  return routes;
};

/** From the socket where there is one: the streams of the web cost as much as everything else that happens to a webhook. */
const readableBody = (c: Context): IncomingBody => {
  const { incoming } = (c.env ?? {}) as Partial<HttpBindings>;
  const chunks =
    incoming?.iterator({ destroyOnReturn: false }) ?? (c.req.raw.body ?? new Blob([]).stream()).values({ preventCancel: true });
  return { announcedLength: c.req.header('content-length'), chunks };
};

interface Delivered {
  readonly woken: readonly ProjectId[];
  /** Why nobody was woken, for whoever looks at the deliveries on the page of the forge. */
  readonly because?: string;
}

const projectsIn = (
  forge: WebhookForge,
  event: string,
  body: Uint8Array,
  projectOf: WebhookRoutesOptions['projectOf'],
): { readonly projects: readonly ProjectId[]; readonly because: string } => {
  const { events, repositoriesIn } = dialects[forge];
  const names = repositoriesIn(parseJson(body));
  if (names === undefined) throw new Refusal(400, `the body is not that of a webhook of ${forge}`);
  if (!events.has(event)) return { projects: [], because: 'nothing here depends on such an event' };
  const projects = new Set(names.flatMap((name) => projectOf(forge, name) ?? []));
  return { projects: [...projects], because: 'no project lives in that repository' };
};

const parseJson = (body: Uint8Array): unknown => {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    // What is wrong with it would quote it, and it may be anything.
    throw new Refusal(400, 'the body is not JSON');
  }
};

const unverified = ({ credentialHeader }: Dialect): Refusal =>
  new Refusal(401, `${credentialHeader} does not prove that this comes from a forge of ephd; compare the secrets of both`);

const notFound = (path: string): Refusal => new Refusal(404, `there is nothing at ${path}`);

const answerError = (c: Context, { status, code, message }: Refusal): Response => {
  // What is left of a body is not read, so the connection is of no further use.
  c.header('connection', 'close');
  return c.json({ error: { code, message } }, status);
};

const refusalLogMs = 60_000;

/** A wrong secret is worth a line; a flood of forgeries is not worth one each. */
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
