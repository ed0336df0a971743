import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { projectId, type SourceRef } from '@eph/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createGitForge } from './git-forge.ts';
import { Origin, type OriginOptions } from './origin.fake.ts';

const branch = (name: string): SourceRef => ({ kind: 'branch', name });
const deadline = { timeout: 20_000, interval: 2 };

const start = async (options: OriginOptions = {}) => {
  const origin = await Origin.create(options);
  const forge = createGitForge({ project: projectId('shop'), location: origin.path, folder: join(origin.folder, 'data') });
  const abort = new AbortController();
  onTestFinished(async () => {
    abort.abort();
    await forge[Symbol.asyncDispose]();
    await origin[Symbol.asyncDispose]();
  });
  let wakes = 0;
  const watch = async () => {
    forge.watch(() => (wakes += 1), abort.signal);
    await expect.poll(() => wakes, deadline).toBeGreaterThan(0);
  };
  const expectWake = async (act: () => Promise<unknown>) => {
    const before = wakes;
    await act();
    await expect.poll(() => wakes, deadline).toBeGreaterThan(before);
  };
  return { origin, watch, expectWake, wakes: () => wakes };
};

describe('watching refs', () => {
  it('notices every way in which Git changes them', async () => {
    const { origin, watch, expectWake } = await start();
    await origin.push(branch('main'), { a: '1' });
    await watch();
    await expectWake(() => origin.push(branch('main'), { a: '2' }));
    await expectWake(() => origin.push(branch('preview/a/b'), { a: '3' }));
    await expectWake(() => origin.push(branch('preview/a/c'), { a: '4' }));
    await expectWake(() => origin.git('pack-refs', '--all', '--prune'));
    await expectWake(() => origin.delete(branch('preview/a/b')));
    await expectWake(() => origin.push(branch('preview/a/b'), { a: '5' }));
    await expectWake(() => origin.annotate('v1', 'refs/heads/main'));
  });

  it('notices a push from a clone', async () => {
    const { origin, watch, expectWake } = await start();
    const commit = await origin.push(branch('main'), { a: '1' });
    await watch();
    const clone = join(origin.folder, 'clone');
    await origin.git('clone', '--quiet', origin.path, clone);
    await expectWake(() =>
      origin.git('--git-dir', join(clone, '.git'), 'push', '--quiet', origin.path, `${commit}:refs/heads/preview/x`),
    );
    await expectWake(() => origin.git('--git-dir', join(clone, '.git'), 'push', '--quiet', origin.path, ':refs/heads/preview/x'));
  });

  it('survives the repository being deleted, made again and exchanged', async () => {
    const { origin, watch, expectWake } = await start();
    await origin.push(branch('main'), { a: '1' });
    await watch();
    await expectWake(() => rm(origin.path, { recursive: true }));
    await expectWake(() => origin.init());
    await expectWake(() => origin.push(branch('preview/x'), { a: '2' }));
    await expectWake(async () => {
      await rename(origin.path, `${origin.path}.old`);
      await origin.init();
    });
    await expectWake(() => origin.push(branch('preview/y'), { a: '3' }));
  });

  it('waits for a repository that does not exist yet', async () => {
    const { origin, watch, expectWake } = await start();
    await origin.hide();
    await watch();
    await expectWake(() => origin.unhide());
    await expectWake(() => origin.push(branch('main'), { a: '1' }));
  });

  it('is not woken by the notes Eph writes itself', async () => {
    const { origin, watch, expectWake, wakes } = await start({ bare: false });
    const commit = await origin.push(branch('main'), { a: '1' });
    await origin.git('notes', '--ref=eph', 'add', '-m', 'first', commit);
    await watch();
    await expectWake(() => origin.push(branch('main'), { a: '2' }));
    const before = wakes();
    for (let index = 0; index < 20; index += 1)
      await origin.git('notes', '--ref=eph', 'add', '-f', '-m', `note ${index}`, commit);
    // A later push is noticed, so whatever the notes would have caused has arrived by then. A push or two may echo.
    await expectWake(() => origin.push(branch('other'), { a: '4' }));
    expect(wakes() - before).toBeLessThan(10);
  });
});
