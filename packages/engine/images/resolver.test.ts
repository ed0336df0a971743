import { commitSha, EphError, projectId } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { commitTreeResolver } from './commit-tree.ts';
import { describeResolver } from './resolver.contract.ts';
import { FakeResolver } from './resolver.fake.ts';

const commit = commitSha('a'.repeat(40));
const source = { project: projectId('shop'), ref: { kind: 'branch', name: 'main' }, commit } as const;

describe('the fake resolver', () => {
  describeResolver(() => {
    const resolver = new FakeResolver();
    return Promise.resolve({
      resolver,
      publish: (one) => Promise.resolve(resolver.publish(one)),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
  });

  it('fails on demand', async () => {
    const resolver = new FakeResolver({ disturb: () => Promise.reject(new EphError('forge.unreachable', 'no answer')) });
    await expect(resolver.resolve(source)).rejects.toMatchObject({ code: 'forge.unreachable' });
  });
});

describe('the tree of the commit', () => {
  describeResolver(
    () =>
      Promise.resolve({
        resolver: commitTreeResolver,
        publish: () => Promise.resolve(),
        [Symbol.asyncDispose]: () => Promise.resolve(),
      }),
    { alwaysThere: 'a commit always has its tree' },
  );

  it('names the commit', async () => {
    expect(await commitTreeResolver.resolve(source, new AbortController().signal)).toEqual({
      state: 'found',
      artifact: `tree:${commit}`,
    });
  });
});
