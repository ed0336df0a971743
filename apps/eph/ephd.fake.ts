import { createServer, type IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import {
  type ConfigView,
  configViewSchema,
  type EnvironmentDetailView,
  type EnvironmentRequest,
  type EventListView,
  environmentDetailSchema,
  environmentPageSchema,
  environmentRequestSchema,
  eventListSchema,
  healthSchema,
  type LogLine,
  logLineSchema,
  type PlanView,
  type ProjectView,
  planSchema,
  problemSchema,
  problemType,
  projectPageSchema,
  type RenderedView,
  type RequestAnswer,
  redeployAnswerSchema,
  renderedViewSchema,
  requestAnswerSchema,
  type ServerView,
  type SourcePage,
  type StreamItem,
  serverSchema,
  sourcePageSchema,
  streamItemSchema,
  type ValidationView,
  validationSchema,
  versionSchema,
  type WhyView,
  whySchema,
} from '@eph/contract';
import { type WebSocket, WebSocketServer } from 'ws';
import { answerAccess, createFakeAccess, type FakeAccess } from './ephd-access.fake.ts';

/** A real server in place of ephd. Every answer is checked against the contract's schema. */
export interface FakeEphd extends AsyncDisposable {
  readonly address: string;
  /** As `METHOD path`. */
  readonly requests: readonly string[];
  environments: readonly EnvironmentDetailView[];
  events: EventListView;
  why: readonly string[];
  plan: PlanView;
  projects: readonly ProjectView[];
  /** Of every project. */
  sources: SourcePage['sources'];
  server: ServerView;
  /** The header of every answer. */
  date: string;
  logs: readonly LogLine[];
  /** What the stream begins with. */
  changes: readonly StreamItem[];
  /** For every environment; id and name are filled in. */
  config: Omit<ConfigView, 'id' | 'name'>;
  rendered: Omit<RenderedView, 'id' | 'name'>;
  validation: ValidationView;
  /** The files that were sent for validation. */
  readonly validated: readonly Uint8Array[];
  /** The answer to every request for an environment. */
  requestAnswer: RequestAnswer;
  readonly environmentRequests: readonly EnvironmentRequest[];
  /** Ids that the deletion guard holds. */
  readonly held: Set<string>;
  /** Requests without it, or the token of an account, are refused, if it is set. */
  token: string | undefined;
  /** Serves `exec` on an open connection. */
  exec: ((socket: WebSocket, query: URLSearchParams) => void) | undefined;
  /** Serves `port-forward` on an open connection. */
  connect: ((socket: WebSocket, query: URLSearchParams) => void) | undefined;
  readonly access: FakeAccess;
  /** Replaces the routes while set. */
  instead: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  /** Sends a line to everyone who follows logs. */
  log(line: LogLine): void;
  /** Sends an item to everyone who follows the stream. */
  change(item: StreamItem): void;
  /** Ends all streams as ephd does, with a reason. */
  endStreams(code: string, message: string): void;
  readonly followers: ReadonlySet<ServerResponse>;
  close(): Promise<void>;
}

export const startFakeEphd = async (port = 0): Promise<FakeEphd> => {
  const server = createServer((request, response) => answer(request, response));
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const requests: string[] = [];
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: ([first = '']) => first });
  const validated: Uint8Array[] = [];
  const environmentRequests: EnvironmentRequest[] = [];
  const followers = new Set<ServerResponse>();
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    for (const socket of sockets.clients) socket.terminate();
    await closed;
  };
  const fake: FakeEphd = {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    followers,
    environments: [],
    events: { events: [] },
    why: [],
    plan: { plans: [], faults: [] },
    projects: [],
    sources: [],
    server: fakeServer(),
    date: 'Sun, 15 Nov 2026 09:05:00 GMT',
    logs: [],
    changes: [],
    config: fakeConfig(),
    rendered: { commit: '1a2b3c4d'.repeat(5), components: [], problems: [] },
    validation: { valid: true, faults: [], notices: [], violations: [], problems: [], remarks: [] },
    validated,
    requestAnswer: fakeRequestAnswer(),
    environmentRequests,
    held: new Set(),
    token: undefined,
    exec: undefined,
    connect: undefined,
    access: createFakeAccess(),
    instead: undefined,
    log: (line) => {
      for (const follower of followers) follower.write(toEvent(line));
    },
    change: (item) => {
      for (const follower of followers) follower.write(toData(streamItemSchema.parse(item)));
    },
    endStreams: (code, message) => {
      for (const follower of followers) follower.end(`event: end\n${toData({ code, message })}`);
    },
    close,
    [Symbol.asyncDispose]: close,
  };

  server.on('upgrade', (request, socket, head) => {
    requests.push(`UPGRADE ${request.url}`);
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://ephd');
    const serve = pathname.endsWith('/port-forward') ? fake.connect : fake.exec;
    if (serve !== undefined) return sockets.handleUpgrade(request, socket, head, (opened) => serve(opened, searchParams));
    const refusal = new ServerResponse(request);
    refusal.assignSocket(socket as Socket);
    refusal.once('finish', () => socket.end());
    sendError(refusal, 403, 'api.forbidden', 'you may not use environments.connect');
  });

  function answer(request: IncomingMessage, response: ServerResponse): void {
    requests.push(`${request.method} ${request.url}`);
    response.setHeader('date', fake.date);
    if (fake.instead !== undefined) return fake.instead(request, response);
    if (request.url === '/healthz') return sendJson(response, healthSchema.parse({ status: 'ok' }));
    const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
    if (fake.token !== undefined && token !== fake.token && !fake.access.accounts.has(token))
      return sendError(response, 401, 'api.unauthorized', fake.access.refusal);
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://ephd');
    const [noun, id, part] = pathname.replace('/api/v1/', '').split('/').map(decodeURIComponent);
    if (['auth', 'tokens', 'audit'].includes(noun ?? '')) return void answerAccess(fake.access, token, request, response);
    if (noun === 'version') return sendJson(response, versionSchema.parse({ version: '9.8.7' }));
    if (noun === 'config') return void answerValidation(request, response);
    if (noun === 'plan') return sendJson(response, planSchema.parse(fake.plan));
    if (noun === 'server') return sendJson(response, serverSchema.parse(fake.server));
    if (noun === 'projects') return answerProjects(part, response);
    if (noun === 'stream') return answerStream(response);
    if (noun === 'events') return sendJson(response, eventListSchema.parse(fake.events));
    if (id === undefined && request.method === 'POST') return void answerRequest(request, response);
    if (id === undefined) return sendJson(response, environmentPageSchema.parse({ environments: fake.environments, next: null }));
    const environment = fake.environments.find((one) => one.id === id || one.name === id || one.alias === id);
    if (environment === undefined) return sendError(response, 404, 'api.not_found', `there is no environment "${id}"`);
    if (request.method === 'DELETE') return sendJson(response, requestAnswerSchema.parse(fake.requestAnswer), 202);
    answerAbout(environment, part, searchParams, response);
  }

  function answerProjects(part: string | undefined, response: ServerResponse): void {
    if (part === 'sources') return sendJson(response, sourcePageSchema.parse({ sources: fake.sources, next: null }));
    sendJson(response, projectPageSchema.parse({ projects: fake.projects, next: null }));
  }

  function answerStream(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': connected\n\n');
    for (const item of fake.changes) response.write(toData(streamItemSchema.parse(item)));
    follow(response);
  }

  function follow(response: ServerResponse): void {
    response.flushHeaders();
    followers.add(response);
    response.once('close', () => followers.delete(response));
  }

  async function answerRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    environmentRequests.push(environmentRequestSchema.parse(JSON.parse((await buffer(request)).toString())));
    sendJson(response, requestAnswerSchema.parse(fake.requestAnswer), 202);
  }

  async function answerValidation(request: IncomingMessage, response: ServerResponse): Promise<void> {
    validated.push(await buffer(request));
    sendJson(response, validationSchema.parse(fake.validation));
  }

  function answerAbout(environment: EnvironmentDetailView, part = '', query: URLSearchParams, response: ServerResponse): void {
    const { id, name } = environment;
    if (part === '') return sendJson(response, environmentDetailSchema.parse(environment));
    if (part === 'why') return sendJson(response, whySchema.parse({ id, name, lines: [...fake.why] } satisfies WhyView));
    if (part === 'events') return sendJson(response, eventListSchema.parse(fake.events));
    if (part === 'rendered') return sendJson(response, renderedViewSchema.parse({ ...fake.rendered, id, name }));
    if (part === 'config') return sendJson(response, configViewSchema.parse({ ...fake.config, id, name }));
    if (part === 'exec') return sendError(response, 403, 'api.forbidden', 'you may not use environments.exec');
    if (part === 'redeploy')
      return sendJson(response, redeployAnswerSchema.parse({ components: environment.components.map((one) => one.name) }), 202);
    if (part === 'release') {
      if (!fake.held.delete(id)) return sendError(response, 409, 'api.conflict', `${name} is not held`);
      response.writeHead(204).end();
      return;
    }
    const component = query.get('component');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const line of fake.logs) if (component === null || line.component === component) response.write(toEvent(line));
    if (query.get('follow') !== 'true') response.end();
    else follow(response);
  }

  return fake;
};

const toData = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;

const toEvent = (line: LogLine): string => toData(logLineSchema.parse(line));

const sendJson = (response: ServerResponse, body: unknown, status = 200): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};

export const sendError = (response: ServerResponse, status: number, code: string, detail: string): void => {
  const problem = problemSchema.parse({ type: 'about:blank', title: 'Failed', status, detail, code, requestId: 'r1' });
  response.writeHead(status, { 'content-type': problemType }).end(JSON.stringify(problem));
};

const at = '2026-11-15T09:00:00.000Z';
const commit = '1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d';

/** A ready environment with a web and a database; `changes` win. */
export const fakeEnvironment = (changes: Partial<EnvironmentDetailView> = {}): EnvironmentDetailView => ({
  id: '0123456789abcdef',
  name: 'shop-serene-ocean-4207',
  alias: 'shop-preview-login',
  project: 'shop',
  source: { kind: 'branch', name: 'preview/login' },
  commit,
  author: null,
  title: null,
  labels: [],
  url: 'http://shop-serene-ocean-4207.localhost:7080',
  phase: 'Ready',
  summary: 'the wanted version answers',
  createdAt: at,
  expiresAt: null,
  conditions: [
    {
      type: 'Ready',
      status: 'True',
      reason: 'Serving',
      message: 'all is well',
      lastTransitionTime: at,
      observedGeneration: commit,
    },
  ],
  components: [
    fakeComponent({ name: 'web', entry: true, dependsOn: ['db'] }),
    fakeComponent({ name: 'db', parts: [], usage: null }),
  ],
  ...changes,
});

export const fakeComponent = (
  changes: Partial<EnvironmentDetailView['components'][number]> = {},
): EnvironmentDetailView['components'][number] => ({
  name: 'web',
  provider: 'process',
  entry: false,
  dependsOn: [],
  current: { revision: 'aaaaaaaaaaaaaaaa', commit, health: 'ready', message: '', since: at },
  next: null,
  retiring: false,
  upstream: null,
  outputs: {},
  parts: [{ instance: 'a1', image: null, restarts: 2, message: '' }],
  usage: { cpuSeconds: 1.25, cpuCores: null, memoryBytes: 44_040_192 },
  ...changes,
});

export const fakeProject = (changes: Partial<ProjectView> = {}): ProjectView => ({
  id: 'shop',
  location: 'acme/shop',
  address: 'https://git.example.com/acme/shop',
  forge: 'gitea',
  environments: 1,
  read: true,
  faults: [],
  polling: 'Its repository is read when a webhook arrives, and every 30 s.',
  webhooks: true,
  ...changes,
});

/** Nothing is wrong with it. */
export const fakeServer = (changes: Partial<ServerView> = {}): ServerView => ({
  version: '1.2.3',
  leadership: { state: 'leading' },
  waitsFor: null,
  history: { reachable: true, buffered: 0, lost: 0, lostAudit: 0, message: '' },
  isolation: { process: { state: 'sandboxed', network: 'own', lacks: {} } },
  away: {},
  budgets: [{ forge: 'work', account: '', remaining: 4321 }],
  faults: {},
  ...changes,
});

export const fakeLogLine = (component: string, text: string, at: string | null = null): LogLine => ({
  component,
  at,
  part: 'a1',
  text,
});

/** Nothing had to be done. */
export const fakeRequestAnswer = (changes: Partial<RequestAnswer> = {}): RequestAnswer => ({
  project: 'shop',
  source: { kind: 'pr', name: '42' },
  environment: '0123456789abcdef',
  commit,
  changes: [],
  because: 'pull request 42 has the label preview (trigger pr_label)',
  ...changes,
});

type ConfigValue = ConfigView['components'][number]['values'][number];

export const fakeOrigin = (changes: Partial<ConfigValue['origin']> = {}): ConfigValue['origin'] => ({
  layer: 'developer',
  file: 'eph.yaml',
  line: 12,
  column: 7,
  commit,
  path: 'process.services.web.replicas',
  ...changes,
});

export const fakeValue = (path: string, value: ConfigValue['value'], changes: Partial<ConfigValue> = {}): ConfigValue => ({
  path: path.split('.'),
  value,
  secret: false,
  used: true,
  reference: null,
  origin: fakeOrigin(),
  below: [],
  ...changes,
});

/** The configuration of a web service with values from every layer; `changes` win. */
export const fakeConfig = (changes: Partial<Omit<ConfigView, 'id' | 'name'>> = {}): Omit<ConfigView, 'id' | 'name'> => ({
  project: 'shop',
  commit,
  configuration: { state: 'current', commit: configurationCommit, fault: null },
  notices: [],
  violations: [],
  problems: [],
  remarks: [],
  components: [
    {
      name: 'web',
      kind: 'Deployment',
      provider: 'process',
      values: [
        fakeValue('command', ['node', 'web.mjs'], { origin: fakeOrigin({ line: 20, path: 'process.services.web.command' }) }),
        fakeValue('replicas', 2, {
          used: false,
          origin: overrideOrigin('overrides.web.replicas', 9),
          below: [
            { value: 5, origin: fakeOrigin() },
            { value: 1, origin: clusterOrigin('defaults.Deployment.replicas', 12) },
          ],
        }),
        fakeValue('env.API_URL', 'http://127.0.0.1:4567', {
          reference: 'outputs/api/url',
          origin: fakeOrigin({ line: 24, path: 'process.services.web.env.API_URL' }),
        }),
        fakeValue('env.TOKEN', '••••••', { secret: true, origin: clusterOrigin('defaults.Deployment.env.TOKEN', 14) }),
        fakeValue('ready.timeout', '60s', { origin: builtIn }),
      ],
    },
    {
      name: 'api',
      kind: 'Deployment',
      provider: 'process',
      values: [fakeValue('replicas', 1, { used: false, origin: clusterOrigin('defaults.Deployment.replicas', 12) })],
    },
  ],
  ...changes,
});

const configurationCommit = 'f0e1d2c3b4a5968778695a4b3c2d1e0ff0e1d2c3';
const builtIn: ConfigValue['origin'] = { layer: 'default', file: null, line: null, column: null, commit: null, path: '' };

const clusterOrigin = (path: string, line: number): ConfigValue['origin'] => ({
  layer: 'cluster',
  file: 'dev/env.yaml',
  line,
  column: 5,
  commit: configurationCommit,
  path,
});

const overrideOrigin = (path: string, line: number): ConfigValue['origin'] => ({
  ...clusterOrigin(path, line),
  layer: 'override',
  file: 'dev/apps/shop/shop/env.yaml',
});
