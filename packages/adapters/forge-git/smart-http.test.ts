import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createGit } from './git-command.ts';
import { HttpOrigin } from './http-origin.fake.ts';
import { parseLocation, type UrlLocation } from './location.ts';
import { Origin, type OriginOptions } from './origin.fake.ts';
import { createSmartHttp } from './smart-http.ts';

const { signal } = new AbortController();

const locate = (url: string): UrlLocation => {
  const location = parseLocation(url);
  if (location.kind !== 'url') throw new Error(`${url} is no address`);
  return location;
};

const listAt = (url: string, environment: Readonly<Record<string, string>> = {}): Promise<Buffer | undefined> =>
  createSmartHttp({ location: locate(url), environment })(['refs/heads/', 'refs/tags/'], signal);

const startOrigin = async (options: OriginOptions = {}, credentials?: string) => {
  const origin = await Origin.create(options);
  const served = await HttpOrigin.serve(origin, credentials === undefined ? {} : { credentials });
  onTestFinished(async () => {
    await served[Symbol.asyncDispose]();
    await origin[Symbol.asyncDispose]();
  });
  return { origin, served };
};

const startServer = async (answer: RequestListener): Promise<{ readonly url: string; readonly asked: IncomingMessage[] }> => {
  const asked: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    asked.push(request);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/shop.git`, asked };
};

const resultType = 'application/x-git-upload-pack-result';
const packet = (text: string): string => (Buffer.byteLength(text) + 4).toString(16).padStart(4, '0') + text;
const commit = 'a'.repeat(40);
const branchPacket = packet(`${commit} refs/heads/main\n`);

describe('branches and tags over HTTP', () => {
  it('are what git ls-remote prints, annotated tags and strange names included', async () => {
    const { origin, served } = await startOrigin();
    await origin.push({ kind: 'branch', name: 'main' }, { a: '1' });
    await origin.push({ kind: 'branch', name: 'feature/ü-ñ' }, { a: '2' });
    await origin.git('tag', 'light', 'main');
    await origin.git('tag', '-a', '-m', 'heavy', 'heavy', 'main');
    await origin.git('update-ref', 'refs/pull/7/head', 'main');
    const location = locate(served.url());
    const git = createGit({
      home: origin.folder,
      location,
      environment: { PATH: process.env.PATH },
      lifetime: signal,
    });
    const byGit = await git.run(['ls-remote', '--heads', '--tags', '--', location.url], { signal, network: true });
    const byUs = await listAt(served.url());
    expect(byUs?.toString()).toBe(byGit.stdout.toString());
    expect(byUs?.toString()).toMatch(/\trefs\/tags\/heavy\^\{\}\n/);
    expect(byUs?.toString()).not.toContain('refs/pull/');
  });

  it('are none in an empty repository', async () => {
    const { served } = await startOrigin();
    expect((await listAt(served.url()))?.toString()).toBe('');
  });

  it('are given to whoever has the credentials', async () => {
    const { origin, served } = await startOrigin({}, 'robot:word');
    await origin.push({ kind: 'branch', name: 'main' }, { a: '1' });
    expect((await listAt(served.url('robot:word')))?.toString()).toMatch(/refs\/heads\/main/);
    expect(await listAt(served.url('robot:other'))).toBeUndefined();
  });
});

describe('Git itself is left to ask', () => {
  it.each([
    ['the list broke off', branchPacket],
    ['a packet broke off', branchPacket.slice(0, -5)],
    ['something follows the end', `${branchPacket}0000${branchPacket}`],
    ['a packet has no length', `zzzz${commit} refs/heads/main\n0000`],
    ['a line is no ref', `${packet('ERR no such repository\n')}0000`],
    ['a packet is empty', `${branchPacket}00040000`],
    ['there is nothing at all', ''],
  ])('when %s', async (_, body) => {
    const { url } = await startServer((_request, response) => response.setHeader('content-type', resultType).end(body));
    expect(await listAt(url)).toBeUndefined();
  });

  it('when another kind of answer comes, such as a page to sign in', async () => {
    const { url } = await startServer((_, response) =>
      response.setHeader('content-type', 'text/html').end(`${branchPacket}0000`),
    );
    expect(await listAt(url)).toBeUndefined();
  });

  it('when the answer is a redirect: credentials go nowhere else', async () => {
    const elsewhere = await startServer((_, response) =>
      response.setHeader('content-type', resultType).end(`${branchPacket}0000`),
    );
    const { url } = await startServer((_, response) => response.writeHead(307, { location: elsewhere.url }).end());
    expect(await listAt(url.replace('//', '//robot:word@'))).toBeUndefined();
    expect(elsewhere.asked).toHaveLength(0);
  });

  it('when nobody listens', async () => {
    expect(await listAt('http://127.0.0.1:1/shop.git')).toBeUndefined();
  });

  it('when objects have another format than was asked for', async () => {
    const { origin, served } = await startOrigin({ format: 'sha256' });
    await origin.push({ kind: 'branch', name: 'main' }, { a: '1' });
    expect(await listAt(served.url())).toBeUndefined();
  });

  it('when there is a proxy or a certificate that only it knows', async () => {
    const { url, asked } = await startServer((_, response) =>
      response.setHeader('content-type', resultType).end(`${branchPacket}0000`),
    );
    expect(await listAt(url, { http_proxy: 'http://proxy.example' })).toBeUndefined();
    expect(await listAt(url, { SSL_CERT_FILE: '/certificates' })).toBeUndefined();
    expect(asked).toHaveLength(0);
    expect((await listAt(url))?.toString()).toBe(`${commit}\trefs/heads/main\n`);
  });

  it('but not when nobody wants to know any more', async () => {
    const stopping = new AbortController();
    const { url } = await startServer(() => stopping.abort(new Error('enough')));
    await expect(createSmartHttp({ location: locate(url), environment: {} })(['refs/heads/'], stopping.signal)).rejects.toThrow(
      'enough',
    );
  });
});
