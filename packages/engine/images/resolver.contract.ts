import { type CommitSha, commitSha, projectId, type Source } from '@eph/contract';
import { expect, it, onTestFinished } from 'vitest';
import type { ArtifactAnswer, Resolver } from './resolver.ts';

export interface ResolverHarness extends AsyncDisposable {
  readonly resolver: Resolver;
  /** Makes the artifact of a commit exist. */
  publish(commit: CommitSha): Promise<void>;
}

export interface ResolverTraits {
  /** Why an artifact can never be missing, where that is so. */
  readonly alwaysThere?: string;
}

const first = commitSha('1'.repeat(40));
const second = commitSha('2'.repeat(40));

export const describeResolver = (create: () => Promise<ResolverHarness>, { alwaysThere }: ResolverTraits = {}): void => {
  const start = async () => {
    const harness = await create();
    onTestFinished(() => harness[Symbol.asyncDispose]());
    const { signal } = new AbortController();
    const resolve = (commit: CommitSha, branch = 'preview/a'): Promise<ArtifactAnswer> => {
      const source: Source = { project: projectId('shop'), ref: { kind: 'branch', name: branch }, commit };
      return harness.resolver.resolve(source, signal);
    };
    return { harness, resolve };
  };

  it('finds the artifact of a commit, named on one line', async () => {
    const { harness, resolve } = await start();
    await harness.publish(first);
    expect(await resolve(first)).toEqual({ state: 'found', artifact: expect.stringMatching(/^\S+$/) });
  });

  it('gives the same answer however often it is asked, also at the same time', async () => {
    const { harness, resolve } = await start();
    await harness.publish(first);
    const answers = await Promise.all(Array.from({ length: 20 }, () => resolve(first)));
    expect(new Set([...answers, await resolve(first)].map((answer) => JSON.stringify(answer))).size).toBe(1);
  });

  it('never gives two commits one artifact, and comes back to the same one with the commit', async () => {
    const { harness, resolve } = await start();
    await harness.publish(first);
    const before = await resolve(first);
    await harness.publish(second);
    expect(await resolve(second)).not.toEqual(before);
    expect(await resolve(first)).toEqual(before);
  });

  if (alwaysThere !== undefined) return;

  it('says that something missing is to be waited for, and never guesses', async () => {
    const { harness, resolve } = await start();
    await harness.publish(first);
    expect(await resolve(second)).toEqual({
      state: 'missing',
      fault: { code: 'artifact.missing', message: expect.stringMatching(/\S/), disposition: 'wait' },
    });
  });

  it('finds what was missing once it is there', async () => {
    const { harness, resolve } = await start();
    await resolve(first);
    await harness.publish(first);
    expect(await resolve(first)).toMatchObject({ state: 'found' });
  });
};
