import { type CommitSha, commitSha, type SourceRef } from '@eph/contract';
import { expect, it, onTestFinished } from 'vitest';
import type { RefWriter } from './ref-writer.ts';

export interface RefWriterHarness extends AsyncDisposable {
  /** With the prefix `preview/`, over an empty repository. */
  readonly writer: RefWriter;
  push(ref: SourceRef, text: string): Promise<CommitSha>;
  /** Everything there is, as `refs/heads/…` or `refs/tags/…`. */
  refs(): Promise<Readonly<Record<string, CommitSha>>>;
}

const branch = (name: string): SourceRef => ({ kind: 'branch', name });
const { signal } = new AbortController();

/** Legal names that have harmed other programs. */
const hostileNames = [
  'preview/$(touch${IFS}x)',
  'preview/-d',
  'preview/`id`;&&|<>"\'!#%',
  'preview/über/日本語/🚢',
  'preview/+x',
];

const refusedNames = [
  'main',
  'preview',
  'preview/',
  'previews/x',
  '/preview/x',
  'refs/heads/preview/x',
  'preview/../main',
  'preview//x',
  'preview/x.lock',
  'preview/x.',
  'preview/a:refs/heads/main',
  'preview/*',
  'preview/a b',
  'preview/a\0b',
  'preview/a\n',
  '',
];

export const describeRefWriter = (create: () => Promise<RefWriterHarness>): void => {
  const start = async (): Promise<RefWriterHarness> => {
    const harness = await create();
    onTestFinished(() => harness[Symbol.asyncDispose]());
    return harness;
  };

  it('makes a branch at a commit that is there, and says so once', async () => {
    const { writer, push, refs } = await start();
    const main = await push(branch('main'), 'a');
    expect(await writer.ensureBranch('preview/a', main, signal)).toBe(true);
    expect(await writer.ensureBranch('preview/a', main, signal)).toBe(false);
    expect(await refs()).toEqual({ 'refs/heads/main': main, 'refs/heads/preview/a': main });
  });

  it('deletes the branch at the commit that was seen, and says so once', async () => {
    const { writer, push, refs } = await start();
    const main = await push(branch('main'), 'a');
    const own = await push(branch('preview/a'), 'b');
    expect(await writer.removeBranch('preview/a', own, signal)).toBe(true);
    expect(await writer.removeBranch('preview/a', own, signal)).toBe(false);
    expect(await refs()).toEqual({ 'refs/heads/main': main });
  });

  it('leaves a branch that somebody moved where it is', async () => {
    const { writer, push, refs } = await start();
    const main = await push(branch('main'), 'a');
    const moved = await push(branch('preview/a'), 'b');
    await expect(writer.ensureBranch('preview/a', main, signal)).rejects.toMatchObject({ code: 'api.conflict' });
    await expect(writer.removeBranch('preview/a', main, signal)).rejects.toMatchObject({ code: 'api.conflict' });
    expect(await refs()).toEqual({ 'refs/heads/main': main, 'refs/heads/preview/a': moved });
  });

  it('takes every name that Git takes, as a name', async () => {
    const { writer, push, refs } = await start();
    const main = await push(branch('main'), 'a');
    for (const name of hostileNames) expect(await writer.ensureBranch(name, main, signal)).toBe(true);
    expect(Object.keys(await refs()).toSorted()).toEqual(
      ['refs/heads/main', ...hostileNames.map((name) => `refs/heads/${name}`)].toSorted(),
    );
    for (const name of hostileNames) expect(await writer.removeBranch(name, main, signal)).toBe(true);
    expect(await refs()).toEqual({ 'refs/heads/main': main });
  });

  it('refuses every other name, whatever is asked', async () => {
    const { writer, push, refs } = await start();
    const main = await push(branch('main'), 'a');
    await push({ kind: 'tag', name: 'preview/x' }, 'b');
    const before = await refs();
    for (const name of refusedNames) {
      await expect(writer.ensureBranch(name, main, signal), name).rejects.toMatchObject({ code: 'api.bad_request' });
      await expect(writer.removeBranch(name, main, signal), name).rejects.toMatchObject({ code: 'api.bad_request' });
    }
    expect(await refs()).toEqual(before);
  });

  it('makes nothing of a commit that is not there', async () => {
    const { writer, push, refs } = await start();
    const main = await push(branch('main'), 'a');
    const nowhere = commitSha('0123456789abcdef0123456789abcdef01234567');
    await expect(writer.ensureBranch('preview/a', nowhere, signal)).rejects.toMatchObject({ code: 'source.commit_missing' });
    expect(await refs()).toEqual({ 'refs/heads/main': main });
  });

  it('may be asked by many at once', async () => {
    const { writer, push, refs } = await start();
    const main = await push(branch('main'), 'a');
    const made = await Promise.all(Array.from({ length: 5 }, () => writer.ensureBranch('preview/a', main, signal)));
    expect(made).toContain(true);
    expect(await refs()).toEqual({ 'refs/heads/main': main, 'refs/heads/preview/a': main });
    const removed = await Promise.all(Array.from({ length: 5 }, () => writer.removeBranch('preview/a', main, signal)));
    expect(removed).toContain(true);
    expect(await refs()).toEqual({ 'refs/heads/main': main });
  });
};
