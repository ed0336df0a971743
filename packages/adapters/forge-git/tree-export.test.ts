import { execFile } from 'node:child_process';
import { access, lstat, mkdir, readdir, readFile, readlink, watch, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type CommitSha, projectId, silentLog } from '@eph/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createGit } from './git-command.ts';
import { createGitForge } from './git-forge.ts';
import { createLocalRepository } from './local-repository.ts';
import { parseLocation } from './location.ts';
import { type FileContent, Origin } from './origin.fake.ts';
import { type ExportLimits, exportTree } from './tree-export.ts';

const { signal } = new AbortController();
const main = { kind: 'branch', name: 'main' } as const;

const start = async () => {
  const origin = await Origin.create();
  const forge = createGitForge({ project: projectId('shop'), location: origin.path, folder: join(origin.folder, 'data') });
  onTestFinished(async () => {
    await forge[Symbol.asyncDispose]();
    await origin[Symbol.asyncDispose]();
  });
  const checkout = join(origin.folder, 'checkouts', 'one');
  const exportFiles = async (files: { readonly [path: string]: FileContent }) =>
    await forge.exportTree(await origin.push(main, files), checkout, signal);
  const exportCommit = (commit: CommitSha) => forge.exportTree(commit, checkout, signal);
  /** Neither the folder nor anything half-done beside it. */
  const expectNothing = async () => expect(await readdir(join(origin.folder, 'checkouts')).catch(() => [])).toEqual([]);
  return { origin, forge, checkout, exportFiles, exportCommit, expectNothing };
};

/** With limits that a test can reach. */
const exportWithin = async (limits: ExportLimits, { origin, checkout }: Awaited<ReturnType<typeof start>>, commit: CommitSha) => {
  const location = parseLocation(origin.path);
  if (location.kind !== 'path') throw new Error('the origin is not on this machine');
  const environment = { PATH: process.env['PATH'] };
  const git = createGit({ home: join(origin.folder, 'home'), location, environment, lifetime: signal });
  await using repository = createLocalRepository({ git, location, now: Date.now, log: silentLog });
  await repository.withCommit(commit, (source) => exportTree(source, commit, checkout, limits, signal), signal);
};

const modeOf = async (path: string): Promise<number> => (await lstat(path)).mode & 0o100;

describe('writing the tree of a commit', () => {
  it('keeps contents, executable bits, links inside the tree and submodules as empty folders', async () => {
    const { checkout, exportFiles } = await start();
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    await exportFiles({
      'bin/run': { executable: '#!/bin/sh\n' },
      'bin/plain': 'text\r\n',
      'all-bytes': bytes,
      current: { link: 'bin/run' },
      'bin/up': { link: '../all-bytes' },
      'lib/vendored': { submodule: '1234567890123456789012345678901234567890' },
    });
    expect(await readFile(join(checkout, 'all-bytes'))).toEqual(bytes);
    expect(await readFile(join(checkout, 'bin/plain'), 'utf8')).toBe('text\r\n');
    expect([await modeOf(join(checkout, 'bin/run')), await modeOf(join(checkout, 'bin/plain'))]).toEqual([0o100, 0]);
    expect(await readlink(join(checkout, 'current'))).toBe('bin/run');
    expect(await readFile(join(checkout, 'bin/up'))).toEqual(bytes);
    expect(await readdir(join(checkout, 'lib/vendored'))).toEqual([]);
    expect((await readdir(checkout)).toSorted()).toEqual(['all-bytes', 'bin', 'current', 'lib']);
  });

  it('writes an empty tree and a tree with nothing but names', async () => {
    const { origin, checkout, exportCommit } = await start();
    await exportCommit(await origin.commitRawTree([]));
    expect(await readdir(checkout)).toEqual([]);
  });

  it('keeps names that are not UTF-8', async () => {
    const { origin, checkout, exportCommit } = await start();
    await exportCommit(await origin.commitRawTree([['100644', 'caf\xe9', await origin.blob('x')]]));
    expect(await readdir(checkout, { encoding: 'buffer' })).toEqual([Buffer.from('caf\xe9', 'latin1')]);
  });

  it('writes large and many files', async () => {
    const { checkout, exportFiles } = await start();
    const large = Buffer.alloc(3_000_000, 'large');
    const huge = Buffer.alloc(17_000_000, 'huge');
    const many = Object.fromEntries(
      Array.from({ length: 1_500 }, (_, index) => [`d${index % 40}/e${index % 7}/f${index}`, `content ${index}`]),
    );
    await exportFiles({ ...many, large, 'a/huge': huge });
    expect((await readFile(join(checkout, 'large'))).equals(large)).toBe(true);
    expect((await readFile(join(checkout, 'a/huge'))).equals(huge)).toBe(true);
    const texts = await Promise.all(Object.keys(many).map((path) => readFile(join(checkout, path), 'utf8')));
    expect(texts).toEqual(Object.values(many));
  });

  it.each<readonly [string, { readonly [path: string]: FileContent }, string]>([
    ['to an absolute path', { a: { link: '/etc/passwd' } }, '"a"'],
    ['above the tree', { 'x/y/out': { link: '../../../secret' } }, '"x/y/out"'],
    ['through a second link', { 'x/up': { link: '..' }, y: { link: 'x/up/..' } }, '"y"'],
    ['to nothing', { a: { link: '' } }, '"a"'],
    ['to far too long a path', { a: { link: 'x'.repeat(5_000) } }, '"a"'],
  ])('refuses a link %s', async (_name, files, named) => {
    const { exportFiles, expectNothing } = await start();
    await expect(exportFiles({ 'a.txt': 'a', ...files })).rejects.toMatchObject({
      code: 'checkout.refused',
      message: expect.stringContaining(named),
    });
    await expectNothing();
  });

  it.each(['.git', '.GIT', '.Git', 'git~1', 'GIT~1', '.g\u200cit', '..', '.', '', 'a/b', '../../evil'])(
    'refuses an entry named %j',
    async (name) => {
      const { origin, exportCommit, expectNothing } = await start();
      const blob = await origin.blob('x');
      const bytes = Buffer.from(name).toString('latin1');
      await expect(exportCommit(await origin.commitRawTree([['100644', bytes, blob]]))).rejects.toMatchObject({
        code: 'checkout.refused',
      });
      await expectNothing();
      const inner = await origin.git('rev-parse', `${await origin.commitRawTree([['100644', 'config', blob]])}^{tree}`);
      await expect(exportCommit(await origin.commitRawTree([['40000', bytes, inner]]))).rejects.toMatchObject({
        code: 'checkout.refused',
      });
      await expectNothing();
    },
  );

  it('refuses a link and a folder of one name, so that nothing is written through the link', async () => {
    const { origin, exportCommit, expectNothing } = await start();
    const outside = join(origin.folder, 'outside');
    await mkdir(outside);
    const inner = await origin.git(
      'rev-parse',
      `${await origin.commitRawTree([['100644', 'evil', await origin.blob('x')]])}^{tree}`,
    );
    const link = await origin.blob(outside);
    for (const entries of [
      [['120000', 'a', link] as const, ['40000', 'a', inner] as const],
      [['40000', 'a', inner] as const, ['120000', 'a', link] as const],
    ]) {
      await expect(exportCommit(await origin.commitRawTree(entries))).rejects.toMatchObject({ code: 'checkout.refused' });
      await expectNothing();
      expect(await readdir(outside)).toEqual([]);
    }
  });

  it('refuses entries of a kind it does not know', async () => {
    const { origin, exportCommit, expectNothing } = await start();
    await expect(exportCommit(await origin.commitRawTree([['10644', 'a', await origin.blob('x')]]))).rejects.toMatchObject({
      code: 'checkout.refused',
    });
    await expectNothing();
  });

  it('refuses trees that grow without end', async () => {
    const world = await start();
    const { origin, expectNothing } = world;
    let tree = await origin.git('rev-parse', `${await origin.commitRawTree([['100644', 'f', await origin.blob('x')]])}^{tree}`);
    let commit: CommitSha | undefined;
    for (let level = 0; level < 12; level += 1) {
      const names = Array.from({ length: 10 }, (_, index) => ['40000', `d${index}`, tree] as const);
      commit = await origin.commitRawTree(names);
      tree = await origin.git('rev-parse', `${commit}^{tree}`);
    }
    await expect(exportWithin({ entries: 5_000, totalBytes: 1_000_000 }, world, commit as CommitSha)).rejects.toMatchObject({
      code: 'checkout.refused',
      message: expect.stringContaining('5000 entries'),
    });
    await expectNothing();
  });

  it('refuses more bytes than allowed', async () => {
    const world = await start();
    const commit = await world.origin.push(main, { a: 'x'.repeat(600_000), b: 'y'.repeat(600_000) });
    await expect(exportWithin({ entries: 100, totalBytes: 1024 ** 2 }, world, commit)).rejects.toMatchObject({
      code: 'checkout.refused',
      message: 'The tree has more than 1 MiB, the limit of a checkout; nothing was written.',
    });
    await world.expectNothing();
  });

  it('counts a tree before it writes anything of it: a few objects that become more than 512 MiB', async () => {
    const { origin, checkout, exportCommit } = await start();
    const blob = await origin.blob('x'.repeat(900_000));
    let tree = await origin.git('rev-parse', `${await origin.commitRawTree([['100644', 'f', blob]])}^{tree}`);
    let commit: CommitSha | undefined;
    for (let level = 0; level < 2; level += 1) {
      commit = await origin.commitRawTree(Array.from({ length: 30 }, (_, index) => ['40000', `d${index}`, tree] as const));
      tree = await origin.git('rev-parse', `${commit}^{tree}`);
    }
    const written = new Set<string>();
    const watching = new AbortController();
    await mkdir(join(checkout, '..'));
    const watcher = (async () => {
      for await (const { filename } of watch(join(checkout, '..'), { signal: watching.signal })) written.add(String(filename));
    })().catch(() => {});
    await expect(exportCommit(commit as CommitSha)).rejects.toMatchObject({
      code: 'checkout.refused',
      message: expect.stringContaining('more than 512 MiB'),
    });
    watching.abort();
    await watcher;
    expect([...written]).toEqual([]);
  });

  it('writes what is named many times as often as it is named', async () => {
    const { origin, checkout, exportCommit } = await start();
    const [small, large] = [await origin.blob('small'), await origin.blob('x'.repeat(3_000_000))];
    const names = Array.from({ length: 10 }, (_, index) => ['100644', `f${index}`, index % 2 === 0 ? small : large] as const);
    await exportCommit(await origin.commitRawTree(names));
    const sizes = await Promise.all(names.map(async ([, name]) => (await lstat(join(checkout, name))).size));
    expect(sizes).toEqual(names.map(([, , id]) => (id === small ? 5 : 3_000_000)));
  });

  it('runs no filter, hook or attribute', async () => {
    const { origin, checkout, exportFiles } = await start();
    const canary = join(origin.folder, 'canary');
    await origin.git('config', 'filter.evil.smudge', `touch ${canary}; cat`);
    await origin.git('config', 'filter.evil.clean', `touch ${canary}; cat`);
    await origin.git('config', 'filter.evil.process', `touch ${canary}`);
    await origin.git('config', 'core.fsmonitor', `touch ${canary}`);
    await origin.git('config', 'core.autocrlf', 'true');
    for (const hook of ['post-checkout', 'post-index-change', 'reference-transaction', 'pre-auto-gc']) {
      await mkdir(join(origin.gitFolder, 'hooks'), { recursive: true });
      await writeFile(join(origin.gitFolder, 'hooks', hook), `#!/bin/sh\ntouch ${canary}.hook\n`, { mode: 0o755 });
    }
    await exportFiles({ '.gitattributes': '* filter=evil text eol=crlf ident\n', 'a.txt': 'line\n$Id$\n' });
    expect(await readFile(join(checkout, 'a.txt'), 'utf8')).toBe('line\n$Id$\n');
    await expect(access(canary)).rejects.toThrow('ENOENT');
  });

  it('leaves nothing when it is aborted', async () => {
    const { origin, forge, checkout, expectNothing } = await start();
    const commit = await origin.push(
      main,
      Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`d${index % 50}/f${index}`, 'x'])),
    );
    const abort = new AbortController();
    const running = forge.exportTree(commit, checkout, abort.signal);
    await expect.poll(() => readdir(`${checkout}.partial`).catch(() => []), { interval: 1 }).not.toEqual([]);
    abort.abort(new Error('superseded'));
    await expect(running).rejects.toThrow('superseded');
    await expectNothing();
  });

  it('cleans up after a process that was killed half-way', async () => {
    const { checkout, exportFiles } = await start();
    await mkdir(join(`${checkout}.partial`, 'old'), { recursive: true });
    await writeFile(join(`${checkout}.partial`, 'old', 'file'), 'x');
    await exportFiles({ 'a.txt': 'a' });
    expect(await readdir(join(checkout, '..'))).toEqual(['one']);
    expect(await readdir(checkout)).toEqual(['a.txt']);
  });

  it('writes one folder once at a time', async () => {
    const { origin, checkout, exportCommit } = await start();
    const commit = await origin.push(main, { 'a.txt': 'a' });
    const results = await Promise.allSettled([exportCommit(commit), exportCommit(commit)]);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected']);
    expect(results[1]).toMatchObject({ reason: { code: 'checkout.failed' } });
    expect(await readdir(checkout)).toEqual(['a.txt']);
  });

  it('says that the disk is full', async ({ skip }) => {
    const { origin, forge } = await start();
    const disk = join(origin.folder, 'disk');
    await mkdir(disk);
    const execute = promisify(execFile);
    const mounted = await execute('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', disk]).then(
      () => true,
      () => false,
    );
    if (!mounted) return skip('only root may mount a small file system');
    try {
      for (const files of [{ a: Buffer.alloc(600_000, 'small') }, { a: Buffer.alloc(3_000_000, 'large') }]) {
        const commit = await origin.push(main, files);
        await expect(forge.exportTree(commit, join(disk, 'one'), signal)).rejects.toMatchObject({ code: 'disk.full' });
        expect(await readdir(disk)).toEqual([]);
      }
    } finally {
      await execute('umount', [disk]);
    }
  });
});
