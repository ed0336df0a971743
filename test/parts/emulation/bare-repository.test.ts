import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BareRepository, type FileChanges } from './bare-repository.ts';

const author = { name: 'Ada Lovelace', email: 'ada@example.com' };
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'eph-bare-repository-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const commitOn = (repository: BareRepository, branch: string, changes: FileChanges, parent?: string): Promise<string> =>
  repository.commit({
    ref: `refs/heads/${branch}`,
    changes,
    message: `Change ${branch}`,
    author,
    seconds: 1_700_000_000,
    parent,
  });

describe('bare repository', () => {
  it('keeps history, files, links, modes and removals', async () => {
    const repository = await BareRepository.create(folder, 'history');
    const first = await commitOn(repository, 'main', { 'a "quoted" name': 'one', 'bin/run': { executable: '#!' }, gone: 'soon' });
    const second = await commitOn(repository, 'main', { gone: null, link: { link: 'bin/run' } }, first);

    const [commit] = await repository.readCommits([second, '0'.repeat(40)]);
    expect(commit).toMatchObject({
      sha: second,
      parents: [first],
      message: 'Change main',
      author: { ...author, seconds: 1_700_000_000 },
    });
    const tree = await repository.readTree(second, '', true);
    expect(tree?.map(({ mode, path }) => `${mode} ${path}`)).toEqual([
      '100644 a "quoted" name',
      '040000 bin',
      '100755 bin/run',
      '120000 link',
    ]);
    expect(await repository.readTree(second, 'bin', false)).toMatchObject([{ path: 'bin/run' }]);
    expect(await repository.readTree(second, 'nowhere', false)).toBeUndefined();
    expect(await repository.changedFiles(first, second)).toMatchObject([
      { status: 'D', oldPath: 'gone' },
      { status: 'A', newPath: 'link' },
    ]);
  });

  it('resolves names and ids, but no revision expressions', async () => {
    const repository = await BareRepository.create(folder, 'names');
    const sha = await commitOn(repository, 'feature/x', { a: '1' });
    const tag = await repository.annotateTag('v1', sha, 'First\n\nof many');

    expect(await Promise.all(['feature/x', 'v1', sha, sha.slice(0, 8)].map((name) => repository.resolve(name)))).toEqual([
      sha,
      sha,
      sha,
      sha,
    ]);
    expect(
      await Promise.all(['main', 'feature/x@{0}', ':/Change', '--all', '../x'].map((name) => repository.resolve(name))),
    ).toEqual(Array.from({ length: 5 }));
    expect(await repository.refs('refs/tags/')).toEqual([
      { name: 'refs/tags/v1', target: tag, commit: sha, message: 'First\n\nof many' },
    ]);
  });

  it('fetches commits of a fork and drops deleted branches', async () => {
    const upstream = await BareRepository.create(folder, 'upstream');
    const base = await commitOn(upstream, 'main', { a: '1' });
    const fork = await BareRepository.create(folder, 'fork');
    await fork.takeAll(upstream);
    const head = await commitOn(fork, 'topic', { a: '2' }, base);

    await upstream.take(fork, head, 'refs/merge-requests/1/head');
    expect(await upstream.mergeBase('main', head)).toBe(base);
    expect(await upstream.branchesWith(head)).toEqual([]);
    await fork.deleteRef('refs/heads/topic');
    expect(await fork.resolve('topic')).toBeUndefined();
  });

  it('restarts a branch', async () => {
    const repository = await BareRepository.create(folder, 'afresh');
    await commitOn(repository, 'main', { old: '1' });
    const sha = await commitOn(repository, 'main', { new: '2' });
    expect(await repository.resolve('main')).toBe(sha);
    expect(await repository.readTree(sha, '', true)).toMatchObject([{ path: 'new' }]);
    expect(await repository.readCommits([sha])).toMatchObject([{ parents: [] }]);
  });

  it('packs a tree', async () => {
    const repository = await BareRepository.create(folder, 'packed');
    const sha = await commitOn(repository, 'main', { 'web/index.html': '<p>' });
    const names = execFileSync('tar', ['-t'], { input: await repository.archive(sha, 'shop/') }).toString();
    expect(names.split('\n')).toContain('shop/web/index.html');
  });
});
