import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Log, projectId, redact } from '@eph/contract';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { ManualClock } from '../../engine/time/clock.fake.ts';
import { openDockerConfig } from './docker-config.ts';
import type { OciRegistryOptions } from './oci-registry.ts';
import { createTestRegistry, plain } from './registry-harness.fake.ts';
import type { RegistrySettings } from './registry-hosts.ts';
import { ScriptedRegistry } from './scripted-registry.fake.ts';

const { signal } = new AbortController();
const shop = projectId('shop');
const blog = projectId('blog');

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'eph-docker-config-'));
  return () => rmSync(folder, { recursive: true, force: true });
});

const warnings: object[] = [];
const log: Log = { debug: () => {}, info: () => {}, warn: (fields) => void warnings.push(fields) };

const writeConfig = (config: unknown): string => {
  const path = join(folder, 'config.json');
  writeFileSync(path, typeof config === 'string' ? config : JSON.stringify(config));
  return path;
};

/** A program on the path of ephd. It may use `$server`, what it is asked for, and `$log`, a file. */
const writeHelper = (name: string, script: string): void => {
  const path = join(folder, `docker-credential-${name}`);
  writeFileSync(path, `#!/bin/sh\nlog=${folder}/log\nserver=$(cat)\necho "$1 $server" >> $log\n${script}\n`);
  chmodSync(path, 0o755);
};

const helperCalls = (): readonly string[] => readFileSync(join(folder, 'log'), 'utf8').trim().split('\n');

describe('a configuration file of Docker', () => {
  const password = (username: string, secret: string) => ({
    type: 'file',
    credentials: { type: 'password', username, password: secret },
  });

  it.each<[string, unknown, string, unknown]>([
    ['by host', { 'ghcr.io': { auth: btoa('robot:a:b:c') } }, 'ghcr.io', password('robot', 'a:b:c')],
    ['by address', { 'https://ghcr.io/v1/': { auth: btoa('robot:pass') } }, 'ghcr.io', password('robot', 'pass')],
    ['by port', { 'localhost:5000': { auth: btoa('robot:pass') } }, 'localhost:5000', password('robot', 'pass')],
    ['of Docker Hub', { 'https://index.docker.io/v1/': { auth: btoa('robot:pass') } }, 'docker.io', password('robot', 'pass')],
    ['in plain text', { 'ghcr.io': { username: 'robot', password: 'pass' } }, 'ghcr.io', password('robot', 'pass')],
    ['filled up', { 'ghcr.io': { auth: btoa('robot:pass\0\0') } }, 'ghcr.io', password('robot', 'pass')],
    [
      'that are a token',
      { 'acme.azurecr.io': { auth: btoa('00000000-0000-0000-0000-000000000000:'), identitytoken: 'refresh' } },
      'acme.azurecr.io',
      { type: 'file', credentials: { type: 'identity', token: 'refresh' } },
    ],
    ['of others', { 'ghcr.io.example.com': { auth: btoa('robot:pass') } }, 'ghcr.io', undefined],
    ['that are empty', { 'ghcr.io': {} }, 'ghcr.io', undefined],
    ['that are no Base64', { 'ghcr.io': { auth: '***' } }, 'ghcr.io', undefined],
  ])('has credentials %s', async (_, auths, host, expected) => {
    expect(await openDockerConfig(writeConfig({ auths }), log).find(host)).toEqual(expected);
  });

  it('names helpers for hosts, and a store for all others', async () => {
    const auths = { 'ghcr.io': { auth: btoa('robot:pass') } };
    const config = openDockerConfig(writeConfig({ auths, credHelpers: { 'gcr.io': 'gcloud', 'docker.io': 'hub' } }), log);
    expect(await config.find('gcr.io')).toEqual({ type: 'helper', name: 'gcloud', server: 'gcr.io' });
    expect(await config.find('docker.io')).toEqual({ type: 'helper', name: 'hub', server: 'https://index.docker.io/v1/' });
    expect(await config.find('ghcr.io')).toMatchObject({ type: 'file' });
    const stored = openDockerConfig(writeConfig({ auths, credsStore: 'pass', credHelpers: { 'gcr.io': 'gcloud' } }), log);
    expect(await stored.find('gcr.io')).toMatchObject({ name: 'gcloud' });
    expect(await stored.find('ghcr.io')).toMatchObject({ name: 'pass', server: 'ghcr.io' });
  });

  it('is read again, and stays in force if it cannot be', async () => {
    const path = writeConfig({ auths: { 'ghcr.io': { auth: btoa('robot:one') } } });
    const config = openDockerConfig(path, log);
    writeConfig({ auths: { 'ghcr.io': { auth: btoa('robot:two') } } });
    expect(await config.find('ghcr.io')).toEqual(password('robot', 'two'));
    for (const broken of ['{', '[]', '{"auths": 7}']) {
      writeConfig(broken);
      expect(await config.find('ghcr.io')).toEqual(password('robot', 'two'));
    }
    rmSync(path);
    expect(await config.find('ghcr.io')).toEqual(password('robot', 'two'));
    expect(warnings).toHaveLength(4);
  });

  it.each(['{', '[]', '{"auths": {"ghcr.io": {"auth": 12345678}}}', 'x'.repeat(2 * 1024 * 1024)])(
    'is refused at the start if it cannot be used, without what it says',
    (content) => {
      const path = writeConfig(content);
      expect(() => openDockerConfig(path, log)).toThrow(
        new RegExp(
          `^${path}, the file with credentials of registries, cannot be used: it is not a configuration file of Docker$`,
        ),
      );
    },
  );

  it('is refused at the start if it is not there', () => {
    expect(() => openDockerConfig(join(folder, 'none.json'), log)).toThrow(/cannot be used: ENOENT/);
  });

  it('has secrets, which are redacted', async () => {
    const config = openDockerConfig(writeConfig({ auths: { 'ghcr.io': { auth: btoa('robot:correct-horse') } } }), log);
    await config.find('ghcr.io');
    expect(redact(`correct-horse ${btoa('robot:correct-horse')}`)).toBe('*** ***');
  });
});

describe('credentials of a registry', () => {
  const basic = (user: string, password: string): string => `Basic ${btoa(`${user}:${password}`)}`;

  /** A registry that accepts one password, and the adapter with this configuration file. `host` stands for the registry in it. */
  const start = async (
    config: (host: string) => unknown,
    accepted = basic('robot', 'from-the-helper'),
    { settings = plain, ...options }: Partial<OciRegistryOptions> & { settings?: RegistrySettings } = {},
  ) => {
    const server = await ScriptedRegistry.start();
    const digest = server.putImage({ os: 'linux' }, 'v1', 'v2');
    let password = accepted;
    server.script = (request) =>
      request.headers.authorization === password
        ? server.serve(request)
        : { status: 401, headers: { 'www-authenticate': 'Basic realm="x"' } };
    const registry = createTestRegistry({
      registries: new Map([[server.host, settings]]),
      credentialsFile: writeConfig(config(server.host)),
      environment: { PATH: `${folder}:${process.env['PATH']}` },
      log,
      ...options,
    });
    onTestFinished(async () => {
      await registry[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    });
    const find = (reference = 'v1', project = shop) =>
      registry.find({ project, repository: `${server.host}/acme/shop`, reference }, signal);
    const change = (next: string) => void (password = next);
    return { server, find, found: { state: 'found', digest }, change };
  };

  const json = (username: string, secret: string): string =>
    `echo '{"ServerURL":"x","Username":"${username}","Secret":"${secret}"}'`;

  it('are in the file', async () => {
    const { find, found } = await start(
      (host) => ({ auths: { [host]: { auth: btoa('robot:from-the-file') } } }),
      basic('robot', 'from-the-file'),
    );
    expect(await find()).toEqual(found);
  });

  it('come from a helper, which is asked once in a while', async () => {
    const clock = new ManualClock();
    writeHelper('cloud', json('robot', 'from-the-helper'));
    const { server, find, found } = await start((host) => ({ credHelpers: { [host]: 'cloud' } }), undefined, { clock });
    expect(await Promise.all([find(), find('v2'), find()])).toEqual([found, found, found]);
    clock.advance(60_000);
    expect(await find()).toEqual(found);
    expect(helperCalls()).toEqual([`get ${server.host}`]);
    clock.advance(5 * 60_000);
    expect(await find()).toEqual(found);
    expect(helperCalls()).toHaveLength(2);
  });

  it('come from a helper again when they are refused', async () => {
    writeHelper('cloud', json('robot', 'from-the-helper'));
    const { find, found, change } = await start((host) => ({ credHelpers: { [host]: 'cloud' } }));
    expect(await find()).toEqual(found);
    writeHelper('cloud', json('robot', 'another-one'));
    change(basic('robot', 'another-one'));
    expect(await find('v2')).toEqual(found);
  });

  it('of the file of ephd come first', async () => {
    writeHelper('cloud', json('robot', 'from-the-helper'));
    const { find, found } = await start((host) => ({ credHelpers: { [host]: 'cloud' } }), basic('eph', 'from-ephd'), {
      settings: { ...plain, username: 'eph', password: { value: 'from-ephd' } },
    });
    expect(await find()).toEqual(found);
    expect(helperCalls).toThrow('ENOENT');
  });

  it('are not for projects that may not use the registry', async () => {
    writeHelper('cloud', json('robot', 'from-the-helper'));
    const { server, find, found } = await start((host) => ({ credHelpers: { [host]: 'cloud' } }), undefined, {
      settings: { ...plain, isFor: (project) => project === shop },
    });
    expect(await find()).toEqual(found);
    const before = server.requests.length;
    await expect(find('v1', blog)).rejects.toMatchObject({ code: 'registry.refused' });
    expect(server.requests).toHaveLength(before);
  });

  it('are a token on ACR, which is exchanged', async () => {
    writeHelper('acr-env', json('<token>', 'a-refresh-token'));
    const { server, find, found } = await start((host) => ({ credHelpers: { [host]: 'acr-env' } }));
    server.script = (request) => {
      if (request.method === 'POST') return { body: { access_token: 'tkn' } };
      const challenge = `Bearer realm="http://${server.host}/oauth2/token",service="acme.azurecr.io",scope="repository:acme/shop:pull"`;
      return request.headers.authorization === 'Bearer tkn'
        ? server.serve(request)
        : { status: 401, headers: { 'www-authenticate': challenge } };
    };
    expect(await find()).toEqual(found);
    expect(server.requests.map(({ method, target }) => [method, target])).toEqual([
      ['HEAD', '/v2/acme/shop/manifests/v1'],
      ['POST', '/oauth2/token'],
      ['HEAD', '/v2/acme/shop/manifests/v1'],
    ]);
    expect(Object.fromEntries(new URLSearchParams(server.requests[1]?.body))).toEqual({
      grant_type: 'refresh_token',
      client_id: 'eph',
      service: 'acme.azurecr.io',
      scope: 'repository:acme/shop:pull',
      refresh_token: 'a-refresh-token',
    });
  });

  it('are not sent on with a redirect of the token server', async () => {
    writeHelper('acr-env', json('<token>', 'a-refresh-token'));
    const { server, find } = await start((host) => ({ credHelpers: { [host]: 'acr-env' } }));
    server.script = ({ method }) =>
      method === 'POST'
        ? { status: 307, headers: { location: '/elsewhere' } }
        : { status: 401, headers: { 'www-authenticate': `Bearer realm="http://${server.host}/token"` } };
    await expect(find()).rejects.toMatchObject({ code: 'registry.refused' });
    expect(server.targets('POST')).toEqual(['/token']);
  });

  it('are missing where the helper has none', async () => {
    writeHelper('cloud', 'echo credentials not found in native keychain; exit 1');
    const { find } = await start((host) => ({ credHelpers: { [host]: 'cloud' } }));
    await expect(find()).rejects.toMatchObject({
      code: 'registry.refused',
      message: expect.stringContaining('ephd has none for'),
    });
    await expect(find('v2')).rejects.toMatchObject({ code: 'registry.refused' });
    expect(helperCalls()).toHaveLength(1);
  });

  it.each([
    ['fails', 'echo the-secret >&2; echo the-secret; exit 3', 'registry.unreachable', / failed\.$/],
    ['says nothing', 'exit 0', 'registry.unreachable', / failed\.$/],
    ['says too much', 'yes the-secret', 'registry.unreachable', / failed\.$/],
    ['says something else', 'echo \'{"the-secret": "the-secret"}\'', 'registry.unreachable', / failed\.$/],
  ])('cannot be had if the helper %s', async (_, script, code, sentence) => {
    writeHelper('cloud', script);
    const { server, find } = await start((host) => ({ credHelpers: { [host]: 'cloud' } }));
    await expect(find()).rejects.toMatchObject({ code, message: expect.stringMatching(sentence) });
    await expect(find()).rejects.toMatchObject({
      message: `The program docker-credential-cloud, which has the credentials of ${server.host}, failed.`,
    });
  });

  it('are not waited for without end', async () => {
    const clock = new ManualClock();
    writeHelper('cloud', 'exec sleep 60');
    const { server, find } = await start((host) => ({ credHelpers: { [host]: 'cloud' } }), undefined, { clock });
    const failing = find().catch((error: unknown) => error);
    await expect.poll(() => existsSync(join(folder, 'log'))).toBe(true);
    clock.advance(15_000);
    expect(await failing).toMatchObject({
      code: 'registry.unreachable',
      message: `The program docker-credential-cloud, which has the credentials of ${server.host}, did not answer within 15 s.`,
    });
  });

  it.each([
    ['not-here', /^The program docker-credential-not-here is not installed where ephd runs\.$/],
    ['../../bin/sh', /is not the name of a program that has credentials\.$/],
    ['x; touch y', /is not the name of a program that has credentials\.$/],
  ])('cannot be had of the helper %j', async (name, sentence) => {
    const { find } = await start((host) => ({ credHelpers: { [host]: name } }));
    await expect(find()).rejects.toMatchObject({ code: 'registry.refused', message: expect.stringMatching(sentence) });
  });
});
