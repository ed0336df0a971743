import { type CommitSha, EphError } from '@eph/contract';
import { expect, it, onTestFinished } from 'vitest';
import { createImageRequest, firstCommit, secondCommit } from './image-request.fake.ts';
import type { ImageAnswer, ImageRequest, Resolver } from './resolver.ts';

export interface ResolverHarness extends AsyncDisposable {
  readonly resolver: Resolver;
  now(): number;
  /** Makes the image of a commit exist. Equal contents are one image. */
  publish(commit: CommitSha, content: string): Promise<void>;
  /** What was asked so far may be asked again. */
  expire(): void;
  /** From now on nobody answers. */
  silence(): Promise<void>;
}

export const describeResolver = (create: () => Promise<ResolverHarness>): void => {
  const start = async () => {
    const harness = await create();
    onTestFinished(() => harness[Symbol.asyncDispose]());
    const { signal } = new AbortController();
    const times = () => Promise.resolve({ requestedAt: harness.now(), committedAt: harness.now(), seenAt: harness.now() });
    const resolve = (commit: CommitSha, changes: Partial<ImageRequest> = {}): Promise<ImageAnswer> =>
      harness.resolver.resolve(createImageRequest({}, { commit, times, ...changes }), signal);
    return { harness, resolve };
  };
  const imageOf = (answer: ImageAnswer) => {
    if (answer.state !== 'found') throw new EphError('internal', `it is ${answer.state}: ${answer.fault.message}`);
    return answer.image;
  };

  it('finds the image of a commit, pinned by its digest', async () => {
    const { harness, resolve } = await start();
    await harness.publish(firstCommit, 'a');
    const image = imageOf(await resolve(firstCommit));
    expect(image.reference).toMatch(/^registry\.example\/acme\/api@sha256:[0-9a-f]{64}$/);
    expect(image).toMatchObject({ commit: firstCommit, request: expect.stringMatching(/./) });
  });

  it('gives the same answer however often it is asked, also at the same time', async () => {
    const { harness, resolve } = await start();
    await harness.publish(firstCommit, 'a');
    const answers = await Promise.all(Array.from({ length: 20 }, () => resolve(firstCommit)));
    expect(new Set([...answers, await resolve(firstCommit)].map((one) => JSON.stringify(imageOf(one)))).size).toBe(1);
  });

  it('gives two commits one image where both were built to the same bytes, and comes back to it with the commit', async () => {
    const { harness, resolve } = await start();
    await harness.publish(firstCommit, 'a');
    await harness.publish(secondCommit, 'a');
    const [first, second] = [imageOf(await resolve(firstCommit)), imageOf(await resolve(secondCommit))];
    expect(second.reference).toBe(first.reference);
    expect(second.request).not.toBe(first.request);
    expect(imageOf(await resolve(firstCommit))).toEqual(first);
  });

  it('says that something missing is to be waited for, and never guesses', async () => {
    const { harness, resolve } = await start();
    await harness.publish(firstCommit, 'a');
    expect(await resolve(secondCommit)).toMatchObject({
      state: 'missing',
      fault: { code: 'artifact.missing', message: expect.stringMatching(/web.*api.*2222222/), disposition: 'wait' },
    });
  });

  it('finds what was missing once it is there', async () => {
    const { harness, resolve } = await start();
    await resolve(firstCommit);
    await harness.publish(firstCommit, 'a');
    harness.expire();
    expect(await resolve(firstCommit)).toMatchObject({ state: 'found' });
  });

  it('answers with what runs already for the same request, also while nobody answers', async () => {
    const { harness, resolve } = await start();
    await harness.publish(firstCommit, 'a');
    const image = imageOf(await resolve(firstCommit));
    await harness.silence();
    harness.expire();
    expect(await resolve(firstCommit, { running: [image] })).toEqual({ state: 'found', image, findings: [] });
  });

  it('does not take what runs for another commit as an answer', async () => {
    const { harness, resolve } = await start();
    await harness.publish(firstCommit, 'a');
    const running = [imageOf(await resolve(firstCommit))];
    expect(await resolve(secondCommit, { running })).toMatchObject({ state: 'missing' });
  });

  it('knows nothing while nobody answers', async () => {
    const { harness, resolve } = await start();
    await harness.publish(firstCommit, 'a');
    await harness.silence();
    expect(await resolve(firstCommit)).toMatchObject({
      state: 'unknown',
      fault: { code: 'registry.unreachable', disposition: 'retry' },
    });
  });
};
