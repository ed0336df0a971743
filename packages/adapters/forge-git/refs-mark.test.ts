import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Origin, type OriginOptions } from './origin.fake.ts';
import { readRefsMark } from './refs-mark.ts';
import { readLayout } from './repository-layout.ts';

const branch = (name: string) => ({ kind: 'branch', name }) as const;

const start = async (options: OriginOptions = {}) => {
  const origin = await Origin.create(options);
  onTestFinished(() => origin[Symbol.asyncDispose]());
  await origin.push(branch('one'), { a: '1' });
  const folders = ['refs/heads', 'refs/tags'];
  const read = async (now = Date.now() + 60_000) => await readRefsMark(await readLayout(origin.path), folders, now);
  return { origin, read };
};

describe('the mark of the refs of a local repository', () => {
  it('stays while nothing happens to them', async () => {
    const { origin, read } = await start();
    const mark = await read();
    expect(mark).toBeDefined();
    await origin.blob('text');
    await origin.git('update-ref', 'refs/notes/eph', 'refs/heads/one');
    expect(await read()).toBe(mark);
  });

  it('changes with them, whoever writes them', async () => {
    const { origin, read } = await start();
    const file = join(origin.gitFolder, 'refs/heads/one');
    const commit = await origin.git('rev-parse', 'refs/heads/one');
    const changes: readonly (() => Promise<unknown>)[] = [
      () => origin.push(branch('two'), { b: '2' }),
      () => origin.push(branch('one'), { b: '2' }),
      () => writeFile(file, `${commit}\n`),
      () => origin.git('pack-refs', '--all'),
      () => origin.git('update-ref', 'refs/tags/v1', commit),
      () => origin.delete(branch('two')),
      () => rename(join(origin.gitFolder, 'packed-refs'), join(origin.gitFolder, 'packed-refs.old')),
    ];
    for (const [index, change] of changes.entries()) {
      const before = await read();
      await change();
      const after = await read();
      expect(after, `change ${index}`).toBeDefined();
      expect(after, `change ${index}`).not.toBe(before);
    }
  });

  it('is not known where it would say too little', async () => {
    const { origin, read } = await start();
    expect(await read(Date.now()), 'changed just now').toBeUndefined();
    await origin.git('symbolic-ref', 'refs/heads/alias', 'refs/elsewhere/x');
    expect(await read(), 'a ref that leads elsewhere').toBeUndefined();
    await origin.git('symbolic-ref', '--delete', 'refs/heads/alias');
    expect(await read()).toBeDefined();
    const commit = await origin.git('rev-parse', 'refs/heads/one');
    for (let index = 0; index < 32; index += 1) await origin.git('update-ref', `refs/heads/many/${index}`, commit);
    expect(await read(), 'many files').toBeUndefined();
  });
});
