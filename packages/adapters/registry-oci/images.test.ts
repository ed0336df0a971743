import { projectId } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { startScripted } from './registry-harness.fake.ts';
import { digestOf, ociConfig, ociIndex, ociManifest, type ScriptedRegistry } from './scripted-registry.fake.ts';

const { signal } = new AbortController();
const project = projectId('shop');

const dockerManifest = 'application/vnd.docker.distribution.manifest.v2+json';
const dockerList = 'application/vnd.docker.distribution.manifest.list.v2+json';
const dockerConfig = 'application/vnd.docker.container.image.v1+json';

const start = async () => {
  const { server, registry, repository } = await startScripted();
  return {
    server,
    find: (reference: string) => registry.find({ project, repository, reference }, signal),
    inspect: (digest: string, platform?: string) =>
      registry.inspect({ project, repository, reference: digest }, platform, signal),
  };
};

const refused = (sentence: RegExp) => ({ code: 'registry.refused', message: expect.stringMatching(sentence) });
const amd64 = { os: 'linux', architecture: 'amd64' };
const arm64 = { os: 'linux', architecture: 'arm64' };
const labelled = (name: string) => ({ config: { Labels: { name } } });

describe('finding', () => {
  it('takes one request, and reads no body', async () => {
    const { server, find } = await start();
    const digest = server.putImage(amd64, 'v1');
    expect(await find('v1')).toEqual({ state: 'found', digest });
    expect(server.targets('HEAD')).toEqual(['/v2/acme/shop/manifests/v1']);
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]?.headers['accept']?.split(', ')).toEqual([ociManifest, dockerManifest, ociIndex, dockerList]);
  });

  it.each([
    ['names no digest', {}],
    ['names something that is no digest', { 'docker-content-digest': 'sha256:abc' }],
    ['names a digest of another kind', { 'docker-content-digest': `sha512:${'a'.repeat(128)}` }],
  ])('computes the digest where the registry %s', async (_, headers) => {
    const { server, find } = await start();
    const digest = server.putImage(amd64, 'v1');
    server.script = (request) => ({ body: server.serve(request).body, headers: { 'content-type': ociManifest, ...headers } });
    expect(await find('v1')).toEqual({ state: 'found', digest });
    expect(await find(digest)).toEqual({ state: 'found', digest });
    expect(server.requests.map(({ method }) => method)).toEqual(['HEAD', 'GET', 'HEAD', 'GET']);
  });

  it('looks at the manifest where the registry says no type in an answer without a body', async () => {
    const { server, find } = await start();
    const digest = server.putImage(amd64, 'v1');
    server.script = (request) => {
      const { headers = {}, ...answer } = server.serve(request);
      return { ...answer, headers: request.method === 'HEAD' ? { ...headers, 'content-type': 'text/plain' } : headers };
    };
    expect(await find('v1')).toEqual({ state: 'found', digest });
  });

  it('refuses a digest that is not that of the bytes', async () => {
    const { server, find } = await start();
    const digest = server.putImage(amd64, 'v1');
    const lie = `sha256:${'e'.repeat(64)}`;
    server.script = (request) => ({
      body: server.serve(request).body,
      headers: { 'content-type': request.method === 'HEAD' ? 'text/plain' : ociManifest, 'docker-content-digest': lie },
    });
    await expect(find('v1')).rejects.toMatchObject(refused(/sends something else than what has the digest sha256:eeee/));
    server.script = () => ({ headers: { 'content-type': ociManifest, 'docker-content-digest': lie } });
    await expect(find(digest)).rejects.toMatchObject(
      refused(new RegExp(`sends something else than what has the digest ${digest}`)),
    );
  });

  it.each(['text/html', 'application/vnd.docker.distribution.manifest.v1+prettyjws', 'application/json', ''])(
    'refuses an answer of type %j',
    async (type) => {
      const { server, find } = await start();
      server.putImage(amd64, 'v1');
      server.script = (request) => ({ ...server.serve(request), headers: { 'content-type': type } });
      await expect(find('v1')).rejects.toMatchObject(refused(/:v1 is not an image: its type is /));
    },
  );
});

describe('inspecting', () => {
  it.each([
    ['OCI', ociManifest, ociIndex, ociConfig],
    ['Docker', dockerManifest, dockerList, dockerConfig],
  ])('reads images and indexes in the types of %s, with and without parameters', async (_, image, index, config) => {
    const { server, inspect } = await start();
    const put = (name: string, platform: object) => {
      const manifest = { schemaVersion: 2, mediaType: image, config: server.putBlob({ ...labelled(name), ...platform }, config) };
      return { mediaType: image, digest: server.putManifest(manifest, `${image}; charset=utf-8`), size: 1, platform };
    };
    const manifests = [put('arm', arm64), put('intel', amd64)];
    const digest = server.putManifest({ schemaVersion: 2, mediaType: index, manifests }, index);
    expect(await inspect(manifests[0]?.digest ?? '')).toMatchObject({ labels: { name: 'arm' } });
    expect(await inspect(digest)).toMatchObject({ labels: { name: 'arm' } });
    expect(await inspect(digest, 'linux/arm64')).toMatchObject({ labels: { name: 'arm' } });
    expect(await inspect(digest, 'linux/amd64')).toMatchObject({ labels: { name: 'intel' } });
  });

  it.each([
    ['linux/arm64', 'v8'],
    ['linux/arm64/v8', 'v8'],
    ['linux/arm', 'v7'],
    ['linux/arm/v7', 'v7'],
    ['linux/arm/v6', 'v6'],
    ['linux/arm/v5', undefined],
    ['linux/amd64', 'plain'],
    ['linux/amd64/v3', 'v3'],
    ['windows/amd64', 'windows'],
    ['linux', undefined],
    ['', 'first'],
  ])('finds the image for %j among variants', async (platform, name) => {
    const { server, inspect } = await start();
    const put = (label: string, os: string, architecture: string, variant?: string) => {
      const own = { os, architecture, ...(variant === undefined ? {} : { variant }) };
      return { mediaType: ociManifest, digest: server.putImage({ ...labelled(label), ...own }), size: 1, platform: own };
    };
    const manifests = [
      // What BuildKit adds for attestations.
      { ...put('attestation', 'unknown', 'unknown'), annotations: { 'vnd.docker.reference.type': 'attestation-manifest' } },
      put('first', 'linux', 'riscv64'),
      put('v6', 'linux', 'arm', 'v6'),
      put('v7', 'linux', 'arm', 'v7'),
      put('v3', 'linux', 'amd64', 'v3'),
      put('plain', 'linux', 'amd64'),
      put('v8', 'linux', 'arm64', 'v8'),
      put('windows', 'windows', 'amd64'),
    ];
    const digest = server.putManifest({ schemaVersion: 2, manifests }, ociIndex);
    const expected = name === undefined ? { state: 'missing' } : { state: 'found', labels: { name } };
    expect(await inspect(digest, platform || undefined)).toMatchObject(expected);
  });

  it.each([
    ['2026-01-05T09:00:00Z', '2026-01-05T09:00:00.000Z'],
    ['2026-01-05T10:00:00.123456789+01:00', '2026-01-05T09:00:00.123Z'],
    ['1970-01-01T00:00:00Z', '1970-01-01T00:00:00.000Z'],
    ['2199-12-31T23:59:59Z', '2199-12-31T23:59:59.000Z'],
    ['0001-01-01T00:00:00Z', undefined],
    ['yesterday', undefined],
    ['1', undefined],
    ['2026-13-45T99:00:00Z', undefined],
    ['', undefined],
    [null, undefined],
    [undefined, undefined],
  ])('takes %j for the time %j', async (created, expected) => {
    const { server, inspect } = await start();
    const answer = await inspect(server.putImage({ ...amd64, created }));
    expect(answer).toEqual({ state: 'found', created: expected === undefined ? undefined : new Date(expected), labels: {} });
  });

  it('takes labels as they are, also with names that objects have', async () => {
    const { server, inspect } = await start();
    const config = JSON.parse('{"config": {"Labels": {"__proto__": "x", "constructor": "y", "a\\nb": "c\\nd"}}}') as object;
    const answer = await inspect(server.putImage({ ...amd64, ...config }));
    expect(answer).toMatchObject({ labels: { constructor: 'y', 'a\nb': 'c\nd' } });
    expect(await inspect(server.putImage({ ...amd64, config: { Labels: null } }))).toMatchObject({ labels: {} });
    expect(await inspect(server.putImage({ ...amd64, config: null }))).toMatchObject({ labels: {} });
  });

  it('refuses a manifest and a configuration that do not have their digest', async () => {
    const { server, inspect } = await start();
    const digest = server.putImage(amd64);
    server.script = (request) => ({ ...server.serve(request), body: '{}' });
    await expect(inspect(digest)).rejects.toMatchObject(
      refused(new RegExp(`sends something else than what has the digest ${digest}`)),
    );
    server.script = (request) => ({ ...server.serve(request), ...(request.target.includes('/blobs/') ? { body: '{}' } : {}) });
    await expect(inspect(digest)).rejects.toMatchObject(refused(/sends something else/));
    expect(server.targets('GET').at(-1)).toBe(`/v2/acme/shop/blobs/${digestOf(JSON.stringify(amd64))}`);
  });

  it('refuses an index in an index, whatever its entry says', async () => {
    const { server, inspect } = await start();
    const inner = server.putManifest(
      { manifests: [{ mediaType: ociManifest, digest: server.putImage(amd64), size: 1 }] },
      ociIndex,
    );
    for (const mediaType of [ociIndex, dockerList, ociManifest]) {
      const outer = server.putManifest({ manifests: [{ mediaType, digest: inner, size: 1 }] }, ociIndex);
      await expect(inspect(outer)).rejects.toMatchObject(refused(/is not an image: it is an index of indexes\.$/));
    }
  });

  it.each<[string, (server: ScriptedRegistry) => unknown, RegExp]>([
    ['that is no JSON', () => 'not json', /its manifest is not valid/],
    ['that is a list', () => [], /its manifest is not valid/],
    ['without a configuration', () => ({ layers: [] }), /its manifest is not valid/],
    ['that is an index as well', (server) => ({ config: server.putBlob(amd64), manifests: [] }), /its manifest is not valid/],
    [
      'that says it is something else',
      (server) => ({ mediaType: ociIndex, config: server.putBlob(amd64) }),
      /its manifest is not valid/,
    ],
    [
      'with a digest that is a path',
      () => ({ config: { mediaType: ociConfig, digest: '../../x', size: 1 } }),
      /its manifest is not valid/,
    ],
    [
      'of a chart',
      (server) => ({ config: server.putBlob(amd64, 'application/vnd.cncf.helm.config.v1+json') }),
      /something else that registries store/,
    ],
    ['with a configuration that is a list', (server) => ({ config: server.putBlob([]) }), /its configuration is not valid/],
    [
      'with labels that are no text',
      (server) => ({ config: server.putBlob({ config: { Labels: { a: 1 } } }) }),
      /its configuration is not valid/,
    ],
  ])('refuses a manifest %s', async (_, create, sentence) => {
    const { server, inspect } = await start();
    await expect(inspect(server.putManifest(create(server), ociManifest))).rejects.toMatchObject(refused(sentence));
  });

  it('says what is missing of an image', async () => {
    const { server, inspect } = await start();
    const nowhere = `sha256:${'0'.repeat(64)}`;
    const absent = { mediaType: ociConfig, digest: nowhere, size: 1 };
    const because = (sentence: string) => ({ state: 'missing', because: expect.stringContaining(sentence) });
    expect(await inspect(server.putManifest({ config: absent }, ociManifest))).toEqual(because('the configuration of '));
    expect(await inspect(server.putManifest({ manifests: [{ ...absent, mediaType: ociManifest }] }, ociIndex))).toEqual(
      because('names an image that is missing'),
    );
    expect(await inspect(server.putManifest({ manifests: [] }, ociIndex))).toEqual(because('has no image'));
    // An entry may say another platform than the image itself.
    const image = { mediaType: ociManifest, digest: server.putImage(arm64), size: 1, platform: amd64 };
    expect(await inspect(server.putManifest({ manifests: [image] }, ociIndex), 'linux/amd64')).toEqual(
      because('for linux/amd64'),
    );
  });
});
