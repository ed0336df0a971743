import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type EnvironmentView, eventListSchema, tokenProtocol } from '@eph/contract';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { chromium } from '../parts/chromium.ts';
import { describeWith } from '../parts/describe-with.ts';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { reservePort } from './reserved-ports.ts';
import { app } from './sample-app.ts';

/** Serves the page, and what the page found out, once. */
const serve = `
  import { readFileSync } from 'node:fs';
  import { createServer } from 'node:http';
  import { text } from 'node:stream/consumers';
  let report = '';
  createServer(async (request, response) => {
    if (request.method === 'POST') report = await text(request);
    const isPage = request.url.startsWith('/?');
    response.setHeader('content-type', isPage ? 'text/html' : 'application/json');
    response.end(isPage ? readFileSync('page.html') : report);
    if (request.method === 'GET') report = '';
  }).listen(Number(process.env.PORT), '127.0.0.1');
`;
const files = {
  'serve.mjs': serve,
  'page.html': readFileSync(join(import.meta.dirname, 'attacking-page.html'), 'utf8'),
};

/** The pages have the token of ephd, which no page can get: even with it, they must achieve nothing. */
describeWith(chromium, 'a page in a browser', () => {
  let harness: EphdHarness;
  let environment: EnvironmentView;
  beforeAll(async () => {
    harness = await EphdHarness.create();
    await harness.start();
    const services = { web: { command: [process.execPath, 'serve.mjs'] } };
    environment = await harness.untilReady('preview/page', await harness.repository.push('preview/page', app(services, files)));
  });
  afterAll(() => harness[Symbol.asyncDispose]());

  /** Opens the page at `origin` and returns what it found out about the API at `target`. */
  const open = async (origin: string, target: string): Promise<Readonly<Record<string, string>>> => {
    const token = harness.authorization().authorization?.replace('Bearer ', '') ?? '';
    const query = new URLSearchParams({ target, environment: environment.id, token, protocol: tokenProtocol });
    const finding = chromium.find();
    const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'];
    const places = [`--user-data-dir=${join(harness.folder, 'browser')}`, '--host-resolver-rules=MAP evil.example 127.0.0.2'];
    const browser = spawn(finding.found ? finding.where : '', [...flags, ...places, `${origin}/?${query.toString()}`], {
      env: { PATH: process.env['PATH'], HOME: harness.folder },
      stdio: 'ignore',
    });
    try {
      const read = async (): Promise<string> => {
        const { hostname, port } = new URL(origin);
        const address = hostname === 'evil.example' ? '127.0.0.2' : '127.0.0.1';
        const asking = request({ host: address, port, path: '/report', headers: { host: `${hostname}:${port}` } }).end();
        const [answer] = (await once(asking, 'response')) as [AsyncIterable<Buffer>];
        return Buffer.concat(await Array.fromAsync(answer)).toString();
      };
      const report = await eventually('the page has reported', async () => (await read()) || undefined, 90);
      return JSON.parse(report) as Record<string, string>;
    } finally {
      browser.kill();
      await once(browser, 'exit');
    }
  };

  /** The page on a port of its own, in no environment. */
  const startPage = async (): Promise<number> => {
    const port = await reservePort();
    for (const [name, content] of Object.entries(files)) writeFileSync(join(harness.folder, name), content);
    const page = spawn(process.execPath, ['serve.mjs'], { cwd: harness.folder, env: { PORT: String(port) }, stdio: 'ignore' });
    onTestFinished(async () => {
      page.kill();
      await once(page, 'exit');
    });
    const isUp = () =>
      fetch(`http://127.0.0.1:${port}/report`)
        .then(({ ok }) => ok)
        .catch(() => false);
    await eventually('the page is served', isUp);
    return port;
  };

  /**
   * What a name does that leads to the attacker first and to ephd then: one origin for the browser. It has the port of ephd on another
   * address, and passes on everything but the page.
   */
  const startRebinding = async (): Promise<void> => {
    const page = await startPage();
    const server = createServer((incoming, response) => {
      const { url: path = '', method, headers } = incoming;
      const port = path.startsWith('/?') || path === '/report' ? page : harness.apiPort;
      const passed = request({ host: '127.0.0.1', port, path, method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      incoming.pipe(passed.on('error', () => response.destroy()));
    });
    server.on('upgrade', (incoming, socket) => {
      const lines = incoming.rawHeaders.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`));
      const passed = connect(harness.apiPort, '127.0.0.1');
      passed.write(`${incoming.method} ${incoming.url} HTTP/1.1\r\n${lines.join('')}\r\n`);
      passed.pipe(socket).pipe(passed);
    });
    await once(server.listen(harness.apiPort, '127.0.0.2'), 'listening');
    onTestFinished(() => server.close().closeAllConnections());
  };

  const readAudit = async () => (await harness.read('/api/v1/audit?limit=1000', eventListSchema)).events;

  const expectNothing = async (found: Readonly<Record<string, string>>, before: number): Promise<void> => {
    expect(Object.keys(found).length).toBeGreaterThan(30);
    for (const [name, outcome] of Object.entries(found)) {
      const isHarmless = ['error', 'opaque', 'unreadable'].includes(outcome) || outcome.includes('"code":"api.forbidden"');
      expect(isHarmless, `${name}: ${outcome}`).toBe(true);
    }
    const audit = (await readAudit()).slice(before);
    expect(new Set(audit.map(({ type }) => type))).toEqual(new Set(['audit.refused']));
    expect(new Set(audit.map(({ details }) => details['how']))).toEqual(new Set(['none']));
    expect(audit.length).toBeGreaterThan(10);
    const { phase, commit } = await harness.environment(environment.id);
    expect([phase, commit]).toEqual(['Ready', environment.commit]);
  };

  it.each(['127.0.0.1', 'localhost'])(
    'of an environment gets nothing from the API at %s, and changes nothing',
    async (host) => {
      const before = (await readAudit()).length;
      const origin = `http://${environment.name}.localhost:${harness.gatewayPort}`;
      await expectNothing(await open(origin, `http://${host}:${harness.apiPort}`), before);
    },
    120_000,
  );

  it('on another port of this machine gets nothing either', async () => {
    const before = (await readAudit()).length;
    const port = await startPage();
    await expectNothing(await open(`http://127.0.0.1:${port}`, `http://127.0.0.1:${harness.apiPort}`), before);
  }, 120_000);

  it('whose name leads to ephd gets nothing either, although it has the same origin', async () => {
    const before = (await readAudit()).length;
    await startRebinding();
    const origin = `http://evil.example:${harness.apiPort}`;
    const found = await open(origin, origin);
    await expectNothing(found, before);
    expect(Object.values(found).filter((outcome) => outcome.includes('ephd answers only requests to')).length).toBeGreaterThan(
      20,
    );
  }, 120_000);
});
