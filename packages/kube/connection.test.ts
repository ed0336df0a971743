import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@eph/engine/time/clock.fake';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ClusterLocation, createConnection } from './connection.ts';

const { signal } = new AbortController();

const makeFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'eph-connection-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
};

const connect = (location: ClusterLocation) => {
  const clock = new ManualClock();
  return { clock, connection: createConnection('staging', location, clock) };
};

const writeConfig = (folder: string, user: object, cluster: object = {}): string => {
  const file = join(folder, 'config');
  const context = (name: string, namespace?: string) => ({ name, context: { cluster: 'c', user: 'u', namespace } });
  const text = {
    clusters: [{ name: 'c', cluster: { server: 'https://api.example.com:6443/', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [context('first'), context('second', 'shop')],
    'current-context': 'first',
  };
  writeFileSync(file, JSON.stringify(text));
  return file;
};

/** A plug-in that counts how often it runs, and answers with the number. */
const writePlugin = (folder: string, body: string): { exec: object; runs: () => number } => {
  const counter = join(folder, 'runs');
  writeFileSync(counter, '');
  writeFileSync(join(folder, 'plug-in'), `#!/bin/sh\nprintf x >> '${counter}'\nN=$(wc -c < '${counter}')\n${body}\n`);
  chmodSync(join(folder, 'plug-in'), 0o755);
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: './plug-in', args: [] };
  return { exec, runs: () => readFileSync(counter, 'utf8').length };
};

const answer = `printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"token-%s"}}' "$N"`;

describe('a kubeconfig', () => {
  it('gives the server, the credentials and the namespace of a context', async () => {
    const folder = makeFolder();
    writeFileSync(join(folder, 'ca.crt'), 'CA');
    const user = { 'client-certificate-data': btoa('CERT'), 'client-key-data': btoa('KEY') };
    const kubeconfig = writeConfig(folder, user, { 'certificate-authority': 'ca.crt', 'tls-server-name': 'inside' });
    const { connection } = connect({ kubeconfig, context: 'second' });
    const { tls, ...rest } = await connection.current(signal);
    expect(rest).toMatchObject({ server: 'https://api.example.com:6443', namespace: 'shop' });
    expect(tls).toEqual({ ca: Buffer.from('CA'), cert: Buffer.from('CERT'), key: Buffer.from('KEY'), servername: 'inside' });
    expect((await connect({ kubeconfig }).connection.current(signal)).namespace).toBe('default');
  });

  it.each([
    ['a context that is not there', {}, {}, 'third', 'config.invalid', /its context, or the cluster or user of it, is not there/],
    [
      'an address that is not encrypted',
      {},
      { server: 'http://api.example.com' },
      'first',
      'config.invalid',
      /begins with https/,
    ],
    ['an address that is none', {}, { server: 'somewhere' }, 'first', 'config.invalid', /begins with https/],
    ['a proxy of another kind', {}, { 'proxy-url': 'socks5://127.0.0.1' }, 'first', 'config.invalid', /use http or https/],
  ])('is refused with %s', async (_, user, cluster, context, code, message) => {
    const kubeconfig = writeConfig(makeFolder(), user, cluster);
    const error = expect.objectContaining({ code, message: expect.stringMatching(message) });
    await expect(connect({ kubeconfig, context }).connection.current(signal)).rejects.toEqual(error);
  });

  it('that cannot be read is an error without its contents, and is read again', async () => {
    const folder = makeFolder();
    const kubeconfig = join(folder, 'config');
    const { connection } = connect({ kubeconfig });
    await expect(connection.current(signal)).rejects.toMatchObject({ code: 'config.missing' });
    writeFileSync(kubeconfig, 'users: [{ name: u, user: { token: hunter2hunter2');
    await expect(connection.current(signal)).rejects.toMatchObject({
      code: 'config.invalid',
      message: expect.not.stringContaining('hunter2'),
    });
    writeConfig(folder, { token: 'fine' });
    expect((await connection.current(signal)).headers).toEqual({ authorization: 'Bearer fine' });
  });

  it('may lead to a proxy of kubectl on this machine', async () => {
    const kubeconfig = writeConfig(makeFolder(), {}, { server: 'http://127.0.0.1:8001' });
    expect(await connect({ kubeconfig }).connection.current(signal)).toMatchObject({
      server: 'http://127.0.0.1:8001',
      headers: {},
    });
  });
});

describe('a plug-in', () => {
  it('beside the kubeconfig runs once, and again after the cluster refused its token', async () => {
    const folder = makeFolder();
    const { exec, runs } = writePlugin(folder, answer);
    const { connection, clock } = connect({ kubeconfig: writeConfig(folder, { exec }) });
    const [first] = await Promise.all([connection.current(signal), connection.current(signal)]);
    expect(first.headers).toEqual({ authorization: 'Bearer token-1' });
    clock.advance(120_000);
    const later = await connection.current(signal);
    expect([later.headers, runs()]).toEqual([first.headers, 1]);
    const renewed = await Promise.all([connection.renew(later, signal), connection.renew(later, signal)]);
    expect(renewed.map(({ headers }) => headers)).toEqual([
      { authorization: 'Bearer token-2' },
      { authorization: 'Bearer token-2' },
    ]);
    expect(await connection.renew(first, signal)).toBe(renewed[0]);
  });

  it('runs again when what it said has expired', async () => {
    const folder = makeFolder();
    const { exec } = writePlugin(folder, answer.replace('"token":', '"expirationTimestamp":"2020-01-01T00:00:00Z","token":'));
    const { connection, clock } = connect({ kubeconfig: writeConfig(folder, { exec }) });
    await connection.current(signal);
    clock.advance(120_000);
    expect((await connection.current(signal)).headers).toEqual({ authorization: 'Bearer token-2' });
  });

  it('hears that nobody is there to answer', async () => {
    const folder = makeFolder();
    const { exec } = writePlugin(folder, `printf '%s' "$KUBERNETES_EXEC_INFO" > '${folder}/info'\n${answer}`);
    await connect({ kubeconfig: writeConfig(folder, { exec }) }).connection.current(signal);
    expect(JSON.parse(readFileSync(join(folder, 'info'), 'utf8'))).toMatchObject({
      kind: 'ExecCredential',
      spec: { interactive: false },
    });
  });

  it.each([
    ['fails', 'echo token-hunter2hunter2 >&2; exit 1'],
    ['says nothing that makes sense', 'echo hunter2hunter2'],
  ])('that %s is an error without what it printed', async (_, body) => {
    const folder = makeFolder();
    const { exec } = writePlugin(folder, body);
    const asking = connect({ kubeconfig: writeConfig(folder, { exec }) }).connection.current(signal);
    await expect(asking).rejects.toMatchObject({
      code: 'cluster.unreachable',
      message: expect.stringMatching(/^(?!.*hunter2).*Run kubectl with the same kubeconfig and context to see why\.$/),
    });
  });

  it('that hangs is waited for so long, and not started again meanwhile', async () => {
    const folder = makeFolder();
    const { exec, runs } = writePlugin(folder, `while ! [ -e '${folder}/go' ]; do sleep 0.05; done\n${answer}`);
    const { connection, clock } = connect({ kubeconfig: writeConfig(folder, { exec }) });
    const asking = connection.current(signal);
    await expect.poll(runs).toBe(1);
    clock.advance(30_000);
    await expect(asking).rejects.toMatchObject({ code: 'cluster.unreachable', message: expect.stringContaining('within 30 s') });
    const abort = new AbortController();
    const again = connection.current(abort.signal);
    abort.abort(new Error('enough'));
    await expect(again).rejects.toThrow('enough');
    const last = connection.current(signal);
    writeFileSync(join(folder, 'go'), '');
    expect((await last).headers).toEqual({ authorization: 'Bearer token-1' });
    expect(runs()).toBe(1);
  });
});

describe('inside a cluster', () => {
  it('the token is read again, before it expires and after it was refused', async () => {
    const folder = makeFolder();
    for (const [name, text] of [
      ['token', 'first\n'],
      ['namespace', 'eph'],
      ['ca.crt', 'CA'],
    ] as const)
      writeFileSync(join(folder, name), text);
    const { connection, clock } = connect({ inCluster: { host: 'fd00::1', port: '443', folder } });
    const first = await connection.current(signal);
    expect(first).toMatchObject({
      server: 'https://[fd00::1]:443',
      namespace: 'eph',
      headers: { authorization: 'Bearer first' },
    });
    writeFileSync(join(folder, 'token'), 'second');
    expect(await connection.current(signal)).toBe(first);
    clock.advance(61_000);
    const renewed = await connection.renew(first, signal);
    expect(renewed.headers).toEqual({ authorization: 'Bearer second' });
  });

  it('without a service account is an error that says what is missing', async () => {
    const folder = join(makeFolder(), 'none');
    const asking = connect({ inCluster: { host: '10.0.0.1', port: '443', folder } }).connection.current(signal);
    await expect(asking).rejects.toMatchObject({ code: 'config.missing', message: expect.stringContaining(folder) });
  });
});
