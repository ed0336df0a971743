import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { explainObstacle } from './debian-package.ts';
import { describeSearch, findProgram, partsCache } from './find-program.ts';

const createFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'eph-find-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

const writeProgram = async (path: string, mode = 0o755): Promise<string> => {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, '#!/bin/sh\n', { mode });
  return path;
};

describe('finding a program', () => {
  it('searches the PATH, then the well-known folders, then the cache', async () => {
    const folder = await createFolder();
    const env = { PATH: join(folder, 'path'), EPH_PARTS_CACHE: join(folder, 'cache') };
    const search = { program: 'server', places: [join(folder, 'known')] };
    const cached = await writeProgram(join(folder, 'cache/bin/server'));
    expect(findProgram(search, env)).toBe(cached);
    const known = await writeProgram(join(folder, 'known/server'));
    expect(findProgram(search, env)).toBe(known);
    const onPath = await writeProgram(join(folder, 'path/server'));
    expect(findProgram(search, env)).toBe(onPath);
  });

  it('takes the newest of several versions', async () => {
    const folder = await createFolder();
    for (const version of ['9', '15', '14']) await writeProgram(join(folder, version, 'bin/server'));
    const search = { program: 'server', places: [join(folder, '*/bin')] };
    expect(findProgram(search, { EPH_PARTS_CACHE: folder })).toBe(join(folder, '15/bin/server'));
  });

  it('ignores folders and files that are not executable', async () => {
    const folder = await createFolder();
    await mkdir(join(folder, 'a/server'), { recursive: true });
    await writeProgram(join(folder, 'b/server'), 0o644);
    const env = { PATH: `${folder}/a:${folder}/b`, EPH_PARTS_CACHE: folder };
    expect(findProgram({ program: 'server', places: [] }, env)).toBeUndefined();
  });

  it('reports where it searched', () => {
    const reason = describeSearch({ program: 'server', places: ['/opt/*/bin'] }, { XDG_CACHE_HOME: '/home/me/.cache' });
    expect(reason).toBe('no server on the PATH, in /opt/*/bin or /home/me/.cache/eph/parts/bin');
  });

  it('keeps the cache in the configured folder, by default outside the checkout', () => {
    expect(partsCache({ EPH_PARTS_CACHE: '/srv/parts' })).toBe('/srv/parts');
    expect(partsCache({ XDG_CACHE_HOME: '/var/cache/me' })).toBe('/var/cache/me/eph/parts');
    expect(partsCache({})).toMatch(/\.cache\/eph\/parts$/);
  });
});

describe('a Debian package', () => {
  it.each([
    [{ hasApt: true, isRoot: true }, 'nothing'],
    [{ hasApt: true, isRoot: false }, 'needs root: sudo npm run parts -- --get postgres'],
    [{ hasApt: false, isRoot: true }, 'no apt-get here: install postgres your own way'],
  ])('on a machine with %o: %s prevents it', (machine, obstacle) => {
    expect(explainObstacle('postgres', 'postgresql', machine) ?? 'nothing').toContain(obstacle);
  });
});
