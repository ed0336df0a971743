import { readdirSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import {
  configViewSchema,
  type EnvironmentView,
  environmentDetailSchema,
  environmentListSchema,
  environmentPlanSchema,
  environmentSchema,
  eventListSchema,
  type LogLine,
  logLineSchema,
  planSchema,
  problemSchema,
  serverSchema,
  specJsonSchema,
  statusSchema,
  usageSchema,
  type ValidationView,
  validationSchema,
  versionSchema,
  whySchema,
} from '@eph/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { app, oneService, spec, twoServices } from './sample-app.ts';

describe('the API', () => {
  let harness: EphdHarness;
  let environment: EnvironmentView;

  beforeAll(async () => {
    harness = await EphdHarness.create();
    await harness.start();
    environment = await harness.untilReady('preview/one', await harness.repository.push('preview/one', app(twoServices)));
  });
  afterAll(() => harness[Symbol.asyncDispose]());

  it.each(['id', 'name', 'alias'] as const)('shows an environment by its %s', async (key) => {
    expect(await harness.read(`/api/v1/environments/${environment[key]}`, environmentSchema)).toMatchObject({
      id: environment.id,
    });
  });

  it('answers every request about it as its schema promises', async () => {
    const at = `/api/v1/environments/${environment.id}`;
    expect(await harness.read(`${at}/status`, statusSchema)).toMatchObject({ phase: 'Ready' });
    expect((await harness.read(`${at}/why`, whySchema)).lines.join(' ')).toContain('preview/one matches preview/**');
    const { events } = await harness.read(`${at}/events`, eventListSchema);
    expect(events.map((one) => one.type)).toEqual(
      expect.arrayContaining(['environment.wanted', 'component.applied', 'status.changed']),
    );
    expect((await harness.read(`${at}/events?limit=1`, eventListSchema)).events).toHaveLength(1);
    expect((await harness.read('/api/v1/events', eventListSchema)).events.length).toBeGreaterThanOrEqual(events.length);
    expect(await harness.read('/api/v1/plan', planSchema)).toEqual({ plans: [], faults: [] });
    expect((await harness.read('/api/v1/version', versionSchema)).version).toMatch(/^\d+\.\d+\.\d+/);
  });

  it('shows components with their health, addresses and use', async () => {
    const { components } = await harness.read(`/api/v1/environments/${environment.id}`, environmentDetailSchema);
    expect(components).toHaveLength(2);
    for (const { current, upstream, outputs, parts, usage } of components) {
      expect(current).toMatchObject({ health: 'ready', commit: environment.commit });
      expect(upstream).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
      expect(outputs).toMatchObject({ url: upstream });
      expect(parts).toEqual([{ instance: expect.stringMatching(/./), image: null, restarts: 0, message: '' }]);
      expect(usage?.memoryBytes).toBeGreaterThan(1024 * 1024);
    }
  });

  it('measures nothing for the list', async () => {
    const list = await harness.api('/api/v1/environments');
    expect(environmentListSchema.parse(JSON.parse(list.body)).environments).toHaveLength(1);
    expect(list.body).not.toMatch(/"(usage|parts)"/);
  });

  it('shows the origin of every value', async () => {
    const { components, configuration } = await harness.read(`/api/v1/environments/${environment.id}/config`, configViewSchema);
    expect(configuration).toEqual({ state: 'none', commit: null, fault: null });
    const web = components.find((one) => one.name === 'web');
    const api = web?.values.find((one) => one.path.join('.') === 'env.API');
    expect(api).toMatchObject({
      value: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      reference: 'outputs/api/url',
      origin: { layer: 'developer', file: 'eph.yaml', line: 1, commit: environment.commit, path: 'process.services.web.env.API' },
    });
    expect(web?.values.every((one) => one.origin.layer === 'default' || one.origin.line !== null)).toBe(true);
  });

  it('validates a file before it is pushed', async () => {
    const validate = async (body: string): Promise<ValidationView> => {
      const answer = await harness.api('/api/v1/config/validate?file=my.yaml', { method: 'POST', body });
      expect(answer.status).toBe(200);
      return validationSchema.parse(JSON.parse(answer.body));
    };
    const sound =
      'version: "1.0"\nname: shop\nenvironment: { idle_timeout: 4h }\nprocess: { services: { web: { command: run } } }\n';
    expect(await validate(sound)).toMatchObject({
      valid: true,
      faults: [],
      notices: [{ path: 'environment.idle_timeout', line: 3 }],
    });
    expect(await validate(sound.replace('process', 'procces'))).toMatchObject({
      valid: false,
      faults: [{ file: 'my.yaml', line: 4, column: 1, path: 'procces' }],
    });
    const open = await validate(`${sound}security: { environment_access: { default: protected } }\n`);
    expect(open).toMatchObject({ valid: false, problems: [expect.stringContaining('my.yaml:5')] });
    // ephd does not read the rest of the body, so the connection cannot serve another request.
    const huge = { method: 'POST', headers: { connection: 'close' }, body: 'x'.repeat(2_000_000) };
    expect((await harness.api('/api/v1/config/validate', huge)).status).toBe(413);
  });

  it('serves the schema for editors', async () => {
    const { status, body } = await harness.api('/schemas/eph.schema.json');
    expect([status, JSON.parse(body)]).toEqual([200, JSON.parse(JSON.stringify(specJsonSchema()))]);
  });

  it('serves logs and follows them', async () => {
    const tail = await harness.api(`/api/v1/environments/${environment.id}/logs?component=web`);
    expect(tail.headers['content-type']).toContain('text/event-stream');
    const line = { component: 'web', part: expect.stringMatching(/./), text: `answering for ${environment.commit}` };
    expect(parseEvents(tail.body)).toMatchObject([line]);
    expect(Date.parse(parseEvents(tail.body)[0]?.at ?? '')).toBeLessThanOrEqual(Date.now());

    const follow = new LogStream(harness, `/api/v1/environments/${environment.id}/logs?follow=true`);
    await eventually('both tails have come', () => follow.lines.length === 2);
    await harness.visit(environment.name, { path: '/say/hello' });
    await eventually('the new line has come', () => follow.lines.some((one) => one.component === 'web' && one.text === 'hello'));
    follow.close();

    const since = async (time: string): Promise<readonly string[]> =>
      parseEvents((await harness.api(`/api/v1/environments/${environment.id}/logs?component=web&since=${time}`)).body).map(
        ({ text }) => text,
      );
    expect(await since('1h')).toEqual([line.text, 'hello']);
    expect(await since(new Date(Date.now() + 5_000).toISOString())).toEqual([]);
  });

  it('serves health and metrics', async () => {
    expect(await harness.read('/api/v1/server', serverSchema)).toMatchObject({
      leadership: { state: 'leading' },
      waitsFor: null,
      history: { reachable: true, lost: 0 },
      faults: {},
    });
    expect((await harness.api('/readyz')).status).toBe(200);
    const { body, headers } = await harness.api('/metrics');
    expect(headers['content-type']).toContain('text/plain');
    for (const family of [
      'eph_pass_duration_seconds',
      'eph_queue_depth',
      'eph_actions_total',
      'eph_errors_total',
      'eph_event_log_lost',
      'eph_event_log_lost_audit',
      'eph_environments',
    ])
      expect(body).toContain(`# TYPE ${family} `);
    expect(body).toMatch(/^eph_environments\{phase="Ready"\} 1$/m);
    expect(body).toMatch(/^eph_actions_total\{[^}]*type="create"[^}]*\} 2$/m);
  });

  it.each([
    ['/api/v1/environments/nobody', 404],
    ['/api/v1/environments/nobody/logs', 404],
    ['/api/v1/nothing', 404],
    ['/api/v1/events?limit=many', 400],
    ['/api/v1/events?limit=-1', 400],
  ])('refuses %s with %i and a message', async (path, status) => {
    const answer = await harness.api(path);
    expect(answer.status).toBe(status);
    expect(problemSchema.parse(JSON.parse(answer.body)).detail.length).toBeGreaterThan(10);
  });

  it.each([
    ['POST', '/api/v1/environments/{id}/status', 'GET, HEAD'],
    ['PATCH', '/api/v1/environments/{id}', 'GET, HEAD, DELETE'],
    ['OPTIONS', '/api/v1/tokens', 'GET, HEAD, POST, DELETE'],
    ['GET', '/api/v1/auth/login', 'POST'],
  ])('refuses %s %s with 405 and names the methods that there are', async (method, path, allow) => {
    const answer = await harness.api(path.replace('{id}', environment.id), { method });
    expect([answer.status, answer.headers.allow]).toEqual([405, allow]);
    expect(problemSchema.parse(JSON.parse(answer.body))).toMatchObject({ code: 'api.method_not_allowed' });
  });

  it('answers HEAD as GET, but not for streams, which nobody would read', async () => {
    const status = async (path: string) => (await harness.api(path, { method: 'HEAD' })).status;
    expect(await status('/api/v1/environments')).toBe(200);
    expect(await status(`/api/v1/environments/${environment.id}/logs?follow=true`)).toBe(405);
  });

  it('plans what nobody has pushed yet, and does nothing', async () => {
    await harness.repository.push('main', app());
    const plan = async (body: object) => {
      const { status, body: text } = await harness.api('/api/v1/plan', {
        method: 'POST',
        body: JSON.stringify(body),
      });
      return { status, answer: JSON.parse(text) as Record<string, unknown> };
    };
    const source = { kind: 'branch', name: 'main' };
    expect(await plan({ source })).toMatchObject({ status: 200, answer: { wanted: false, actions: [] } });
    const file = spec(oneService, { triggers: [{ type: 'git_branch', patterns: ['main'] }] });
    const wanted = await plan({ source, file });
    expect(environmentPlanSchema.parse(wanted.answer)).toMatchObject({
      wanted: true,
      because: expect.stringContaining('main'),
      actions: [{ type: 'create', component: 'web' }],
    });
    expect((await plan({ source, file: 'version: 2' })).answer).toMatchObject({
      actions: [expect.objectContaining({ type: 'wait', reason: expect.stringContaining('eph.yaml:1:') })],
    });
    expect(await plan({ source: { kind: 'branch', name: 'absent' } })).toMatchObject({ status: 404 });
    expect(await plan({ source, labels: ['preview'] })).toMatchObject({ status: 400 });
    expect((await harness.environments()).map((one) => one.source.name)).not.toContain('main');
  });

  it('answers a page that the caller has already with nothing', async () => {
    const first = await harness.api('/api/v1/environments');
    const { etag = '' } = first.headers;
    for (const known of [etag, `W/${etag}`, `"another", ${etag}`, '*']) {
      const again = await harness.api('/api/v1/environments', { headers: { 'if-none-match': known } });
      expect([known, again.status, again.body]).toEqual([known, 304, '']);
    }
    expect((await harness.api('/api/v1/environments?limit=1&project=none', { headers: { 'if-none-match': etag } })).status).toBe(
      200,
    );
  });

  it('shows what the components use, more of it while somebody asks', async () => {
    const usage = await harness.read(`/api/v1/environments/${environment.id}/metrics`, usageSchema);
    expect(usage.samples.at(-1)?.components.find(({ name }) => name === 'web')?.memoryBytes).toBeGreaterThan(1_000_000);
  });

  it('describes itself', async () => {
    const description = JSON.parse((await harness.api('/openapi.json')).body) as { paths: object };
    expect(Object.keys(description.paths)).toContain('/api/v1/environments/{id}/logs');
  });

  it('refuses logs of an unknown component and a release of an environment that is not held', async () => {
    const logs = await harness.api(`/api/v1/environments/${environment.id}/logs?component=db`);
    expect([logs.status, logs.body.includes('web')]).toEqual([404, true]);
    for (const since of ['yesterday', '10', '', '2026-13-01', '2026']) {
      const refused = await harness.api(`/api/v1/environments/${environment.id}/logs?since=${since}`);
      expect([since, refused.status, refused.body.includes('10m')]).toEqual([since, 400, true]);
    }
    expect((await harness.api(`/api/v1/environments/${environment.id}/release`, { method: 'POST' })).status).toBe(409);
  });

  it.each([
    ['GET', '/api/v1/environments'],
    ['DELETE', '/api/v1/environments/{id}'],
    ['GET', '/api/v1/environments/{id}/logs?follow=true'],
    ['POST', '/api/v1/environments/{id}/release'],
    ['GET', '/api/v1/version'],
    ['GET', '/api/v1/nothing'],
    ['GET', '/metrics'],
    ['GET', '/schemas/eph.schema.json'],
    ['POST', '/hooks/git'],
    ['POST', '/healthz'],
    ['PATCH', '/api/v1/tokens'],
    ['GET', '/healthz/'],
    ['GET', '/healthz/../metrics'],
  ])('needs its token for %s %s', async (method, template) => {
    const path = template.replace('{id}', environment.id);
    const token = harness.authorization().authorization ?? '';
    const upgrade = { connection: 'upgrade', upgrade: 'websocket' };
    for (const headers of [
      {},
      upgrade,
      { authorization: 'Bearer ' },
      { authorization: token.replace('Bearer ', '') },
      { authorization: token.replace('Bearer', 'Basic') },
      { authorization: `${token}x` },
      { authorization: token.slice(0, -1) },
      { authorization: `Bearer ${'x'.repeat(43)}` },
    ]) {
      const answer = await harness.anonymousApi(path, { method, headers });
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([401, 'Bearer']);
      expect(problemSchema.parse(JSON.parse(answer.body)).code).toBe('api.unauthorized');
    }
  });

  it('shows its health without a token, and nothing else', async () => {
    expect(await harness.anonymousApi('/healthz')).toMatchObject({ status: 200, body: '{"status":"ok"}' });
    expect(await harness.anonymousApi('/readyz')).toMatchObject({ status: 200, body: '{"status":"ready"}' });
  });

  it('refuses a service of an environment that calls it', async () => {
    const target = `http://127.0.0.1:${harness.apiPort}/api/v1/environments/${environment.id}`;
    const attack = `
      import { createServer } from 'node:http';
      const tryTo = async (method) => (await fetch('${target}', { method })).status;
      createServer(async (request, response) => response.end([await tryTo('GET'), await tryTo('DELETE')].join()))
        .listen(Number(process.env.PORT), '127.0.0.1');`;
    const services = { web: { command: [process.execPath, 'attack.mjs'] } };
    const commit = await harness.repository.push('preview/attack', app(services, { 'attack.mjs': attack }));
    const attacker = await harness.untilReady('preview/attack', commit);
    expect((await harness.visit(attacker.name)).body).toBe('401,401');
    await harness.repository.delete('preview/attack');
    await harness.untilGone('preview/attack');
    expect((await harness.environment(environment.id)).phase).toBe('Ready');
  });

  it('refuses requests of other sites', async () => {
    for (const host of [
      'evil.example',
      'evil.example:7070',
      'localhost.evil.example',
      `${environment.name}.localhost:${harness.apiPort}`,
    ]) {
      expect((await harness.api('/api/v1/environments', { headers: { host } })).status, host).toBe(403);
    }
    for (const origin of [
      'http://evil.example',
      'null',
      `http://127.0.0.1:${harness.gatewayPort}`,
      `http://${environment.name}.localhost:${harness.gatewayPort}`,
    ]) {
      expect((await harness.api('/hooks/git', { method: 'POST', headers: { origin } })).status, origin).toBe(403);
    }
    for (const site of ['cross-site', 'same-site', 'anything', ''])
      for (const [method, path] of [
        ['GET', '/api/v1/environments'],
        ['GET', '/healthz'],
        ['DELETE', `/api/v1/environments/${environment.id}`],
        ['POST', '/hooks/git'],
      ] as const) {
        const { status, body } = await harness.api(path, { method, headers: { 'sec-fetch-site': site } });
        expect([status, problemSchema.parse(JSON.parse(body)).code], `${site} ${path}`).toEqual([403, 'api.forbidden']);
      }
    for (const site of ['none', 'same-origin'])
      expect((await harness.api('/api/v1/environments', { headers: { 'sec-fetch-site': site } })).status, site).toBe(200);
    expect((await harness.api('/api/v1/environments', { headers: { host: `localhost:${harness.apiPort}` } })).status).toBe(200);
  });

  it('the gateway reveals nothing about names it does not route', async () => {
    const [unknown, api] = [
      await harness.visit('shop-other-name-1234'),
      await harness.visit('x', { headers: { host: `127.0.0.1:${harness.gatewayPort}` } }),
    ];
    expect([unknown.status, api.status]).toEqual([404, 404]);
    expect(unknown.body).toBe(api.body);
    const named = { 'x-eph-environment': environment.name };
    const host = `localhost:${harness.gatewayPort}`;
    const visitors = [
      await harness.visit('x', { headers: { host, ...named } }),
      await harness.visit('x', { headers: { host: 'elsewhere.example', ...named } }),
      await harness.visit('x', { headers: { host, ...named, 'sec-fetch-site': 'same-site' } }),
    ];
    expect(visitors.map(({ status, headers }) => [status, headers['x-robots-tag']])).toEqual([
      [200, 'noindex'],
      [404, 'noindex'],
      [404, 'noindex'],
    ]);
  });
});

describe('the token of the API', () => {
  it('is another one at each start, also after a crash, and is gone after a stop', async () => {
    await using harness = await EphdHarness.create();
    const first = await harness.start();
    const { authorization = '' } = harness.authorization();
    expect(readdirSync(join(harness.stateFolder, 'eph'))).toEqual([`token-${harness.apiPort}`]);
    await first.kill();
    expect(harness.authorization()).toEqual({ authorization });
    const second = await harness.start();
    expect(harness.authorization()).not.toEqual({ authorization });
    expect((await harness.api('/api/v1/version', { headers: { authorization } })).status).toBe(401);
    expect((await harness.api('/api/v1/version')).status).toBe(200);
    await second.stop();
    expect(readdirSync(join(harness.stateFolder, 'eph'))).toEqual([]);
  });
});

describe('a project with a remote repository', () => {
  it('is read as soon as the hook is called', async () => {
    await using harness = await EphdHarness.create();
    await harness.start({ projects: [`file://${harness.repository.path}`] });
    await eventually('the first pass is over', async () => (await harness.api('/readyz')).status === 200);
    const commit = await harness.repository.push('preview/one', app());
    const hook = await harness.api('/hooks/git?project=shop', { method: 'POST' });
    expect([hook.status, JSON.parse(hook.body)]).toEqual([202, { woken: ['shop'] }]);
    // The next pass comes 27 seconds after the first one at the earliest.
    await harness.untilReady('preview/one', commit, 20);
    expect((await harness.api('/hooks/git?project=other', { method: 'POST' })).status).toBe(404);
  });
});

const parseEvents = (body: string): readonly LogLine[] =>
  [...body.matchAll(/^data: (.*)$/gm)].map(([, data]) => logLineSchema.parse(JSON.parse(data ?? '')));

class LogStream {
  readonly lines: LogLine[] = [];
  readonly #request;

  constructor(harness: EphdHarness, path: string) {
    let text = '';
    const headers = { ...harness.authorization() };
    this.#request = get({ host: '127.0.0.1', port: harness.apiPort, path, headers }, (response) => {
      response.setEncoding('utf8').on('data', (more: string) => {
        text += more;
        for (let at = text.indexOf('\n\n'); at >= 0; at = text.indexOf('\n\n')) {
          const data = /^data: (.*)$/m.exec(text.slice(0, at))?.[1];
          if (data !== undefined) this.lines.push(logLineSchema.parse(JSON.parse(data)));
          text = text.slice(at + 2);
        }
      });
      // A client may close the stream at any time.
      response.on('error', () => undefined);
    });
    this.#request.on('error', () => undefined);
  }

  close(): void {
    this.#request.destroy();
  }
}
