import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openConnection, type ServerOptions } from './connection.ts';
import { SignIns } from './sign-ins.ts';

let home: string;
let signIns: SignIns;
/** Without a keychain: this PATH has no programs. */
let variables: Readonly<Record<string, string>>;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'eph-home-'));
  variables = { HOME: home, PATH: home };
  signIns = new SignIns(variables);
});
afterEach(() => rm(home, { recursive: true, force: true }));

const config = () => join(home, '.config', 'eph', 'config.json');

const connect = async (options: ServerOptions = {}, more: Readonly<Record<string, string>> = {}) => {
  const connection = await openConnection(options, { ...variables, ...more });
  const { name, profile } = connection;
  return { name, profile, token: (await connection.readToken()).token };
};

const work = { name: 'https://work.example.com', profile: 'work', token: 'eph_work' };
const home2 = { name: 'https://home.example.com/eph', profile: 'home', token: 'eph_home' };

describe('the server and its token', () => {
  beforeEach(async () => {
    await signIns.store('work', new URL('https://work.example.com/'), 'eph_work');
    await signIns.store('home', new URL('https://ann:hunter22@home.example.com/eph/'), 'eph_home');
  });

  it.each<[string, ServerOptions, Record<string, string>, object]>([
    ['of the last login', {}, {}, home2],
    ['of --profile', { profile: 'work' }, {}, work],
    ['of EPH_PROFILE', {}, { EPH_PROFILE: 'work' }, work],
    ['of --profile rather than EPH_PROFILE', { profile: 'home' }, { EPH_PROFILE: 'work' }, home2],
    ['of --profile rather than EPH_SERVER', { profile: 'home' }, { EPH_SERVER: 'https://work.example.com' }, home2],
    ['of EPH_SERVER rather than EPH_PROFILE', {}, { EPH_SERVER: 'https://work.example.com', EPH_PROFILE: 'home' }, work],
    ['of --server', { server: 'https://work.example.com' }, { EPH_SERVER: 'https://home.example.com' }, work],
    ['of --server and its profile', { server: 'https://work.example.com', profile: 'work' }, {}, work],
  ])('are those %s', async (_, options, more, expected) => {
    expect(await connect(options, more)).toEqual(expected);
  });

  it.each([
    'https://work.example.com:8443',
    'https://work.example.com.evil.org',
    'https://evil.org/work.example.com',
    'https://work.example.com@evil.org',
    'https://other.example.com',
  ])('are not mixed: %s gets no token', async (server) => {
    expect(await connect({ server })).toMatchObject({ profile: undefined, token: undefined });
  });

  it('of a name that does not exist, or of another server, are refused', async () => {
    await expect(connect({ profile: 'wokr' })).rejects.toThrow('There is no profile "wokr". Did you mean work?');
    await expect(connect({}, { EPH_PROFILE: 'xyzzy' })).rejects.toThrow('`eph auth login` makes one');
    await expect(connect({ server: 'https://evil.org', profile: 'work' })).rejects.toThrow(
      'Profile work is for https://work.example.com, not for https://evil.org.',
    );
  });

  it('may come from EPH_TOKEN, which wins', async () => {
    expect(await connect({}, { EPH_TOKEN: 'eph_ci', EPH_PROFILE: 'home' })).toEqual({ ...home2, token: 'eph_ci' });
    expect(await connect({ profile: 'work' }, { EPH_TOKEN: 'eph_ci' })).toEqual({ ...work, token: 'eph_ci' });
    const server = 'https://ci.example.com';
    expect(await connect({ server }, { EPH_TOKEN: 'eph_ci' })).toMatchObject({ name: server, token: 'eph_ci' });
    await expect(connect({ server }, { EPH_TOKEN: 'a\nb' })).rejects.toThrow('EPH_TOKEN does not contain a token');
    await expect(connect({ server: 'http://ci.example.com' }, { EPH_TOKEN: 'eph_ci' })).rejects.toThrow(
      'loopback addresses only',
    );
  });

  it('in EPH_TOKEN is not sent to the profile in use, which may be of another server', async () => {
    await expect(connect({}, { EPH_TOKEN: 'eph_ci' })).rejects.toThrow(
      'Set EPH_SERVER too, for example to https://home.example.com/eph.',
    );
  });

  it('are of the profile that is in use, of two for the same server', async () => {
    await signIns.store('ci', new URL('https://work.example.com/'), 'eph_robot');
    const server = 'https://work.example.com';
    expect(await connect({ server })).toMatchObject({ profile: 'ci', token: 'eph_robot' });
    await signIns.use('home');
    expect(await connect({ server })).toEqual(work);
    expect(await connect({ server }, { EPH_PROFILE: 'ci' })).toMatchObject({ profile: 'ci', token: 'eph_robot' });
    await signIns.remove('ci');
    expect(await connect({ server })).toEqual(work);
  });

  it('are not in the configuration, where passwords are not either', async () => {
    const text = await readFile(config(), 'utf8');
    expect(text).not.toMatch(/eph_|hunter22/);
  });

  it.each([
    ['has a fault', async () => writeFile(config(), '{"profiles":{"a":1}}'), 'does not understand'],
    ['is not JSON', async () => writeFile(config(), '{'), 'does not understand'],
    ['can be written by others', async () => chmod(config(), 0o620), 'other users may use it'],
  ])('are unknown if the configuration %s', async (_, change, sentence) => {
    await change();
    await expect(connect()).rejects.toThrow(sentence);
  });
});

it('the default server gets EPH_TOKEN only if it is named', async () => {
  await expect(connect({}, { EPH_TOKEN: 'eph_ci' })).rejects.toThrow('Set EPH_SERVER too');
  expect(await connect({}, { EPH_TOKEN: 'eph_ci', EPH_SERVER: 'http://127.0.0.1:7070' })).toMatchObject({ token: 'eph_ci' });
  expect(await connect()).toEqual({ name: 'http://127.0.0.1:7070', profile: undefined, token: undefined });
});
