import { mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Rendering } from '@eph/engine/render/renderer';
import { expect, it, onTestFinished } from 'vitest';
import { RenderingCache } from './rendering-cache.ts';

const rendering = (notice: string): Rendering => ({ state: 'rendered', components: [], notices: [notice] });

const start = async (limits = { limitBytes: 10_000, memoryBytes: 10_000 }) => {
  const folder = await mkdtemp(join(tmpdir(), 'eph-rendered-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const create = () => new RenderingCache({ folder, ...limits });
  return { folder, create, cache: create() };
};

it('gives back the same object, and an equal one after a restart', async () => {
  const { cache, create } = await start();
  const one = rendering('a');
  await cache.put('k', one);
  expect(await cache.get('k')).toBe(one);
  const again = create();
  const [first, second] = await Promise.all([again.get('k'), again.get('k')]);
  expect(first).toEqual(one);
  expect(second).toBe(first);
  expect(await cache.get('other')).toBeUndefined();
});

it('forgets what was used longest ago, on disk and in memory', async () => {
  const { folder, cache, create } = await start({ limitBytes: 2500, memoryBytes: 2500 });
  for (const [index, key] of ['a', 'b'].entries()) {
    await cache.put(key, rendering(key.repeat(1000)));
    await utimes(join(folder, `${key}.json`), index, index);
  }
  await create().get('a');
  await cache.put('c', rendering('c'.repeat(1000)));
  expect((await readdir(folder)).toSorted()).toEqual(['a.json', 'c.json']);
  expect(await create().get('b')).toBeUndefined();
});

it('gives nothing for a damaged file, and keeps files from other users', async () => {
  const { folder, cache, create } = await start();
  await cache.put('k', rendering('a'));
  expect((await stat(join(folder, 'k.json'))).mode & 0o777).toBe(0o600);
  await writeFile(join(folder, 'k.json'), '{"state":');
  expect(await create().get('k')).toBeUndefined();
});

it('renders on where nothing can be written', async () => {
  const { folder } = await start();
  const file = join(folder, 'file');
  await writeFile(file, '');
  const cache = new RenderingCache({ folder: join(file, 'below'), limitBytes: 1, memoryBytes: 1000 });
  await cache.put('k', rendering('a'));
  expect(await cache.get('k')).toEqual(rendering('a'));
});
