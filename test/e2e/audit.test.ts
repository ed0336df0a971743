import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type EventView,
  eventListSchema,
  newTokenSchema,
  routes,
  sessionCodeSchema,
  sessionSchema,
  tokenListSchema,
} from '@eph/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import type { RunningEphd } from './running-ephd.ts';
import { app, oneService } from './sample-app.ts';

const person = 'https://id.example.com#4711';

describe('the audit history', () => {
  let harness: EphdHarness;
  let ephd: RunningEphd;
  let environment: { readonly id: string; readonly name: string };

  beforeAll(async () => {
    harness = await EphdHarness.create();
    const config = join(harness.folder, 'ephd.yaml');
    const projects = [{ name: 'shop', location: harness.repository.path, trusted: true }];
    await writeFile(config, JSON.stringify({ projects, access: { rules: [{ who: { person }, role: 'viewer' }] } }));
    ephd = await harness.start({ projects: [], args: ['--config', config] });
    environment = await harness.untilReady('preview/one', await harness.repository.push('preview/one', app(oneService)));
  });
  afterAll(() => harness[Symbol.asyncDispose]());

  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    harness.api(path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });

  /** The newest event of a route, with these details. */
  const recorded = (route: string, outcome: string, more: EventView['details'] = {}): Promise<EventView> =>
    eventually(`${route} is ${outcome}`, async () => {
      const { events } = await harness.read('/api/v1/audit?limit=1000', eventListSchema);
      const wanted = Object.entries({ route, outcome, ...more });
      return events.findLast(({ details }) => wanted.every(([name, value]) => details[name] === value));
    });

  const mint = async (scope = 'read') =>
    newTokenSchema.parse(JSON.parse((await post('/api/v1/tokens', { person, scope, for: '1h' })).body));

  it('has every token that was made, and whether it still counts', async () => {
    const [kept, revoked] = [await mint(), await mint()];
    expect((await harness.api(`/api/v1/tokens/${revoked.id}`, { method: 'DELETE' })).status).toBe(200);
    expect(await recorded(routes.createToken.path, 'done', { madeId: revoked.id })).toMatchObject({
      type: 'audit.changed',
      details: {
        how: 'file',
        person: 'administrator',
        madeId: revoked.id,
        madeFor: person,
        madeScope: 'read',
        address: '127.0.0.1',
      },
    });
    expect((await recorded(routes.revokeToken.path, 'done', { revokedId: revoked.id })).type).toBe('audit.changed');
    const { tokens } = await harness.read('/api/v1/tokens', tokenListSchema);
    expect(tokens.map(({ id, state }) => [id, state])).toEqual([
      [revoked.id, 'revoked'],
      [kept.id, 'valid'],
    ]);
  });

  it('has who signed in with a link, and who tried its code again', async () => {
    const { token, id } = await mint();
    const link = sessionCodeSchema.parse(
      JSON.parse((await post('/api/v1/auth/codes', {}, { authorization: `Bearer ${token}` })).body),
    );
    const signIn = () =>
      harness.anonymousApi('/api/v1/auth/login', {
        method: 'POST',
        body: JSON.stringify({ code: link.code }),
        headers: { 'content-type': 'application/json' },
      });
    const session = sessionSchema.parse(JSON.parse((await signIn()).body));
    expect(await recorded(routes.createSession.path, 'done', { tokenId: id })).toMatchObject({
      type: 'audit.signed_in',
      message: `${person}: POST /api/v1/auth/login: done`,
      details: { person, how: 'session', tokenId: id },
    });
    const { events } = await harness.read(`/api/v1/audit?text=${encodeURIComponent(person)}&limit=1000`, eventListSchema);
    expect(events.map(({ type }) => type)).toContain('audit.signed_in');
    expect(await signIn()).toMatchObject({ status: 401, body: expect.stringContaining('used already') });
    expect(await recorded(routes.createSession.path, 'refused')).toMatchObject({ type: 'audit.refused' });
    // The session may do what the token may do, and ends when somebody ends it.
    const headers = { authorization: `Bearer ${session.token}` };
    expect((await harness.anonymousApi('/api/v1/environments', { headers })).body).toContain(environment.name);
    expect((await harness.anonymousApi('/api/v1/tokens', { headers })).status).toBe(403);
    expect((await harness.anonymousApi('/api/v1/auth/logout', { method: 'POST', headers })).status).toBe(200);
    expect((await harness.anonymousApi('/api/v1/environments', { headers })).status).toBe(401);
    expect(JSON.stringify(ephd.lines)).not.toContain(session.token);
    expect(JSON.stringify(ephd.lines)).not.toContain(link.code);
  });

  it('calls whoever has the token file administrator, also in the browser', async () => {
    const { code } = sessionCodeSchema.parse(JSON.parse((await post('/api/v1/auth/codes', {})).body));
    expect((await post('/api/v1/auth/login', { code })).status).toBe(201);
    const found = await eventually('it is stored', async () => {
      const { events } = await harness.read('/api/v1/audit?type=audit.signed_in&text=administrator', eventListSchema);
      return events[0];
    });
    expect(found).toMatchObject({
      message: 'administrator: POST /api/v1/auth/login: done',
      details: { person: 'administrator', how: 'session', tokenId: null },
    });
  });

  it('has changes with their environment, and their failures', async () => {
    const path = `/api/v1/environments/${environment.name}`;
    await post(`${path}/redeploy`, {});
    expect(await recorded(routes.redeployEnvironment.path, 'done')).toMatchObject({
      project: 'shop',
      environment: environment.id,
      details: { name: environment.name, permission: 'environments.change', components: 'all' },
    });
    await post(`${path}/redeploy`, { components: ['web', 'nothing'] });
    expect((await recorded(routes.redeployEnvironment.path, 'failed')).details['components']).toBe('web nothing');
    await post(`${path}/extend`, { for: '72h' });
    expect((await recorded(routes.extendEnvironment.path, 'failed')).details['for']).toBe('72h');
    const headers = { 'content-type': 'application/json' };
    await harness.api(`${path}/scale`, { method: 'PUT', headers, body: JSON.stringify({ component: 'web', replicas: 3 }) });
    expect((await recorded(routes.scaleEnvironment.path, 'failed')).details).toMatchObject({ component: 'web', replicas: 3 });
    await post(`/api/v1/environments/${environment.name}/release`, {});
    expect((await recorded(routes.releaseEnvironment.path, 'failed')).details['reason']).toContain('is not held');
  });

  it('has what somebody asked an environment for, and of which project', async () => {
    await harness.repository.push('feature/new', app(oneService));
    const source = { kind: 'branch', name: 'feature/new' };
    const answer = await post('/api/v1/environments', { source });
    expect(answer).toMatchObject({ status: 202, body: expect.stringContaining('preview/feature/new') });
    expect(await recorded(routes.createEnvironment.path, 'done')).toMatchObject({
      project: 'shop',
      message: 'administrator: POST /api/v1/environments for shop: done',
      details: { source: 'branch feature/new' },
    });
    const { id } = await harness.until('preview/feature/new', 'is noticed', () => true);
    const removal = await harness.api(`/api/v1/environments/${id}?force=true`, { method: 'DELETE' });
    expect(removal.status).toBe(202);
    expect((await recorded(routes.removeEnvironment.path, 'done')).details['force']).toBe(true);
  });

  it('has requests of other sites, with their route', async () => {
    const headers = { origin: 'http://evil.example' };
    const path = `/api/v1/environments/${environment.name}/release`;
    expect((await harness.api(path, { method: 'POST', headers })).status).toBe(403);
    expect(await recorded(routes.releaseEnvironment.path, 'refused')).toMatchObject({
      message: `somebody: POST ${routes.releaseEnvironment.path}: refused, ephd does not answer requests from other sites`,
      details: { what: 'change', how: 'none', permission: 'environments.operate' },
    });
    expect((await harness.api('/api/v1/events', { headers: { host: 'evil.example' } })).status).toBe(403);
    expect((await recorded(routes.listEvents.path, 'refused')).message).toContain('ephd answers only requests to');
    expect((await harness.api('/nothing', { headers })).status).toBe(403);
    expect((await recorded('unknown', 'refused')).message).toContain('somebody: GET unknown: refused');
  });

  it('is a log line too, with the request it was, and without secrets', async () => {
    const { token, id } = await mint('write');
    const { status, headers } = await harness.api(`/api/v1/environments/${environment.name}/pause`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    });
    expect(status).toBe(403);
    const line = await eventually('it is logged', () => ephd.lines.find((one) => one['requestId'] === headers['x-request-id']));
    expect(line).toMatchObject({ audit: 'audit.refused', person, how: 'token', tokenId: id, project: 'shop' });
    expect(JSON.stringify(ephd.lines)).not.toContain(token);
    expect((await harness.api('/api/v1/audit?limit=1000')).body).not.toContain(token.slice(-20));
  });

  it('is not in the history that everybody reads', async () => {
    await recorded(routes.createToken.path, 'done');
    const { events } = await harness.read('/api/v1/events?limit=1000', eventListSchema);
    expect(events.length).toBeGreaterThan(0);
    expect(events.filter(({ type }) => type.startsWith('audit.'))).toEqual([]);
  });
});

describe('a token that ephd cannot judge', () => {
  it('is refused, which is an event and a log line at every level', async () => {
    await using harness = await EphdHarness.create();
    const former = await harness.start();
    const body = JSON.stringify({ person, scope: 'read', for: '1h' });
    const headers = { 'content-type': 'application/json' };
    const made = await eventually('the revoked tokens are read', async () => {
      const answer = await harness.api('/api/v1/tokens', { method: 'POST', body, headers });
      return answer.status === 201 ? answer.body : undefined;
    });
    const { id, token } = newTokenSchema.parse(JSON.parse(made));
    await former.stop();
    await writeFile(join(harness.dataFolder, 'access', 'revocations.json'), 'broken');
    const ephd = harness.launch({ args: ['--log-level', 'error'] });
    // At this level, ephd does not say that it is up.
    await eventually('ephd answers', () =>
      harness.anonymousApi('/healthz').then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    const answer = await harness.anonymousApi('/api/v1/environments', { headers: { authorization: `Bearer ${token}` } });
    expect(answer).toMatchObject({ status: 503, body: expect.stringContaining('api.starting') });
    const expected = { person, how: 'token', tokenId: id, outcome: 'refused', route: routes.listEnvironments.path };
    const line = await eventually('it is logged', () => ephd.lines.find(({ audit }) => audit === 'audit.refused'));
    expect(line).toMatchObject(expected);
    const stored = await eventually('it is stored', async () => {
      const { events } = await harness.read('/api/v1/audit?type=audit.refused', eventListSchema);
      return events.length > 0 ? events : undefined;
    });
    expect(stored).toMatchObject([{ details: expected }]);
  });
});

describe('the token of the file', () => {
  it('cannot be revoked, and ends with ephd', async () => {
    await using harness = await EphdHarness.create();
    const ephd = await harness.start();
    expect(await harness.api('/api/v1/auth/logout', { method: 'POST' })).toMatchObject({
      status: 409,
      body: expect.stringContaining('ends when ephd stops'),
    });
    expect(await harness.api('/api/v1/auth/status')).toMatchObject({ body: expect.stringContaining('"how":"file"') });
    const former = harness.authorization();
    await ephd.stop();
    expect(harness.authorization()).toEqual({});
    await harness.start();
    expect((await harness.anonymousApi('/api/v1/auth/status', { headers: { ...former } })).status).toBe(401);
  });
});
