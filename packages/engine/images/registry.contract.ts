import { projectId } from '@eph/contract';
import { expect, it, onTestFinished } from 'vitest';
import type { Registry } from './registry.ts';

export interface RegistryHarness extends AsyncDisposable {
  readonly registry: Registry;
  /** An empty repository. */
  readonly repository: string;
  /** Returns the digest; of several platforms, and with `index`, that of an index. */
  publish(tag: string, image: PublishedImage): Promise<string>;
  /** An image, with all of its tags. */
  delete(digest: string): Promise<void>;
  /** The registry cannot be reached from now on. */
  disconnect(): Promise<void>;
  reconnect(): Promise<void>;
}

export interface PublishedImage {
  readonly created?: Date;
  readonly labels?: { readonly [key: string]: string };
  /** Default `linux/amd64`. */
  readonly platforms?: readonly string[];
  readonly index?: boolean;
}

const project = projectId('shop');
const built = new Date('2026-01-05T09:00:00Z');
const nowhere = `sha256:${'0'.repeat(64)}`;
const platforms = ['linux/arm64', 'linux/amd64'];

const noTags = ['', '../../../x', 'a b', 'a/b', '-x', 'x'.repeat(129), 'a\nb', 'größe', 'a?b', 'a%2fb', 'sha256:abc', '.x'];

export const describeRegistry = (create: () => Promise<RegistryHarness>): void => {
  const start = async () => {
    const harness = await create();
    onTestFinished(() => harness[Symbol.asyncDispose]());
    const { registry, repository } = harness;
    const { signal } = new AbortController();
    return {
      harness,
      find: (reference: string) => registry.find({ project, repository, reference }, signal),
      inspect: (digest: string, platform?: string) =>
        registry.inspect({ project, repository, reference: digest }, platform, signal),
      tags: (matches: (tag: string) => boolean = () => true) => registry.tags({ project, repository }, matches, signal),
    };
  };

  const because = expect.stringMatching(/^\S.*[^.\s]$/s);

  it('finds the digest that a tag names', async () => {
    const { harness, find } = await start();
    const digest = await harness.publish('v1', { created: built });
    const other = await harness.publish('v2', { created: built, labels: { a: 'b' } });
    expect(other).not.toBe(digest);
    expect(await find('v1')).toEqual({ state: 'found', digest });
    expect(await find('v2')).toEqual({ state: 'found', digest: other });
  });

  it('finds an image by its digest', async () => {
    const { harness, find } = await start();
    const digest = await harness.publish('v1', { created: built });
    expect(await find(digest)).toEqual({ state: 'found', digest });
  });

  it('says what is missing: a tag, an image, a repository', async () => {
    const { harness, find, inspect, tags } = await start();
    for (const answer of [await find('v1'), await find(nowhere), await inspect(nowhere), await tags()])
      expect(answer).toEqual({ state: 'missing', because });
    await harness.publish('v1', { created: built });
    expect(await find('v2')).toEqual({ state: 'missing', because: expect.stringContaining('v2') });
    expect(await find(nowhere)).toEqual({ state: 'missing', because });
    expect(await inspect(nowhere)).toEqual({ state: 'missing', because });
  });

  it('finds what was missing once it is there', async () => {
    const { harness, find } = await start();
    await find('v1');
    const digest = await harness.publish('v1', { created: built });
    expect(await find('v1')).toEqual({ state: 'found', digest });
  });

  it('follows a tag that moves, and still finds what it named before', async () => {
    const { harness, find } = await start();
    const before = await harness.publish('latest', { labels: { build: '1' } });
    expect(await find('latest')).toEqual({ state: 'found', digest: before });
    const after = await harness.publish('latest', { labels: { build: '2' } });
    expect(await find('latest')).toEqual({ state: 'found', digest: after });
    expect(await find(before)).toEqual({ state: 'found', digest: before });
  });

  it('gives two tags of one image the same digest', async () => {
    const { harness, find } = await start();
    await harness.publish('v1', { created: built });
    await harness.publish('latest', { created: built });
    expect(await find('latest')).toEqual(await find('v1'));
  });

  it('says that a deleted image is missing, under every tag', async () => {
    const { harness, find, inspect } = await start();
    const digest = await harness.publish('v1', { created: built });
    await harness.publish('latest', { created: built });
    await harness.delete(digest);
    for (const reference of ['v1', 'latest', digest]) expect(await find(reference)).toEqual({ state: 'missing', because });
    expect(await inspect(digest)).toEqual({ state: 'missing', because });
  });

  it('shows when an image was built and its labels, whatever they contain', async () => {
    const { harness, inspect } = await start();
    const labels = {
      'org.opencontainers.image.revision': 'a'.repeat(40),
      empty: '',
      'with newlines': 'one\ntwo\r\n\u0000\u001b[31m three',
      json: '{"not": "parsed"}',
    };
    const digest = await harness.publish('v1', { created: built, labels });
    expect(await inspect(digest)).toEqual({ state: 'found', created: built, labels });
  });

  it('shows that an image says nothing of itself', async () => {
    const { harness, inspect } = await start();
    const digest = await harness.publish('v1', {});
    expect(await inspect(digest)).toEqual({ state: 'found', created: undefined, labels: {} });
  });

  it('takes the time that an image names as it is, in 1970 and in the future', async () => {
    const { harness, inspect } = await start();
    for (const created of [new Date(0), new Date('2199-12-31T23:59:59Z')])
      expect(await inspect(await harness.publish('v1', { created }))).toMatchObject({ created });
  });

  it.each([
    ['of several platforms', platforms],
    ['of one platform', ['linux/amd64']],
  ])('finds the digest of an index %s, and inspects its images', async (_, images) => {
    const { harness, find, inspect } = await start();
    const digest = await harness.publish('v1', { created: built, labels: { a: 'b' }, platforms: images, index: true });
    expect(await find('v1')).toEqual({ state: 'found', digest });
    for (const platform of [...images, undefined])
      expect(await inspect(digest, platform)).toEqual({ state: 'found', created: built, labels: { a: 'b' } });
  });

  it.each([
    ['an index', { platforms }],
    ['an image', {}],
  ])('says that %s has nothing for a platform', async (_, image) => {
    const { harness, inspect } = await start();
    const digest = await harness.publish('v1', { created: built, ...image });
    expect(await inspect(digest, 'linux/amd64')).toMatchObject({ state: 'found' });
    expect(await inspect(digest, 'linux/s390x')).toEqual({ state: 'missing', because: expect.stringContaining('linux/s390x') });
    expect(await inspect(digest, 'windows/amd64')).toMatchObject({ state: 'missing' });
  });

  it('lists the tags that are asked for, and no others', async () => {
    const { harness, tags } = await start();
    for (const tag of ['pr-1', 'pr-2', 'main']) await harness.publish(tag, { created: built });
    expect(await tags((tag) => tag.startsWith('pr-'))).toEqual({
      state: 'found',
      tags: expect.toSatisfy((found: readonly string[]) => found.toSorted().join() === 'pr-1,pr-2'),
    });
    expect(await tags(() => false)).toEqual({ state: 'found', tags: [] });
  });

  it.each(noTags)('refuses %j, which is no tag and no digest', async (reference) => {
    const { find } = await start();
    await expect(find(reference)).rejects.toMatchObject({ code: 'registry.refused' });
  });

  it('inspects nothing by a tag, which may have moved', async () => {
    const { harness, inspect } = await start();
    await harness.publish('v1', { created: built });
    await expect(inspect('v1')).rejects.toMatchObject({ code: 'registry.refused' });
  });

  it('says that a registry is away, never that something is missing, and goes on when it is back', async () => {
    const { harness, find, inspect, tags } = await start();
    const digest = await harness.publish('v1', { created: built });
    await harness.disconnect();
    for (const ask of [() => find('v1'), () => find('v2'), () => find(digest), () => inspect(digest), () => tags()])
      await expect(ask()).rejects.toMatchObject({ code: 'registry.unreachable' });
    await harness.reconnect();
    await expect.poll(() => find('v1').catch(() => undefined)).toEqual({ state: 'found', digest });
  });

  it('answers many at once', async () => {
    const { harness, find } = await start();
    const digest = await harness.publish('v1', { created: built });
    const answers = await Promise.all(Array.from({ length: 100 }, (_, at) => find(at % 2 === 0 ? 'v1' : `v${at + 2}`)));
    expect(answers.filter((answer) => answer.state === 'found' && answer.digest === digest)).toHaveLength(50);
    expect(answers.filter(({ state }) => state === 'missing')).toHaveLength(50);
  });

  it('stops when it is told to', async () => {
    const { harness } = await start();
    const digest = await harness.publish('v1', { created: built });
    const { registry, repository } = harness;
    const aborted = AbortSignal.abort(new Error('enough'));
    await expect(registry.find({ project, repository, reference: 'v1' }, aborted)).rejects.toThrow('enough');
    await expect(registry.inspect({ project, repository, reference: digest }, undefined, aborted)).rejects.toThrow('enough');
    await expect(registry.tags({ project, repository }, () => true, aborted)).rejects.toThrow('enough');
  });
};
