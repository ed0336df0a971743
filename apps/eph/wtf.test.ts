import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { createServer } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { describeWith } from '../../test/parts/describe-with.ts';
import { makeCertificate, openssl } from '../../test/parts/openssl.ts';
import { checkCertificate } from './diagnosis/address-checks.ts';
import type { Check } from './diagnosis/check.ts';
import { type FakeEphd, fakeEnvironment, fakeProject, fakeServer, sendError, startFakeEphd } from './ephd.fake.ts';
import { fakeAccount } from './ephd-access.fake.ts';
import { exitCodes } from './exit-codes.ts';
import { eph, type Result, type SessionOptions } from './terminal.fake.ts';

let ephd: FakeEphd;
beforeEach(async () => {
  ephd = await startFakeEphd();
  ephd.projects = [fakeProject()];
  ephd.environments = [fakeEnvironment({ url: 'http://localhost:7080' })];
});
afterEach(async () => ephd.close());

const ask = (args: readonly string[] = [], options: SessionOptions = {}): Promise<Result> =>
  eph(['wtf', ...args, '--server', ephd.address], options);

/** Whatever is not ok says what to do. */
const checksOf = async (...args: readonly string[]): Promise<readonly Check[]> => {
  const { checks } = JSON.parse((await ask([...args, '--json'])).out) as { checks: Check[] };
  for (const check of checks) if (check.state !== 'ok') expect(check.advice, check.message).toMatch(/\.$/);
  return checks;
};

const find = async (name: string, ...args: readonly string[]): Promise<readonly Check[]> =>
  (await checksOf(...args)).filter((one) => one.name === name);

const needEphd = [
  'clock',
  'token',
  'versions',
  'leadership',
  'readiness',
  'sandbox',
  'projects',
  'webhooks',
  'forge budget',
  'providers',
  'history',
  'DNS',
];

describe('wtf', () => {
  it('has one line for each check, and ends well where nothing is wrong', async () => {
    const { code, out, err } = await ask();
    expect({ code, err }).toStrictEqual({ code: exitCodes.ok, err: '' });
    expect(out).toMatch(/^What the eph\?\n\n/);
    const lines = out.trimEnd().split('\n').slice(2, -2);
    expect(lines.map((line) => line.slice(11, 23).trim())).toStrictEqual(['connection', ...needEphd, 'TLS']);
    for (const line of lines) expect(line).toMatch(/^ok /);
    expect(out.endsWith('\nAll is well.\n')).toBe(true);
  });

  it('helps when ephd does not run, and calls nothing ok that it could not check', async () => {
    await ephd.close();
    const { code, out } = await ask(['shop']);
    expect(code).toBe(exitCodes.failure);
    expect(out).toMatch(
      /^failing +connection +ephd does not answer at .*: nothing listens there\.\n +Start it with `npm run ephd/m,
    );
    expect(out.match(/^ok +\S+/gm)).toStrictEqual(['ok         TLS']);
    expect((await checksOf('shop')).filter(({ state }) => state === 'unknown').map(({ name }) => name)).toStrictEqual([
      ...needEphd,
      'environment',
    ]);
  });

  it('names a token that is refused, and what could not be checked for that reason', async () => {
    ephd.token = 'x'.repeat(43);
    const { code } = await ask();
    expect(code).toBe(exitCodes.failure);
    const checks = await checksOf();
    expect(checks.find(({ name }) => name === 'connection')?.state).toBe('ok');
    expect(checks.find(({ name }) => name === 'clock')?.state).toBe('ok');
    expect(checks.find(({ name }) => name === 'token')?.state).toBe('failing');
    for (const one of ['history', 'readiness', 'webhooks'])
      expect(checks.find(({ name }) => name === one)).toMatchObject({ state: 'unknown' });
  });

  it('says what is forbidden and goes on', async () => {
    ephd.instead = (request, response) => {
      if (request.url === '/healthz') response.setHeader('content-type', 'application/json').end('{"status":"ok"}');
      else sendError(response, 403, 'api.forbidden', 'your role does not allow this');
    };
    const checks = await checksOf();
    expect(checks.find(({ name }) => name === 'sandbox')).toMatchObject({
      state: 'unknown',
      message: 'not checked: your role does not allow this',
    });
  });

  it.each([
    ['Sun, 15 Nov 2026 09:05:04 GMT', 'ok'],
    ['Sun, 15 Nov 2026 09:06:00 GMT', 'attention'],
    ['Sun, 15 Nov 2026 08:00:00 GMT', 'failing'],
    ['noon', 'unknown'],
    ['', 'unknown'],
  ])('compares clocks: %j is %s', async (date, state) => {
    ephd.date = date;
    expect(await find('clock')).toMatchObject([{ state }]);
  });

  it.each([
    ['2026-11-20T00:00:00.000Z', 'attention'],
    ['2027-11-01T00:00:00.000Z', 'ok'],
  ])('warns of a token that expires soon: %s is %s', async (expiresAt, state) => {
    ephd.access.accounts.set('eph_ann', fakeAccount({ scope: 'read', expiresAt }));
    const { out } = await ask(['--json'], { variables: { EPH_TOKEN: 'eph_ann' } });
    const { checks } = JSON.parse(out) as { checks: Check[] };
    expect(checks.find(({ name }) => name === 'token')).toMatchObject({ state, message: expect.stringContaining('scope read') });
  });

  it('says what is wrong with ephd, and what to do', async () => {
    ephd.server = fakeServer({
      version: '2.0.0',
      leadership: { state: 'degraded', leading: true, message: 'the lease cannot be renewed' },
      waitsFor: 'a first complete reading of shop',
      history: { reachable: false, buffered: 3, lost: 0, lostAudit: 0, message: 'connection refused' },
      isolation: {
        process: { state: 'trusted', because: 'ephd runs as root' },
        other: { state: 'sandboxed', network: 'shared', lacks: { network: 'there is no passt' } },
      },
      away: { process: { code: 'provider.unreachable', message: 'its folder is gone' } },
      budgets: [
        { forge: 'work', account: 'acme', remaining: 0 },
        { forge: 'work', account: 'blog', remaining: 12 },
      ],
    });
    const checks = await checksOf();
    expect(checks.filter(({ state }) => state !== 'ok').map(({ name, state }) => `${name} ${state}`)).toStrictEqual([
      'versions attention',
      'leadership failing',
      'readiness attention',
      'sandbox attention',
      'sandbox attention',
      'forge budget failing',
      'forge budget attention',
      'providers failing',
      'history failing',
    ]);
  });

  it('names each project that cannot be read or has no webhooks', async () => {
    ephd.projects = [
      fakeProject(),
      fakeProject({ id: 'blog', faults: [{ code: 'forge.unreachable', message: 'no answer' }] }),
      fakeProject({ id: 'new', read: false }),
      fakeProject({ id: 'poll', webhooks: false, polling: 'Its repository is read every 30 s: no webhook of it has arrived.' }),
      fakeProject({ id: 'plain', forge: null, webhooks: false, polling: null }),
    ];
    expect((await find('projects')).map(({ state }) => state)).toStrictEqual(['ok', 'failing', 'attention']);
    expect(await find('webhooks')).toMatchObject([
      { state: 'ok' },
      { state: 'attention', message: expect.stringMatching(/^of poll .*30 s/) },
    ]);
    ephd.server = fakeServer({ budgets: [] });
    expect(await find('forge budget')).toMatchObject([{ state: 'unknown' }]);
    ephd.projects = [];
    expect(await find('projects')).toMatchObject([{ state: 'attention' }]);
    expect(await find('forge budget')).toStrictEqual([]);
  });

  it('resolves the host of an environment', async () => {
    ephd.environments = [fakeEnvironment({ url: 'http://shop.no-such-domain.invalid:7080' })];
    expect(await find('DNS')).toMatchObject([
      { state: 'failing', advice: 'Add a DNS record for *.no-such-domain.invalid that leads to the gateway of ephd.' },
    ]);
    ephd.environments = [];
    expect(await find('DNS')).toMatchObject([{ state: 'unknown' }]);
  });

  it('explains one environment, with its last warnings', async () => {
    const event = { id: '1', at: '2026-11-15T09:00:00Z', project: 'shop', environment: '0123456789abcdef', details: {} };
    ephd.events = { events: [{ ...event, type: 'outcome.failed', message: 'web exits with 1' }] };
    ephd.why = ['It is wanted.', 'It waits for web.'];
    ephd.environments = [fakeEnvironment({ phase: 'Failed', summary: 'web exits at once', url: 'http://localhost:7080' })];
    expect(await find('environment', 'shop')).toStrictEqual([
      {
        name: 'environment',
        state: 'failing',
        message: 'shop-serene-ocean-4207 is Failed: web exits at once',
        advice: 'It is wanted. It waits for web.',
      },
    ]);
    expect(await find('event', 'shop')).toMatchObject([{ message: '2026-11-15T09:00:00Z outcome.failed: web exits with 1' }]);
    expect(await find('environment', 'nobody')).toMatchObject([{ state: 'failing' }]);
    ephd.environments = [fakeEnvironment({ url: 'http://localhost:7080' })];
    expect(await find('environment', 'shop')).toMatchObject([{ state: 'ok' }]);
  });

  it('shows untrusted text as text', async () => {
    const evil = '\x1b]0;owned\x07\x9b2J\u202e\r\n';
    ephd.projects = [fakeProject({ id: evil, faults: [{ code: evil, message: evil }] })];
    ephd.server = fakeServer({ isolation: { [evil]: { state: 'trusted', because: evil } } });
    const { out } = await ask([], { isTTY: true, variables: { NO_COLOR: '1' } });
    expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
  });
});

describeWith(openssl, 'certificates', () => {
  /** A server that nobody but its certificate says anything about. */
  const startServer = async (days: number) => {
    const folder = await mkdtemp(join(tmpdir(), 'eph-tls-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    makeCertificate(folder, 'eph', days);
    const [key, cert] = [join(folder, 'eph.key'), join(folder, 'eph.pem')];
    const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (socket) => socket.end()).listen(
      0,
      '127.0.0.1',
    );
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    return { cert, url: `https://127.0.0.1:${(server.address() as AddressInfo).port}` };
  };

  const diagnose = async (url: string, authorities: string): Promise<readonly Check[]> => {
    const args = [join(import.meta.dirname, 'main.ts'), 'wtf', '--json', '--server', url];
    const child = spawn(process.execPath, args, {
      env: { PATH: process.env['PATH'], NODE_EXTRA_CA_CERTS: authorities },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return (JSON.parse(await text(child.stdout)) as { checks: Check[] }).checks;
  };

  it.each([
    [5, 'attention', 'expires at 20'],
    [30, 'ok', 'valid for 29 days'],
  ])('that are valid for %i days are %s', async (days, state, message) => {
    const { url, cert } = await startServer(days);
    const checks = await diagnose(url, cert);
    expect(checks.filter(({ name }) => name === 'TLS')).toMatchObject([{ state, message: expect.stringContaining(message) }]);
  });

  it('that are not valid are named where the connection fails for that reason', async () => {
    const { url } = await startServer(30);
    const checks = await diagnose(url, '');
    expect(checks.filter(({ state }) => state === 'failing').map(({ name }) => name)).toStrictEqual(['connection', 'TLS']);
  });

  it('matter only where something is sent over a network', async () => {
    expect((await checkCertificate('ephd', new URL('http://[::1]:7070'), 0)).state).toBe('ok');
    expect((await checkCertificate('ephd', new URL('http://ephd.example.com'), 0)).state).toBe('attention');
  });
});
