import { randomBytes, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { type IncomingHttpHeaders, request } from 'node:http';
import { join } from 'node:path';
import {
  type EventView,
  eventListSchema,
  fillPath,
  newTokenSchema,
  type Role,
  type RouteName,
  routes,
  type Scope,
} from '@eph/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseKeys } from '../../apps/ephd/access/keys.ts';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { app, oneService, spec } from './sample-app.ts';
import { SampleRepository } from './sample-repository.ts';

/** What a route takes, written by hand: this table is the specification, and the routes are compared with it. */
type Need =
  | 'nothing'
  | {
      readonly role: Role | 'anyone';
      readonly scope: Scope;
      readonly about: 'environment' | 'project' | 'each' | 'all' | 'server';
    };

const need = (role: Role | 'anyone', scope: Scope, about: Exclude<Need, string>['about']): Need => ({ role, scope, about });
const sees = need('viewer', 'read', 'environment');
const changes = need('developer', 'write', 'environment');
const operates = need('operator', 'write', 'environment');
const lists = need('viewer', 'read', 'each');
const isMe = need('anyone', 'read', 'server');
const administers = need('admin', 'admin', 'server');

const needs: Readonly<Record<RouteName, Need>> = {
  listEnvironments: lists,
  createEnvironment: need('developer', 'write', 'each'),
  readEnvironment: sees,
  removeEnvironment: changes,
  readStatus: sees,
  readUsage: sees,
  readWhy: sees,
  readConfig: need('developer', 'read', 'environment'),
  readRendered: need('developer', 'read', 'environment'),
  releaseEnvironment: operates,
  pinEnvironment: changes,
  unpinEnvironment: changes,
  extendEnvironment: changes,
  pauseEnvironment: changes,
  resumeEnvironment: changes,
  redeployEnvironment: changes,
  scaleEnvironment: operates,
  readLogs: need('developer', 'read', 'environment'),
  exec: changes,
  forwardPort: changes,
  listEventsOfEnvironment: lists,
  listEvents: lists,
  followChanges: lists,
  listAudit: administers,
  readAccount: isMe,
  explainAccess: isMe,
  createSessionCode: isMe,
  createSession: 'nothing',
  endSession: isMe,
  listTokens: administers,
  createToken: administers,
  revokeToken: administers,
  revokePerson: administers,
  readPlan: lists,
  planSource: lists,
  listProjects: lists,
  listSources: need('viewer', 'read', 'project'),
  listHeld: need('operator', 'read', 'each'),
  listCapabilities: lists,
  validateConfig: lists,
  readVersion: isMe,
  readServer: lists,
  readPage: 'nothing',
  readHealth: 'nothing',
  readReadiness: 'nothing',
  readMetrics: need('viewer', 'read', 'all'),
  wake: need('viewer', 'wake', 'each'),
  readSpecSchema: isMe,
  readOpenApi: isMe,
};

const issuer = 'https://id.example.com';
const ranks: readonly string[] = ['anyone', 'viewer', 'developer', 'operator', 'admin'];
const scopesOf: Readonly<Record<Scope, readonly Scope[]>> = {
  wake: ['wake'],
  read: ['read'],
  write: ['wake', 'read', 'write'],
  admin: ['wake', 'read', 'write', 'admin'],
};

/** Who comes, with what. The role is the one in project `shop`. */
interface Kind {
  readonly role: Role | 'anyone' | 'denied' | 'administrator';
  readonly scope: Scope;
  /** The token is for project `bank` alone. */
  readonly isNarrow?: true;
}

const kinds: Readonly<Record<string, Kind | 'refused'>> = {
  'no token': 'refused',
  'a malformed token': 'refused',
  'another scheme': 'refused',
  'an expired token': 'refused',
  'a revoked token': 'refused',
  'a token of a person whose tokens were revoked': 'refused',
  'a token of another key': 'refused',
  'a token of another generation': 'refused',
  'a token without signature': 'refused',
  'the token of another start': 'refused',
  'a session that has ended': 'refused',
  'a session whose token was revoked': 'refused',
  'a session whose person was revoked': 'refused',
  'the token of the file': { role: 'administrator', scope: 'admin' },
  'a session of the administrator': { role: 'administrator', scope: 'admin' },
  ...Object.fromEntries(
    (['anyone', 'viewer', 'developer', 'operator', 'admin', 'denied'] as const).flatMap((role) =>
      (['wake', 'read', 'write', 'admin'] as const).map((scope) => [`${role} with scope ${scope}`, { role, scope }]),
    ),
  ),
  'admin with a token for another project': { role: 'admin', scope: 'admin', isNarrow: true },
  'a session of a viewer': { role: 'viewer', scope: 'read' },
};

/** Let in is 400: every request has a mistake in its query, which is read only after the caller was let in. */
const expectedStatus = (kind: Kind | 'refused', what: Need): number => {
  if (what === 'nothing') return 400;
  if (kind === 'refused') return 401;
  if (kind.role === 'administrator') return 400;
  const { role, scope, about } = what;
  const isInScope = scopesOf[kind.scope].includes(scope);
  const hasRole = kind.role !== 'denied' && ranks.indexOf(kind.role) >= ranks.indexOf(role);
  if (about === 'environment' || about === 'project') {
    const isVisible =
      kind.role !== 'denied' && kind.role !== 'anyone' && scopesOf[kind.scope].includes('read') && kind.isNarrow !== true;
    if (!isVisible) return 404;
  }
  if (about === 'server' && role !== 'anyone' && kind.isNarrow === true) return 403;
  // All others have their role in project `shop` alone.
  if (about === 'all' && (kind.role !== 'admin' || kind.isNarrow === true)) return 403;
  return isInScope && hasRole ? 400 : 403;
};

interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

let harness: EphdHarness;
let environment: { readonly id: string; readonly name: string };
let bank: { readonly id: string; readonly name: string };
const tokens = new Map<string, string | undefined>();

let addresses = 0;

/** Each from an address of its own: those that are refused too often have to wait. */
const ask = (
  method: string,
  path: string,
  token: string | undefined,
  body = '',
  more: Readonly<Record<string, string>> = {},
): Promise<Reply> =>
  new Promise((resolve, reject) => {
    addresses += 1;
    const localAddress = `127.9.${addresses >> 8}.${addresses & 255}`;
    const headers = {
      ...(token !== undefined && { authorization: token }),
      ...(body !== '' && { 'content-type': 'application/json' }),
      ...more,
    };
    request({ host: '127.0.0.1', port: harness.apiPort, localAddress, method, path, headers }, (reply) => {
      let text = '';
      reply.setEncoding('utf8').on('data', (more: string) => {
        text += more;
      });
      reply.once('end', () => resolve({ status: reply.statusCode ?? 0, headers: reply.headers, body: text }));
    })
      .once('error', reject)
      .end(body);
  });

const admin = (method: string, path: string, body?: object): Promise<Reply> =>
  ask(method, path, harness.authorization().authorization, body === undefined ? '' : JSON.stringify(body));

const mint = async (
  subject: string,
  scope: Scope,
  more: object = {},
): Promise<{ readonly id: string; readonly token: string }> => {
  const { status, body } = await admin('POST', '/api/v1/tokens', { person: `${issuer}#${subject}`, scope, for: '1h', ...more });
  expect({ status, body }).toMatchObject({ status: 201 });
  return newTokenSchema.parse(JSON.parse(body));
};

const openSession = async (authorization: string | undefined): Promise<string> => {
  const { code } = JSON.parse((await ask('POST', '/api/v1/auth/codes', authorization)).body) as { readonly code: string };
  const { body } = await ask('POST', '/api/v1/auth/login', undefined, JSON.stringify({ code }));
  return `Bearer ${(JSON.parse(body) as { readonly token: string }).token}`;
};

/** As ephd would sign it, with other content or by another key. */
const forge = (token: string, claims: object, key: string, algorithm?: 'none'): string => {
  const [head = '', content = ''] = token.slice('eph_'.length).split('.');
  const decode = (text: string): object => JSON.parse(Buffer.from(text, 'base64url').toString()) as object;
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${algorithm === undefined ? head : encode({ ...decode(head), alg: algorithm })}.${encode({ ...decode(content), ...claims })}`;
  const signing = parseKeys(key)?.signing.key ?? expect.fail('not a key');
  return `Bearer eph_${text}.${algorithm === undefined ? sign(null, Buffer.from(text), signing).toString('base64url') : 'A'.repeat(86)}`;
};

beforeAll(async () => {
  harness = await EphdHarness.create();
  const other = await SampleRepository.create(harness.folder, 'bank');
  const vault = await SampleRepository.create(harness.folder, 'bank-vault');
  const config = join(harness.folder, 'ephd.yaml');
  const rules = [
    ...(['viewer', 'developer', 'operator'] as const).map((role) => ({
      who: { person: `${issuer}#${role}` },
      role,
      projects: ['shop'],
    })),
    { who: { person: `${issuer}#admin` }, role: 'admin' },
    { who: { person: `${issuer}#denied` }, role: 'admin' },
    { who: { person: `${issuer}#denied` }, deny: true },
    { who: { person: `${issuer}#teller` }, role: 'operator', projects: ['bank'] },
    { who: { person: `${issuer}#monitor` }, role: 'viewer' },
    { who: { person: `${issuer}#clerk` }, role: 'developer', projects: ['bank'] },
    { who: { person: `${issuer}#clerk` }, role: 'viewer', projects: ['shop'] },
  ];
  const projects = [
    { name: 'shop', location: harness.repository.path, trusted: true },
    { name: 'bank', location: other.path, trusted: true },
    { name: 'bank-vault', location: vault.path, trusted: true },
  ];
  await writeFile(config, JSON.stringify({ projects, access: { rules } }));
  const first = await harness.start({ projects: [], args: ['--config', config] });
  tokens.set('the token of another start', harness.authorization().authorization);
  await first.stop();
  await harness.start({ projects: [], args: ['--config', config] });
  environment = await harness.untilReady('preview/one', await harness.repository.push('preview/one', app(oneService)));
  bank = await harness.untilReady('preview/two', await other.push('preview/two', app(oneService)));
  await other.push('feature/three', app(oneService));

  const sample = await mint('admin', 'admin');
  const { keys } = JSON.parse(readFileSync(join(harness.dataFolder, 'access', 'keys.json'), 'utf8')) as {
    readonly keys: string[];
  };
  const [own = ''] = keys;
  tokens.set('a malformed token', 'Bearer eph_abc');
  tokens.set('another scheme', `Basic ${sample.token}`);
  tokens.set('an expired token', `Bearer ${(await mint('admin', 'admin', { for: '1s' })).token}`);
  const revoked = await mint('admin', 'admin');
  expect((await admin('DELETE', `/api/v1/tokens/${revoked.id}`)).status).toBe(200);
  tokens.set('a revoked token', `Bearer ${revoked.token}`);
  const ofSession = await mint('admin', 'admin');
  tokens.set('a session whose token was revoked', await openSession(`Bearer ${ofSession.token}`));
  expect((await admin('DELETE', `/api/v1/tokens/${ofSession.id}`)).status).toBe(200);
  const former = `Bearer ${(await mint('former', 'admin')).token}`;
  tokens.set('a token of a person whose tokens were revoked', former);
  tokens.set('a session whose person was revoked', await openSession(former));
  expect((await admin('DELETE', `/api/v1/tokens?person=${encodeURIComponent(`${issuer}#former`)}`)).status).toBe(200);
  tokens.set('a token of another key', forge(sample.token, {}, randomBytes(32).toString('base64')));
  tokens.set('a token of another generation', forge(sample.token, { gen: 'another' }, own));
  tokens.set('a token without signature', forge(sample.token, {}, own, 'none'));
  const ended = await openSession(harness.authorization().authorization);
  expect((await ask('POST', '/api/v1/auth/logout', ended)).status).toBe(200);
  tokens.set('a session that has ended', ended);
  tokens.set('the token of the file', harness.authorization().authorization);
  tokens.set('a session of the administrator', await openSession(harness.authorization().authorization));
  for (const [name, kind] of Object.entries(kinds)) {
    if (kind === 'refused' || tokens.has(name)) continue;
    const { token } = await mint(kind.role, kind.scope, kind.isNarrow === true ? { projects: ['bank'] } : {});
    tokens.set(name, name.startsWith('a session') ? await openSession(`Bearer ${token}`) : `Bearer ${token}`);
  }
  await eventually('the token has expired', async () => {
    const { status } = await ask('GET', routes.readVersion.path, tokens.get('an expired token'));
    return status === 401;
  });
}, 120_000);
afterAll(() => harness[Symbol.asyncDispose]());

describe('every route, with every kind of token', () => {
  it('is compared', () => {
    expect(Object.keys(needs).toSorted()).toEqual(Object.keys(routes).toSorted());
    expect(Object.keys(kinds).every((kind) => kind === 'no token' || tokens.get(kind) !== undefined)).toBe(true);
  });

  it.each(Object.entries(kinds))('%s', async (name, kind) => {
    const token = tokens.get(name);
    const expected: Record<string, number> = {};
    const found: Record<string, number> = {};
    for (const [route, { method, path }] of Object.entries(routes)) {
      const filled = fillPath(path, { id: environment.name, project: 'shop', token: 'x' });
      const { status, headers, body } = await ask(method, `${filled}?mistake=1`, token);
      expected[route] = expectedStatus(kind, needs[route as RouteName]);
      found[route] = status;
      expect(headers['content-type'], route).toBe('application/problem+json');
      expect(headers['www-authenticate'], route).toBe(status === 401 ? 'Bearer' : undefined);
      expect(body, route).not.toContain(token?.slice(-20) ?? 'eph_');
    }
    expect(found).toEqual(expected);
  });
});

/** What the audit history says about an answer. */
const refusalOf = ({ 'x-request-id': id }: IncomingHttpHeaders): Promise<EventView> =>
  eventually('the refusal is stored', async () => {
    const { body } = await admin('GET', '/api/v1/audit?type=audit.refused&limit=1000');
    expect(body).not.toContain('eph_');
    return eventListSchema.parse(JSON.parse(body)).events.find(({ details }) => details['requestId'] === id);
  });

describe('what somebody may not see', () => {
  const wanted = { project: 'shop', source: { kind: 'branch', name: 'preview/one' } };
  const authorization = async (): Promise<string> => `Bearer ${(await mint('teller', 'write')).token}`;

  it('is in no list, count, plan or history', async () => {
    const token = await authorization();
    for (const path of [
      '/api/v1/environments',
      '/api/v1/projects',
      '/api/v1/events?limit=1000',
      `/api/v1/environments/${environment.id}/events`,
      '/api/v1/plan',
      '/api/v1/held',
      '/api/v1/server',
    ]) {
      const { status, body } = await ask('GET', path, token);
      expect({ path, status }).toEqual({ path, status: 200 });
      for (const secret of [environment.id, environment.name, 'shop']) expect(body, path).not.toContain(secret);
    }
    const { body } = await ask('GET', '/api/v1/environments', token);
    expect(body).toContain(bank.name);
  });

  it('is not answered by the tag of somebody who sees it', async () => {
    for (const path of ['/api/v1/environments', '/api/v1/projects']) {
      const { headers, body } = await admin('GET', path);
      const known = headers.etag ?? '';
      const other = await ask('GET', path, await authorization(), '', { 'if-none-match': known });
      expect([other.status, known === '', other.headers.etag === known]).toEqual([200, false, false]);
      expect([body.includes('shop'), other.body.includes('shop'), other.body.includes('bank')]).toEqual([true, false, true]);
    }
  });

  it('is in no metrics: they are for those who see every project', async () => {
    expect(await ask('GET', '/metrics', await authorization())).toMatchObject({
      status: 403,
      body: expect.stringContaining('this is about all projects together and needs the role viewer in each of them'),
    });
    const metrics = await ask('GET', '/metrics', `Bearer ${(await mint('monitor', 'read')).token}`);
    expect(metrics).toMatchObject({ status: 200, body: expect.stringContaining('eph_environments{phase="Ready"} 2') });
  });

  it('is not suggested, and cannot be told from what does not exist', async () => {
    const token = await authorization();
    for (const text of [environment.id, environment.name, `${environment.name}x`, 'shop-preview-one']) {
      const { status, body } = await ask('GET', `/api/v1/environments/${text}`, token);
      expect({ status, detail: (JSON.parse(body) as { detail: string }).detail }).toEqual({
        status: 404,
        detail: `there is no environment "${text}"`,
      });
    }
    for (const [method, path, body] of [
      ['GET', '/api/v1/projects/shop/sources', ''],
      ['POST', '/api/v1/environments', JSON.stringify(wanted)],
      ['POST', '/api/v1/plan', JSON.stringify(wanted)],
      ['GET', '/api/v1/auth/why?permission=logs.read&project=shop', ''],
    ] as const) {
      const answer = await ask(method, path, token, body);
      expect({ path, status: answer.status, body: answer.body.includes('watches shop') }).toEqual({
        path,
        status: 404,
        body: false,
      });
    }
    expect(JSON.parse((await ask('POST', '/hooks/git', token)).body)).toEqual({ woken: ['bank'] });
    expect((await ask('POST', '/hooks/git?project=shop', token)).status).toBe(404);
  });

  it('cannot be found by a plan for a file that refers to it', async () => {
    const token = await authorization();
    const planFor = async (reference: string): Promise<string> => {
      const file = spec({ web: { command: 'node server.mjs', env: { X: reference } } }, { name: 'bank' });
      const asked = { project: 'bank', source: { kind: 'branch', name: 'preview/two' }, file };
      const { status, body } = await ask('POST', '/api/v1/plan', token, JSON.stringify(asked));
      expect({ status, body }).toMatchObject({ status: 200 });
      return body;
    };
    for (const output of ['web/url', 'web/zzz', 'zzz/k']) {
      const hidden = await planFor(`${environment.name}::outputs/${output}`);
      expect(hidden).toContain(`there is no environment with the name or alias ${environment.name}`);
      expect(hidden.replaceAll(environment.name, 'shop-none')).toBe(await planFor(`shop-none::outputs/${output}`));
    }
    expect(await planFor(`${bank.name}::outputs/web/url`)).toContain('names this very environment');
  });

  it.each([
    ['the name of a hidden environment', () => environment.name],
    ['the alias of a hidden environment', () => 'shop-preview-one'],
    ['a name that belongs to a hidden project', () => 'bank-vault-login'],
    ['a name that nobody has', () => 'bank-gate-login'],
  ])('is no conflict for whoever asks for %s', async (_, nameOf) => {
    const name = nameOf();
    const triggers = [{ type: 'git_branch', patterns: ['feature/*'] }];
    const file = spec(oneService, { name: 'bank', triggers, environment: { name_template: name } });
    const asked = { project: 'bank', source: { kind: 'branch', name: 'feature/three' }, file };
    const { status, body } = await ask('POST', '/api/v1/plan', await authorization(), JSON.stringify(asked));
    expect({ status, ...(JSON.parse(body) as object) }).toMatchObject({
      status: 200,
      name: name.startsWith('bank-') ? name : `bank-${name}`,
    });
  });

  it.each<readonly [name: RouteName, about: 'environment' | 'project', path: () => string, body: object | null]>([
    ['readStatus', 'environment', () => `/api/v1/environments/${environment.name}/status`, null],
    ['readEnvironment', 'environment', () => '/api/v1/environments/shop-preview-one', null],
    ['listEventsOfEnvironment', 'environment', () => `/api/v1/environments/${environment.name}/events`, null],
    ['followChanges', 'environment', () => `/api/v1/stream?environment=${environment.name}`, null],
    ['followChanges', 'project', () => '/api/v1/stream?project=shop', null],
    ['explainAccess', 'environment', () => `/api/v1/auth/why?permission=logs.read&environment=${environment.name}`, null],
    ['explainAccess', 'project', () => '/api/v1/auth/why?permission=logs.read&project=shop', null],
    ['listSources', 'project', () => '/api/v1/projects/shop/sources', null],
    ['wake', 'project', () => '/hooks/git?project=shop', null],
    ['planSource', 'project', () => '/api/v1/plan', wanted],
    ['createEnvironment', 'project', () => '/api/v1/environments', wanted],
  ])('is a refusal in the audit history, and not in the answer: %s by its %s', async (name, about, path, body) => {
    const token = await authorization();
    const { method, path: route, permission } = routes[name];
    const { status, headers } = await ask(method, path(), token, body === null ? '' : JSON.stringify(body));
    expect(status).toBe(404);
    // Else the limit of refusals would tell what is hidden from what does not exist.
    expect(headers['ratelimit']).toMatch(/^"(requests|changes)"/);
    const isOfEnvironment = about === 'environment';
    expect(await refusalOf(headers)).toMatchObject({
      project: 'shop',
      environment: isOfEnvironment ? environment.id : null,
      message: expect.stringContaining(` for ${isOfEnvironment ? environment.name : 'shop'}: refused, hidden from the caller`),
      details: {
        person: `${issuer}#teller`,
        how: 'token',
        outcome: 'refused',
        route,
        permission,
        name: isOfEnvironment ? environment.name : null,
        address: expect.stringContaining('127.9.'),
      },
    });
  });

  it('is told from what they may only see, which the audit history names, too', async () => {
    const { token } = await mint('clerk', 'write');
    const { status, headers, body } = await ask('POST', '/api/v1/environments', `Bearer ${token}`, JSON.stringify(wanted));
    expect({ status, body }).toMatchObject({ status: 403, body: expect.stringContaining('in project shop') });
    expect(await refusalOf(headers)).toMatchObject({ project: 'shop', details: { source: 'branch preview/one' } });
  });

  it('is never answered with the limit of refusals, however often somebody asks', async () => {
    const { token } = await mint('viewer', 'read');
    const statusOf = async (path: string): Promise<number> => (await ask('GET', path, `Bearer ${token}`)).status;
    for (let count = 0; count < 210; count += 1) expect(await statusOf(`/api/v1/environments/${bank.name}`)).toBe(404);
    expect(await statusOf('/api/v1/tokens')).toBe(403);
  });
});
