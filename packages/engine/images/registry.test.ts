import { EphError, projectId } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { describeRegistry } from './registry.contract.ts';
import { FakeRegistry, type RegistryRequest } from './registry.fake.ts';

const { signal } = new AbortController();
const repository = 'registry.example/acme/shop';
const image = { project: projectId('shop'), repository, reference: 'v1' };

describe('the fake registry', () => {
  describeRegistry(() => {
    let isAway = false;
    const registry = new FakeRegistry({
      disturb: () => (isAway ? Promise.reject(new EphError('registry.unreachable', 'no answer')) : Promise.resolve()),
    });
    const setAway = (next: boolean) => () => {
      isAway = next;
      return Promise.resolve();
    };
    return Promise.resolve({
      registry,
      repository,
      publish: (tag, published) => Promise.resolve(registry.publish(repository, tag, published)),
      delete: (digest) => Promise.resolve(registry.delete(repository, digest)),
      disconnect: setAway(true),
      reconnect: setAway(false),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
  });

  it('moves and deletes single tags', async () => {
    const registry = new FakeRegistry();
    const digest = registry.publish(repository, 'v1', { labels: { build: '1' } });
    registry.publish(repository, 'latest', { labels: { build: '2' } });
    registry.move(repository, 'latest', digest);
    registry.delete(repository, 'v1');
    expect(await registry.find(image, signal)).toMatchObject({ state: 'missing' });
    expect(await registry.find({ ...image, reference: 'latest' }, signal)).toEqual({ state: 'found', digest });
  });

  it('shows every request before it answers', async () => {
    const requests: RegistryRequest[] = [];
    const registry = new FakeRegistry({ disturb: (request) => Promise.resolve(void requests.push(request)) });
    const digest = registry.publish(repository, 'v1');
    await registry.find(image, signal);
    await registry.inspect({ ...image, reference: digest }, undefined, signal);
    await registry.tags(image, () => true, signal);
    expect(requests.map(({ asks, reference }) => [asks, reference])).toEqual([
      ['find', 'v1'],
      ['inspect', digest],
      ['tags', undefined],
    ]);
  });
});
