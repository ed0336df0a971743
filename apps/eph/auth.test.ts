import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { installFakeKeychain } from './connection/keychain.fake.ts';
import { type FakeEphd, fakeEnvironment, sendError, startFakeEphd } from './ephd.fake.ts';
import { fakeAccount } from './ephd-access.fake.ts';
import { exitCodes } from './exit-codes.ts';
import { scriptAnswers } from './prompter.fake.ts';
import { eph, type Result, type SessionOptions } from './terminal.fake.ts';

const token = 'eph_header.claims.signature';
const person = 'https://id.example.com#4711';
let ephd: FakeEphd;
let home: string;
/** The PATH has no keychain. */
let variables: Readonly<Record<string, string>>;

beforeEach(async () => {
  ephd = await startFakeEphd();
  ephd.environments = [fakeEnvironment()];
  ephd.token = 'k'.repeat(43);
  ephd.access.accounts.set(token, fakeAccount());
  home = await mkdtemp(join(tmpdir(), 'eph-home-'));
  variables = { HOME: home, PATH: home };
});
afterEach(async () => {
  await ephd.close();
  await rm(home, { recursive: true, force: true });
});

const run = (args: readonly string[], options: SessionOptions = {}): Promise<Result> =>
  eph(args, { ...options, variables: { ...variables, ...options.variables } });

const login = (...more: readonly string[]): Promise<Result> =>
  run(['auth', 'login', '--with-token', '--server', ephd.address, ...more], { stdin: `${token}\n` });

const credentials = () => readdir(join(home, '.config', 'eph', 'credentials')).catch(() => []);
const ofTheServer = () => new URL(ephd.address).host;

describe('auth login', () => {
  it('stores a token that ephd accepts, and says who you are', async () => {
    expect((await run(['list', '--server', ephd.address])).code).toBe(exitCodes.signIn);
    const { code, out, err } = await login();
    expect(code).toBe(exitCodes.ok);
    expect(out).toContain(`You are signed in to ${ephd.address}.\n`);
    expect(out).toMatch(/^person +https:\/\/id\.example\.com#4711$/m);
    expect(out).toMatch(/^expires +2026-12-15T09:00:00Z$/m);
    expect(out).toMatch(/^projects +shop, shop-\*$/m);
    expect(out + err).not.toContain(token);
    expect(err).toContain('The token is in a file that only you can read. The keychain cannot be used: secret-tool is not');
    expect(await credentials()).toHaveLength(1);
    expect(await run(['list', '-q'])).toMatchObject({ code: exitCodes.ok, out: 'shop-serene-ocean-4207\n' });
  });

  it('asks for the token on a terminal', async () => {
    const prompter = scriptAnswers({ [`Token for ${ephd.address}`]: token });
    expect((await run(['auth', 'login', '--server', ephd.address], { prompter })).code).toBe(exitCodes.ok);
    expect(prompter.questions).toEqual([`Token for ${ephd.address}`]);
    expect((await run(['list'])).code).toBe(exitCodes.ok);
  });

  it('prefers the keychain, and leaves no file then', async () => {
    const keychain = await mkdtemp(join(home, 'keychain-'));
    await installFakeKeychain('secret-tool', keychain);
    await login();
    expect(await credentials()).toHaveLength(1);
    variables = { ...variables, PATH: `${keychain}${delimiter}${process.env['PATH']}` };
    const { out, err } = await login('--json');
    expect(JSON.parse(out)).toMatchObject({ profile: ofTheServer(), tokenIn: 'the keychain', account: { person } });
    expect(err).toBe('');
    expect(await credentials()).toEqual([]);
    expect((await run(['list'])).code).toBe(exitCodes.ok);
    expect((await run(['auth', 'logout'])).code).toBe(exitCodes.ok);
    expect(await readdir(join(keychain, 'items'))).toEqual([]);
  });

  it.each<[string, string, number, string]>([
    ['that ephd does not accept', 'eph_other', exitCodes.signIn, 'does not accept this token: the token was revoked'],
    ['of something else', 'ghp_0123456789', exitCodes.usage, 'That is not a token of Eph'],
    ['with a line break', 'eph_a\nx: y', exitCodes.usage, 'That is not a token of Eph'],
    ['that is empty', '', exitCodes.usage, 'That is not a token of Eph'],
  ])('stores no token %s', async (_, stdin, exitCode, sentence) => {
    ephd.access.refusal = 'the token was revoked; ask an admin for a new one';
    const { code, out, err } = await run(['auth', 'login', '--with-token', '--server', ephd.address], { stdin });
    expect({ code, out }).toEqual({ code: exitCode, out: '' });
    expect(err).toContain(sentence);
    expect(await readdir(home)).toEqual([]);
  });

  it('needs a terminal or --with-token', async () => {
    const { code, err } = await run(['auth', 'login', '--server', ephd.address]);
    expect(code).toBe(exitCodes.usage);
    expect(err).toContain('eph auth login --with-token < file');
  });

  it('sends nothing without TLS to another machine', async () => {
    const server = 'http://eph.example.com';
    const { code, err } = await run(['auth', 'login', '--with-token', '--server', server], { stdin: token });
    expect(code).toBe(exitCodes.usage);
    expect(err).toContain('eph sends tokens without TLS to loopback addresses only, and http://eph.example.com is not one.');
    expect((await run(['list', '--server', server], { variables: { EPH_TOKEN: token } })).err).toBe(err);
  });

  it('needs the server of a new profile', async () => {
    const { code, err } = await run(['auth', 'login', '--profile', 'work', '--with-token'], { stdin: token });
    expect(code).toBe(exitCodes.usage);
    expect(err).toContain('There is no profile "work" yet. Name its server with --server.');
    expect((await login('--profile', '../x')).err).toContain('A profile has a name of letters');
  });
});

describe('a token that is stored', () => {
  beforeEach(async () => void (await login('--profile', 'work')));

  it('is not sent after a redirect, nor to another port', async () => {
    const seen: unknown[] = [];
    const other = createServer((request, response) => {
      seen.push(request.headers.authorization);
      sendError(response, 401, 'api.unauthorized', 'no');
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void other.close());
    const location = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    ephd.instead = (_request, response) => response.writeHead(307, { location: `${location}/api/v1/environments` }).end();
    expect((await run(['list'])).err).toContain('is not ephd (status 307)');
    expect(seen).toEqual([]);
    expect((await run(['list', '--server', location])).code).toBe(exitCodes.signIn);
    expect(seen).toEqual([undefined]);
  });

  it('and that ephd does not accept any more gets a sentence with the profile', async () => {
    ephd.access.accounts.clear();
    ephd.access.refusal = 'the token was revoked; ask an admin for a new one';
    const { code, err } = await run(['list']);
    expect(code).toBe(exitCodes.signIn);
    expect(err).toBe(
      `eph: ephd at ${ephd.address} does not accept the token of profile work: the token was revoked; ` +
        'ask an admin for a new one. With a new token, sign in with `eph auth login --profile work`.\n',
    );
  });

  it('is printed for scripts, and nothing else', async () => {
    expect(await run(['auth', 'token'])).toEqual({ code: exitCodes.ok, out: `${token}\n`, err: '' });
    const { code, out, err } = await run(['auth', 'token', '--server', 'https://eph.example.com']);
    expect({ code, out }).toEqual({ code: exitCodes.signIn, out: '' });
    expect(err).toContain('You are not signed in to https://eph.example.com. Ask an admin for a token');
  });

  it('is removed by logout, with the profile', async () => {
    expect((await run(['auth', 'logout'])).out).toBe('Profile work and its token are removed from this machine.\n');
    expect(await credentials()).toEqual([]);
    expect(ephd.access.accounts.size).toBe(1);
    expect((await run(['auth', 'logout', '--server', ephd.address])).out).toBe(`No token is stored for ${ephd.address}.\n`);
    expect(JSON.parse(await readFile(join(home, '.config', 'eph', 'config.json'), 'utf8'))).toEqual({ profiles: {} });
  });

  it('is revoked by logout --revoke, and EPH_TOKEN is not', async () => {
    ephd.access.accounts.set('eph_ci', fakeAccount({ person: 'eph#ci' }));
    ephd.access.revocation = { missing: 'PostgreSQL does not answer' };
    const { code, err } = await run(['auth', 'logout', '--revoke'], { variables: { EPH_TOKEN: 'eph_ci' } });
    expect(code).toBe(exitCodes.ok);
    expect(err).toContain('repeated until they do: PostgreSQL does not answer');
    expect([...ephd.access.accounts.keys()]).toEqual(['eph_ci']);
  });

  it('stays where ephd cannot be asked to revoke it, and goes if it has ended already', async () => {
    const { address } = ephd;
    await ephd.close();
    expect((await run(['auth', 'logout', '--revoke'])).code).toBe(exitCodes.unreachable);
    expect(await credentials()).toHaveLength(1);
    ephd = await startFakeEphd(Number(new URL(address).port));
    ephd.token = 'k'.repeat(43);
    expect((await run(['auth', 'logout', '--revoke'])).code).toBe(exitCodes.ok);
    expect(await credentials()).toEqual([]);
  });
});

describe('auth status', () => {
  it('shows who you are, and all profiles', async () => {
    await login('--profile', 'ci');
    await login('--profile', 'work');
    const { code, out } = await run(['auth', 'status']);
    expect(code).toBe(exitCodes.ok);
    expect(out).toMatch(/^profile +work$/m);
    expect(out).toMatch(/^person +https:\/\/id\.example\.com#4711$/m);
    expect(out).toMatch(/^ +ci +http/m);
    expect(out).toMatch(/^\* +work +http/m);
    expect(out).not.toContain(token);
    expect((await run(['auth', 'switch', 'ci'])).out).toBe(`Profile ci is used from now on, for ${ephd.address}.\n`);
    expect((await run(['auth', 'status'])).out).toMatch(/^\* +ci +http/m);
    expect((await run(['auth', 'switch', 'nope'])).code).toBe(exitCodes.notFound);
  });

  it('has an exit code for who is not signed in', async () => {
    const { code, out } = await run(['auth', 'status', '--server', ephd.address]);
    expect(code).toBe(exitCodes.signIn);
    expect(out).toMatch(/^token +none$/m);
    expect(out).toContain('does not exist. Was it started by another user');
    const json = await run(['auth', 'status', '--server', ephd.address, '--json'], { variables: { EPH_TOKEN: 'eph_old' } });
    expect(json.code).toBe(exitCodes.signIn);
    expect(JSON.parse(json.out)).toMatchObject({ tokenFrom: 'EPH_TOKEN', account: null, profiles: [] });
  });

  it('names the administrator of the machine', async () => {
    ephd.token = undefined;
    expect((await run(['auth', 'status', '--server', ephd.address])).out).toContain('the administrator of the machine');
  });
});

describe('auth why', () => {
  beforeEach(async () => void (await login()));
  const asked = () => ephd.requests.findLast((one) => one.includes('/auth/why'));

  it.each([
    [['me', 'logs', 'preview/login'], 'permission=logs.read&environment=0123456789abcdef'],
    [['me', 'down', '--project', 'shop'], 'permission=environments.change&project=shop'],
    [['me', 'exec'], 'permission=environments.exec'],
    [[person, 'tokens.manage'], `person=${encodeURIComponent(person)}&permission=tokens.manage`],
  ])('%j asks %s', async (args, query) => {
    const { code, out } = await run(['auth', 'why', ...args]);
    expect(code).toBe(exitCodes.ok);
    expect(out).toMatch(/^https:\/\/id\.example\.com#4711 may use .*: ephd\.yaml:3 gives the role developer in project shop\.$/m);
    expect(asked()).toBe(`GET /api/v1/auth/why?${query}`);
  });

  it('ends with the code that the command would end with', async () => {
    ephd.access.decision = { person, allowed: false, because: 'no rule gives a role', faults: ['Git does not answer'] };
    const { code, out, err } = await run(['auth', 'why', 'me', 'down', 'shop']);
    expect(code).toBe(exitCodes.signIn);
    expect(out).toBe(`${person} may not use environments.change: no rule gives a role.\n`);
    expect(err).toContain('Git does not answer');
    ephd.instead = (_request, response) => sendError(response, 403, 'api.forbidden', 'you may not use environments.change');
    expect((await run(['down', 'shop'])).code).toBe(exitCodes.signIn);
  });

  it('suggests what was meant', async () => {
    expect(await run(['auth', 'why', 'me', 'dwon'])).toMatchObject({
      code: exitCodes.usage,
      err: 'eph: "dwon" is no action. Did you mean down?\n',
    });
    expect((await run(['auth', 'why', 'me', 'log.read'])).err).toContain('Did you mean logs.read?');
    expect((await run(['auth', 'why', 'me', '__proto__'])).err).toContain('Name a command such as down');
  });
});
