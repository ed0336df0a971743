import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectId } from '@eph/contract';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { makeCertificate, openssl } from '../../../test/parts/openssl.ts';
import { createTestRegistry, plain } from './registry-harness.fake.ts';
import type { RegistrySettings } from './registry-hosts.ts';
import { ociManifest, ScriptedRegistry } from './scripted-registry.fake.ts';

const { signal } = new AbortController();
const project = projectId('shop');
const password = 'a-long-registry-password';
const basic = `Basic ${btoa(`robot:${password}`)}`;
const login = { username: 'robot', password: { value: password } };

const notPublic = {
  code: 'registry.refused',
  message: expect.stringMatching(/ is not at a public address, .* under registries /),
};
const noTls = { code: 'registry.refused', message: expect.stringMatching(/ without TLS, .* plain_http under registries /) };

const startServer = async (): Promise<ScriptedRegistry> => {
  const server = await ScriptedRegistry.start();
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
};

/** Both listen on loopback, and are told apart by the names in `registries`. */
const start = async (registries: Readonly<Record<string, RegistrySettings>>) => {
  const registry = createTestRegistry({ registries: new Map(Object.entries(registries)) });
  onTestFinished(() => registry[Symbol.asyncDispose]());
  return (host: string, reference = 'v1') => registry.find({ project, repository: `${host}/acme/shop`, reference }, signal);
};

describe('a registry that nobody configured', () => {
  it.each([
    '127.0.0.1',
    '10.0.0.1',
    '169.254.169.254',
    '[::1]',
    '[fd00::1]',
    '[::ffff:127.0.0.1]',
    '0x7f.1',
    'localhost',
    '2130706433',
  ])('is not asked at %s', async (address) => {
    const find = await start({});
    const server = await startServer();
    await expect(find(`${address}:${server.port}`)).rejects.toMatchObject(notPublic);
    expect(server.requests).toEqual([]);
  });

  it('does not become one by an entry for another port', async () => {
    const [server, other] = [await startServer(), await startServer()];
    const find = await start({ [server.host]: plain });
    await expect(find(other.host)).rejects.toMatchObject(notPublic);
  });
});

describe('a redirect', () => {
  it('is followed on the same host, with credentials, and to a configured one, without', async () => {
    const [server, storage] = [await startServer(), await startServer()];
    const digest = storage.putImage({ os: 'linux' }, 'v1');
    server.script = ({ target, headers }) => {
      if (headers.authorization !== basic) return { status: 401, headers: { 'www-authenticate': 'Basic realm="x"' } };
      const there = target.startsWith('/moved') ? `http://localhost:${storage.port}/v2/acme/shop/manifests/v1` : '/moved';
      return { status: 307, headers: { location: there } };
    };
    const find = await start({ [server.host]: { ...plain, ...login }, [`localhost:${storage.port}`]: plain });
    expect(await find(server.host)).toEqual({ state: 'found', digest });
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([undefined, basic, basic]);
    expect(storage.requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });

  it('is followed to another port of the same host without credentials', async () => {
    const [server, storage] = [await startServer(), await startServer()];
    const digest = storage.putImage({ os: 'linux' }, 'v1');
    server.script = ({ headers, target }) =>
      headers.authorization === basic
        ? { status: 302, headers: { location: `http://${storage.host}${target}` } }
        : { status: 401, headers: { 'www-authenticate': 'Basic realm="x"' } };
    const find = await start({ [server.host]: { ...plain, ...login } });
    expect(await find(server.host)).toEqual({ state: 'found', digest });
    expect(storage.requests[0]?.headers.authorization).toBeUndefined();
  });

  it.each([
    ['https://localhost:1/x', notPublic],
    ['https://10.0.0.1/x', notPublic],
    ['https://[fe80::1]/x', notPublic],
    ['http://169.254.169.254/latest/meta-data/', noTls],
    ['http://example.com/x', noTls],
    ['file:///etc/passwd', noTls],
    ['https://user:password@example.com/', { code: 'registry.refused', message: expect.stringContaining('an invalid address') }],
    ['http://', { code: 'registry.refused', message: expect.stringContaining('an invalid address') }],
  ])('is not followed to %s', async (location, error) => {
    const server = await startServer();
    server.script = () => ({ status: 302, headers: { location } });
    const find = await start({ [server.host]: plain });
    await expect(find(server.host)).rejects.toMatchObject(error);
    expect(server.requests).toHaveLength(1);
  });

  it('without an address is refused', async () => {
    const server = await startServer();
    server.script = () => ({ status: 302 });
    const find = await start({ [server.host]: plain });
    await expect(find(server.host)).rejects.toMatchObject({ code: 'registry.refused' });
  });

  it('that leads in a circle comes to an end', async () => {
    const server = await startServer();
    server.script = ({ target }) => ({ status: 301, headers: { location: target } });
    const find = await start({ [server.host]: plain });
    await expect(find(server.host)).rejects.toMatchObject({
      code: 'registry.refused',
      message: expect.stringContaining('again and again'),
    });
    expect(server.requests).toHaveLength(6);
  });

  it.each([401, 403])('to a host that refuses is tried again later, and gives it no credentials: %i', async (status) => {
    const [server, storage] = [await startServer(), await startServer()];
    server.script = ({ target }) => ({ status: 302, headers: { location: `http://localhost:${storage.port}${target}` } });
    storage.script = () => ({ status, headers: { 'www-authenticate': 'Basic realm="x"' } });
    const find = await start({ [server.host]: { ...plain, ...login }, [`localhost:${storage.port}`]: plain });
    await expect(find(server.host)).rejects.toMatchObject({ code: 'registry.unreachable' });
    expect(storage.requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });
});

describe('a token server on another host', () => {
  const ask = (server: ScriptedRegistry, realm: string) => {
    server.script = (request) =>
      request.headers.authorization === 'Bearer tkn'
        ? server.serve(request)
        : { status: 401, headers: { 'www-authenticate': `Bearer realm="${realm}"` } };
  };

  it('gets the credentials of the registry, as Docker does it, where it is configured', async () => {
    const [server, tokens] = [await startServer(), await startServer()];
    const digest = server.putImage({ os: 'linux' }, 'v1');
    ask(server, `http://localhost:${tokens.port}/token`);
    tokens.script = () => ({ body: { token: 'tkn' } });
    const find = await start({ [server.host]: { ...plain, ...login }, [`localhost:${tokens.port}`]: plain });
    expect(await find(server.host)).toEqual({ state: 'found', digest });
    expect(tokens.requests.map(({ headers }) => headers.authorization)).toEqual([basic]);
  });

  it('does not pass credentials on by a redirect', async () => {
    const [server, tokens, thief] = [await startServer(), await startServer(), await startServer()];
    server.putImage({ os: 'linux' }, 'v1');
    ask(server, `http://localhost:${tokens.port}/token`);
    tokens.script = () => ({ status: 302, headers: { location: `http://127.0.0.1:${thief.port}/token` } });
    thief.script = () => ({ body: { token: 'tkn' } });
    const find = await start({ [server.host]: { ...plain, ...login }, [`localhost:${tokens.port}`]: plain });
    await find(server.host);
    expect(thief.requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });

  it.each([
    ['https://localhost:1/token', notPublic],
    ['https://10.0.0.1/token', notPublic],
    ['http://localhost:1/token', noTls],
    ['http://169.254.169.254/latest/api/token', noTls],
  ])('is not asked at %s, where nobody configured it', async (realm, error) => {
    const server = await startServer();
    ask(server, realm);
    const find = await start({ [server.host]: { ...plain, ...login } });
    await expect(find(server.host)).rejects.toMatchObject(error);
  });
});

describeWith(openssl, 'a registry with TLS', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'eph-registry-tls-'));
    for (const name of ['one', 'other']) makeCertificate(folder, name);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const read = (file: string): string => readFileSync(join(folder, file), 'utf8');

  const startTls = async (): Promise<ScriptedRegistry> => {
    const server = await ScriptedRegistry.start({ cert: read('one.pem'), key: read('one.key') });
    onTestFinished(() => server[Symbol.asyncDispose]());
    return server;
  };

  const secure = { ...plain, plainHttp: false };

  it('is trusted by the authority that the operator names', async () => {
    const server = await startTls();
    const digest = server.putImage({ os: 'linux' }, 'v1');
    const find = await start({ [server.host]: { ...secure, ca: read('one.pem') } });
    expect(await find(server.host)).toEqual({ state: 'found', digest });
  });

  it.each([
    ['a wrong name', 'localhost', 'one.pem', 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['another authority', '127.0.0.1', 'other.pem', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['no authority', '127.0.0.1', undefined, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ])('is refused with %s', async (_, hostname, ca, code) => {
    const server = await startTls();
    const host = `${hostname}:${server.port}`;
    const find = await start({ [host]: { ...secure, ca: ca && read(ca) } });
    await expect(find(host)).rejects.toMatchObject({
      code: 'registry.refused',
      message: `ephd does not trust the certificate of ${host} (${code}). An operator can name who signed it with ca under registries in the file of ephd.`,
    });
    expect(server.requests).toEqual([]);
  });

  it('does not lead to one without TLS, unless the operator allows it', async () => {
    const [server, storage] = [await startTls(), await startServer()];
    server.script = ({ target }) => ({ status: 302, headers: { location: `http://127.0.0.1:${storage.port}${target}` } });
    const find = await start({ [server.host]: { ...secure, ca: read('one.pem') } });
    await expect(find(server.host)).rejects.toMatchObject(noTls);
    expect(storage.requests).toEqual([]);
  });

  it('that speaks plain HTTP is refused, with what to do', async () => {
    const server = await startServer();
    server.putManifest({}, ociManifest, 'v1');
    const find = await start({ [server.host]: secure });
    await expect(find(server.host)).rejects.toMatchObject({
      code: 'registry.refused',
      message: `${server.host} does not speak TLS. An operator can allow that with plain_http under registries in the file of ephd.`,
    });
  });
});
