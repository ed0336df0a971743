import { once } from 'node:events';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type EnvironmentView, sessionCodeSchema } from '@eph/contract';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { OrdinaryUser } from '../parts/ordinary-user.ts';
import { EphdHarness } from './ephd-harness.ts';
import { type Outcome, runEph } from './run-eph.ts';
import { app, oneService, spec } from './sample-app.ts';
import { type Files, SampleRepository } from './sample-repository.ts';

vi.setConfig({ testTimeout: 120_000 });

const person = 'https://id.example.com#4711';
const newsApp: Files = { ...app(), 'eph.yaml': spec(oneService, { name: 'news' }) };

describe('people with tokens', () => {
  let harness: EphdHarness;
  let shop: EnvironmentView;
  let news: EnvironmentView;

  beforeAll(async () => {
    harness = await EphdHarness.create();
    const repository = await SampleRepository.create(harness.folder, 'news');
    const config = join(harness.folder, 'ephd.yaml');
    await writeFile(
      config,
      JSON.stringify(
        {
          access: { rules: [{ who: { person }, role: 'viewer', projects: ['shop'] }] },
          projects: [
            { name: 'shop', trusted: true, location: 'shop.git' },
            { name: 'news', trusted: true, location: 'news.git' },
          ],
        },
        null,
        2,
      ),
    );
    await harness.start({ projects: [], args: ['--config', config] });
    shop = await harness.untilReady('preview/one', await harness.repository.push('preview/one', app()));
    news = await harness.untilReady('preview/two', await repository.push('preview/two', newsApp));
  });
  afterAll(() => harness[Symbol.asyncDispose]());

  const admin = (...args: readonly string[]): Promise<Outcome> => runEph(harness, args);

  /** Somebody on another machine, as far as files go: nothing of the administrator's home is here. */
  const openHome = async (name: string): Promise<(args: readonly string[], input?: string) => Promise<Outcome>> => {
    const home = join(harness.folder, name);
    await mkdir(home);
    const variables = { HOME: home, XDG_STATE_HOME: '', EPH_SERVER: '' };
    return (args, input) => runEph(harness, args, undefined, variables, input);
  };
  const server = () => `http://127.0.0.1:${harness.apiPort}`;

  it('see what a rule gives them, until the token is revoked', async () => {
    const made = await admin('tokens', 'create', '--person', person, '--scope', 'write', '--for', '1h');
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^eph_\S+\n$/) });
    expect(made.err).not.toContain('eph_');
    const [, id = ''] = /Token (\S+) is for/.exec(made.err) ?? [];
    const eph = await openHome('ann');

    const login = await eph(['auth', 'login', '--with-token', '--profile', 'work', '--server', server()], made.out);
    expect(login).toMatchObject({ code: 0, out: expect.stringContaining(person) });
    expect(await eph(['list', '--quiet'])).toEqual({ code: 0, out: `${shop.name}\n`, err: '' });
    expect(await eph(['status', news.name])).toMatchObject({ code: 3, out: '' });
    expect(await eph(['down', shop.name])).toMatchObject({ code: 8, err: expect.stringContaining('environments.change') });
    expect(await eph(['tokens', 'list'])).toMatchObject({ code: 8, err: expect.stringContaining('tokens.manage') });

    const why = await eph(['auth', 'why', 'me', 'list', shop.name]);
    expect(why).toMatchObject({
      code: 0,
      out: expect.stringMatching(/may use environments\.read: ephd\.yaml:\d+ gives the role/),
    });
    expect(await eph(['auth', 'why', 'me', 'down', shop.name])).toMatchObject({
      code: 8,
      out: expect.stringContaining('may not use environments.change'),
    });
    // The same as for one that does not exist.
    expect(await eph(['auth', 'why', 'me', 'list', news.name])).toEqual({
      code: 3,
      out: '',
      err: (await eph(['auth', 'why', 'me', 'list', 'news-absent'])).err.replace('news-absent', news.name),
    });
    expect(await eph(['auth', 'why', 'eph#somebody', 'list'])).toMatchObject({ code: 8, err: expect.stringContaining('admin') });
    expect(await admin('auth', 'why', person, 'logs', shop.name)).toMatchObject({
      code: 8,
      out: expect.stringContaining(`${person} may not use logs.read`),
    });

    expect((await admin('tokens', 'list')).out).toMatch(new RegExp(`^${id} .* valid$`, 'm'));
    expect(await admin('tokens', 'revoke', id)).toMatchObject({ code: 0, out: 'Revoked.\n' });
    expect((await admin('tokens', 'list')).out).toMatch(new RegExp(`^${id} .* revoked$`, 'm'));
    const { code, out, err } = await eph(['list']);
    expect({ code, out }).toEqual({ code: 8, out: '' });
    expect(err).toContain(`does not accept the token of profile work: the token was revoked; ask an admin for a new one.`);
    expect((await eph(['auth', 'status'])).code).toBe(8);

    const exported = await admin('audit', '--export');
    const events = exported.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; message: string; details: Record<string, unknown> });
    expect(events.map(({ details }) => details['revokedId']).filter(Boolean)).toEqual([id]);
    expect(events.some(({ type, details }) => type === 'audit.refused' && details['person'] === person)).toBe(true);
    expect(exported.out).not.toContain(made.out.trim());
  });

  it('end their own token', async () => {
    const { out: token } = await admin('tokens', 'create', '--person', person, '--quiet');
    const eph = await openHome('bob');
    await eph(['auth', 'login', '--with-token', '--server', server()], token);
    expect(await eph(['auth', 'token'])).toEqual({ code: 0, out: token, err: '' });
    expect(await eph(['auth', 'logout', '--revoke'])).toMatchObject({ code: 0, err: 'Revoked.\n' });
    expect(await eph(['auth', 'login', '--with-token', '--server', server()], token)).toMatchObject({
      code: 8,
      err: expect.stringContaining('does not accept this token: the token was revoked'),
    });
  });

  it('get a link for a browser that counts once', async () => {
    const { code, out } = await admin('dashboard');
    expect(code).toBe(0);
    const [, sessionCode = ''] = /^http:\/\/127\.0\.0\.1:\d+\/#code=(\S+)\n$/.exec(out) ?? [];
    const signIn = async (): Promise<number> =>
      (
        await harness.anonymousApi('/api/v1/auth/login', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ code: sessionCode }),
        })
      ).status;
    expect(await signIn()).toBe(201);
    expect(await signIn()).toBe(401);
  });

  it('make no link that outlives their token', async () => {
    const made = await admin('tokens', 'create', '--person', person);
    const [, id = ''] = /Token (\S+) is for/.exec(made.err) ?? [];
    const headers = { authorization: `Bearer ${made.out.trim()}`, 'content-type': 'application/json' };
    const { body } = await harness.anonymousApi('/api/v1/auth/codes', { method: 'POST', headers });
    const { code } = sessionCodeSchema.parse(JSON.parse(body));
    await admin('tokens', 'revoke', id);
    const before = await admin('audit', '--export');
    const login = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ code }) };
    expect(await harness.anonymousApi('/api/v1/auth/login', login)).toMatchObject({
      status: 401,
      body: expect.stringContaining('the token was revoked'),
    });
    const after = await admin('audit', '--export');
    const events = after.out.slice(before.out.length).trim().split('\n');
    expect(events.map((line) => JSON.parse(line))).toMatchObject([{ type: 'audit.refused', details: { person, tokenId: id } }]);
  });

  it('keep their token from a server that redirects, and from one without TLS', async () => {
    const { out: token } = await admin('tokens', 'create', '--person', person, '--quiet');
    const seen: (string | undefined)[] = [];
    const thief = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.end();
    }).listen(0, '127.0.0.1');
    await once(thief, 'listening');
    onTestFinished(() => void thief.close());
    const location = `http://127.0.0.1:${(thief.address() as AddressInfo).port}/`;
    const redirecting = createServer((_request, response) => response.writeHead(308, { location }).end()).listen(0, '127.0.0.1');
    await once(redirecting, 'listening');
    onTestFinished(() => void redirecting.close());
    const eph = await openHome('eve');
    const first = `http://127.0.0.1:${(redirecting.address() as AddressInfo).port}`;
    expect(await eph(['auth', 'login', '--with-token', '--server', first], token)).toMatchObject({
      code: 4,
      err: expect.stringContaining('is not ephd (status 308)'),
    });
    await eph(['auth', 'login', '--with-token', '--server', server()], token);
    expect((await eph(['list', '--server', location])).code).toBe(4);
    expect(seen).toEqual([undefined]);
    expect(await eph(['list', '--server', 'http://eph.invalid:7070'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('eph sends tokens without TLS to loopback addresses only'),
    });
  });

  it.skipIf(process.getuid?.() !== 0)('are not other users of the machine', async () => {
    using user = new OrdinaryUser();
    const list = async (): Promise<Outcome> => {
      const env = { XDG_STATE_HOME: harness.stateFolder, EPH_SERVER: server() };
      const child = user.spawn([user.node, 'apps/eph/main.ts', 'list'], env);
      if (child.stdout === null || child.stderr === null) throw new Error('it has no output');
      const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
      return { code: child.exitCode ?? -1, out, err };
    };
    const file = join(harness.stateFolder, 'eph', `token-${harness.apiPort}`);
    expect(await readFile(file, 'utf8')).toMatch(/^\S{43}\n$/);
    // Also where the folders around it are open.
    for (const folder of [harness.folder, harness.stateFolder, join(harness.stateFolder, 'eph')]) await chmod(folder, 0o755);
    const { code, out, err } = await list();
    expect({ code, out }).toEqual({ code: 8, out: '' });
    expect(err).toContain(`${file} may not be read by this user. Was it started by another user`);
    expect(err).toContain(`sign in with \`eph auth login --server ${server()}\``);
  });
});
