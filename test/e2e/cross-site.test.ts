import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, request, type Server } from 'node:http';
import { createServer as createTlsServer, request as requestTls } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { type EnvironmentView, eventListSchema, routes, tokenProtocol } from '@eph/contract';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { chromium } from '../parts/chromium.ts';
import { describeWith } from '../parts/describe-with.ts';
import { makeCertificate, openssl } from '../parts/openssl.ts';
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

/** An ephd, and an environment that serves the page. */
interface Attacked {
  readonly harness: EphdHarness;
  readonly environment: EnvironmentView;
}

const startAttacked = async (harness: EphdHarness, args: readonly string[] = []): Promise<Attacked> => {
  await harness.start({ args });
  const services = { web: { command: [process.execPath, 'serve.mjs'] } };
  const commit = await harness.repository.push('preview/page', app(services, files));
  return { harness, environment: await harness.untilReady('preview/page', commit) };
};

/** Opens the page at `origin` and returns what it found out about the API at `target`. */
const open = async (
  { harness, environment }: Attacked,
  origin: string,
  target: string,
): Promise<Readonly<Record<string, string>>> => {
  const token = harness.authorization().authorization?.replace('Bearer ', '') ?? '';
  const query = new URLSearchParams({ target, environment: environment.id, token, protocol: tokenProtocol });
  const finding = chromium.find();
  const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'];
  const names = '--host-resolver-rules=MAP evil.example 127.0.0.2, MAP *.example.test 127.0.0.1';
  const places = [`--user-data-dir=${join(harness.folder, 'browser')}`, names, '--ignore-certificate-errors'];
  const browser = spawn(finding.found ? finding.where : '', [...flags, ...places, `${origin}/?${query.toString()}`], {
    env: { PATH: process.env['PATH'], HOME: harness.folder },
    stdio: 'ignore',
  });
  try {
    const read = async (): Promise<string> => {
      const { protocol, hostname, port } = new URL(origin);
      const host = hostname === 'evil.example' ? '127.0.0.2' : '127.0.0.1';
      const options = { host, port, path: '/report', headers: { host: `${hostname}:${port}` } };
      const asking = protocol === 'https:' ? requestTls({ ...options, rejectUnauthorized: false }) : request(options);
      const [answer] = (await once(asking.end(), 'response')) as [AsyncIterable<Buffer>];
      return Buffer.concat(await Array.fromAsync(answer)).toString();
    };
    const report = await eventually('the page has reported', async () => (await read()) || undefined, 90);
    return JSON.parse(report) as Record<string, string>;
  } finally {
    browser.kill();
    await once(browser, 'exit');
  }
};

const readAudit = async ({ harness }: Attacked) => (await harness.read('/api/v1/audit?limit=1000', eventListSchema)).events;

const otherSite = 'ephd does not answer requests from other sites';

/** The page was refused everything, and because of its site: it has a valid token. */
const expectNothing = async (
  attacked: Attacked,
  found: Readonly<Record<string, string>>,
  before: number,
  because: string,
): Promise<void> => {
  expect(Object.keys(found).length).toBeGreaterThan(30);
  for (const [name, outcome] of Object.entries(found)) {
    const isHarmless = ['error', 'opaque', 'unreadable'].includes(outcome) || outcome.includes('"code":"api.forbidden"');
    expect(isHarmless, `${name}: ${outcome}`).toBe(true);
  }
  const audit = (await readAudit(attacked)).slice(before);
  const of = (detail: string): ReadonlySet<unknown> => new Set(audit.map(({ details }) => details[detail]));
  expect(new Set(audit.map(({ type }) => type))).toEqual(new Set(['audit.refused']));
  expect(of('how')).toEqual(new Set(['none']));
  expect(of('reason')).toEqual(new Set([expect.stringContaining(because)]));
  expect(audit.length).toBeGreaterThan(10);
  // Browsers send no `Origin` with these.
  for (const route of [routes.readHealth, routes.readOpenApi]) expect(of('route')).toContain(route.path);
  const { harness, environment } = attacked;
  const { phase, commit } = await harness.environment(environment.id);
  expect([phase, commit]).toEqual(['Ready', environment.commit]);
};

/** Passes requests and upgrades on to a port of this machine, as they are. */
const proxyTo = (
  portOf: (host: string, path: string) => number,
): { listener: RequestListener; follow: (server: Server) => void } => ({
  listener: (incoming, response) => {
    const { url: path = '', method, headers } = incoming;
    const port = portOf(headers.host ?? '', path);
    const passed = request({ host: '127.0.0.1', port, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(passed.on('error', () => response.destroy()));
  },
  follow: (server) =>
    server.on('upgrade', (incoming, socket) => {
      const lines = incoming.rawHeaders.map((text, index) => (index % 2 === 0 ? `${text}: ` : `${text}\r\n`));
      const passed = connect(portOf(incoming.headers.host ?? '', incoming.url ?? ''), '127.0.0.1');
      passed.write(`${incoming.method} ${incoming.url} HTTP/1.1\r\n${lines.join('')}\r\n`);
      passed.pipe(socket).pipe(passed);
    }),
});

/** The pages have the token of ephd, which no page can get: even with it, they must achieve nothing. */
describeWith(chromium, 'a page in a browser', () => {
  let attacked: Attacked;
  beforeAll(async () => {
    attacked = await startAttacked(await EphdHarness.create());
  });
  afterAll(() => attacked.harness[Symbol.asyncDispose]());

  /** The page on a port of its own, in no environment. */
  const startPage = async (): Promise<number> => {
    const { folder } = attacked.harness;
    const port = await reservePort();
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
    const page = spawn(process.execPath, ['serve.mjs'], { cwd: folder, env: { PORT: String(port) }, stdio: 'ignore' });
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
    const { apiPort } = attacked.harness;
    const { listener, follow } = proxyTo((_, path) => (path.startsWith('/?') || path === '/report' ? page : apiPort));
    const server = createServer(listener);
    follow(server);
    await once(server.listen(apiPort, '127.0.0.2'), 'listening');
    onTestFinished(() => server.close().closeAllConnections());
  };

  it.each(['127.0.0.1', 'localhost'])(
    'of an environment gets nothing from the API at %s, and changes nothing',
    async (host) => {
      const { harness, environment } = attacked;
      const before = (await readAudit(attacked)).length;
      const origin = `http://${environment.name}.localhost:${harness.gatewayPort}`;
      const found = await open(attacked, origin, `http://${host}:${harness.apiPort}`);
      await expectNothing(attacked, found, before, otherSite);
    },
    120_000,
  );

  it('on another port of this machine gets nothing either', async () => {
    const before = (await readAudit(attacked)).length;
    const port = await startPage();
    const found = await open(attacked, `http://127.0.0.1:${port}`, `http://127.0.0.1:${attacked.harness.apiPort}`);
    await expectNothing(attacked, found, before, otherSite);
  }, 120_000);

  it('whose name leads to ephd gets nothing either, although it has the same origin', async () => {
    const before = (await readAudit(attacked)).length;
    await startRebinding();
    const origin = `http://evil.example:${attacked.harness.apiPort}`;
    const found = await open(attacked, origin, origin);
    const refusal = 'ephd answers only requests to';
    await expectNothing(attacked, found, before, refusal);
    expect(Object.values(found).filter((outcome) => outcome.includes(refusal)).length).toBeGreaterThan(20);
  }, 120_000);
});

describeWith(openssl, 'ephd and its environments under one domain', () => {
  describeWith(chromium, 'a page of an environment', () => {
    it('gets nothing either, although it is same-site', { timeout: 150_000 }, async () => {
      await using harness = await EphdHarness.create();
      makeCertificate(harness.folder, 'domain');
      const [cert, key] = ['pem', 'key'].map((end) => readFileSync(join(harness.folder, `domain.${end}`)));
      const sites = new Set<unknown>();
      const isApi = (host: string): boolean => host.startsWith('eph.');
      const { listener, follow } = proxyTo((host) => (isApi(host) ? harness.apiPort : harness.gatewayPort));
      const server = createTlsServer({ cert, key }, (incoming, response) => {
        if (isApi(incoming.headers.host ?? '')) sites.add(incoming.headers['sec-fetch-site']);
        listener(incoming, response);
      });
      follow(server);
      await once(server.listen(0, '127.0.0.1'), 'listening');
      onTestFinished(() => server.close().closeAllConnections());
      const { port } = server.address() as AddressInfo;
      const api = `https://eph.example.test:${port}`;
      const config = join(harness.folder, 'ephd.yaml');
      writeFileSync(config, JSON.stringify({ api: { url: api }, gateway: { domain: 'example.test' } }));
      const attacked = await startAttacked(harness, ['--config', config]);

      const before = (await readAudit(attacked)).length;
      const found = await open(attacked, `https://${attacked.environment.name}.example.test:${port}`, api);
      await expectNothing(attacked, found, before, otherSite);
      expect(sites).toEqual(new Set(['same-site']));
    });
  });
});
