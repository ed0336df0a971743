import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { Gitlab } from '@gitbeaker/rest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GitlabEmulator } from './gitlab-emulator.ts';

const project = 'acme/deep/shop';
let gitlab: GitlabEmulator;
let token = '';
let client: InstanceType<typeof Gitlab>;
let main = '';

beforeAll(async () => {
  gitlab = await GitlabEmulator.start();
  const alice = gitlab.person('alice');
  await alice.createProject(project);
  main = await alice.push(project, 'main', {
    'eph.yaml': 'version: 1\n',
    'src/a b/ünï+%.ts': 'export {};\n',
    'bin/run': { executable: '#!/bin/sh\n' },
    link: { link: 'eph.yaml' },
    'logo.png': new Uint8Array([0x89, 0x50, 0, 1, 2, 255]),
  });
  token = gitlab.projectToken(project, 'developer');
  client = new Gitlab({ host: gitlab.url, token });
});
afterAll(async () => {
  await gitlab[Symbol.asyncDispose]();
});

const ask = (path: string, method = 'GET'): Promise<Response> =>
  fetch(`${gitlab.url}/api/v4/projects/${encodeURIComponent(project)}/repository/${path}`, {
    method,
    headers: { 'private-token': token },
  });

describe('files at a commit', () => {
  it('are read raw, byte by byte, whatever their path', async () => {
    expect(await client.RepositoryFiles.showRaw(project, 'eph.yaml', main)).toBe('version: 1\n');
    expect(await client.RepositoryFiles.showRaw(project, 'src/a b/ünï+%.ts', main)).toBe('export {};\n');
    const logo = await ask(`files/logo.png/raw?ref=${main}`);
    expect([...new Uint8Array(await logo.arrayBuffer())]).toEqual([0x89, 0x50, 0, 1, 2, 255]);
    expect([logo.headers.get('etag'), logo.headers.get('x-gitlab-size')]).toEqual([null, '6']);
  });

  it('have metadata, also with HEAD', async () => {
    const content_sha256 = createHash('sha256').update('#!/bin/sh\n').digest('hex');
    expect(await client.RepositoryFiles.show(project, 'bin/run', 'main')).toMatchObject({
      content_sha256,
      execute_filemode: true,
      commit_id: main,
    });
    const head = await ask('files/bin%2Frun?ref=main', 'HEAD');
    expect([head.status, head.headers.get('x-gitlab-content-sha256'), await head.text()]).toEqual([200, content_sha256, '']);
  });

  it('give the same 404 for a wrong path, a wrong commit and a folder', async () => {
    for (const path of [
      `files/nope?ref=${main}`,
      `files/eph.yaml?ref=${'0'.repeat(40)}`,
      'files/src?ref=main',
      'files/eph.yaml/raw?ref=no%2Fsuch',
    ]) {
      const answer = await ask(path);
      expect([answer.status, await answer.json()], path).toEqual([404, { message: '404 File Not Found' }]);
    }
  });

  it('are listed as a tree and packed as an archive', async () => {
    const tree = await client.Repositories.allRepositoryTrees(project, { ref: main, recursive: true });
    expect(tree.map(({ mode, type, path }) => `${mode} ${type} ${path}`)).toEqual([
      '040000 tree bin',
      '100755 blob bin/run',
      '100644 blob eph.yaml',
      '120000 blob link',
      '100644 blob logo.png',
      '040000 tree src',
      '040000 tree src/a b',
      '100644 blob src/a b/ünï+%.ts',
    ]);
    expect(await client.Repositories.allRepositoryTrees(project, { path: 'bin' })).toMatchObject([
      { path: 'bin/run', name: 'run' },
    ]);
    const archive = Buffer.from(await (await ask(`archive.tar.gz?sha=${main}`)).arrayBuffer());
    const names = execFileSync('tar', ['-tz'], { input: archive }).toString().split('\n');
    expect(names).toContain(`shop-${main}/eph.yaml`);
    expect((await ask('archive.tar.gz?sha=nowhere')).status).toBe(404);
  });
});

describe('branches, tags and commits', () => {
  it('are created and deleted, with names that need escaping', async () => {
    const name = 'preview/ünï+x%20';
    await client.Branches.create(project, name, main);
    expect(await client.Branches.show(project, name)).toMatchObject({
      name,
      commit: { id: main },
      protected: false,
      can_push: true,
    });
    expect((await client.Branches.all(project, { search: '^preview/' })).map((branch) => branch.name)).toEqual([name]);
    await expect(client.Branches.create(project, name, main)).rejects.toThrow('Branch already exists');
    await expect(client.Branches.create(project, 'a..b', main)).rejects.toThrow('Branch name is invalid');
    await expect(client.Branches.create(project, 'fine', 'nowhere')).rejects.toThrow('invalid reference name');
    await client.Branches.remove(project, name);
    await expect(client.Branches.show(project, name)).rejects.toThrow('404 Branch Not Found');
    await expect(client.Branches.remove(project, name)).rejects.toThrow('404 Branch Not Found');
    await expect(client.Branches.remove(project, 'main')).rejects.toThrow('default branch');
  });

  it('are real: Git reads them, and what Git pushes is served', async () => {
    const path = await gitlab.read.repositoryPath(project);
    await client.Branches.create(project, 'seen', main);
    const git = (...args: readonly string[]): string =>
      execFileSync('git', [`--git-dir=${path}`, ...args])
        .toString()
        .trim();
    expect(git('rev-parse', 'refs/heads/seen')).toBe(main);
    git('update-ref', 'refs/heads/from-git', main);
    expect(await gitlab.read.branches(project)).toMatchObject({ seen: main, 'from-git': main });
    expect(await client.Branches.show(project, 'from-git')).toMatchObject({ commit: { id: main } });
  });

  it('get lightweight and annotated tags', async () => {
    const alice = gitlab.person('alice');
    await alice.tag(project, 'v1', 'main');
    await alice.tag(project, 'v2', 'main', 'Second\n\nrelease');
    const tags = await client.Tags.all(project, { orderBy: 'name', sort: 'asc' });
    expect(tags).toMatchObject([
      { name: 'v1', message: '', target: main, created_at: null },
      { name: 'v2', message: 'Second\n\nrelease', commit: { id: main } },
    ]);
    expect(tags[1]?.target).not.toBe(main);
    await alice.deleteTag(project, 'v1');
    await expect(client.Tags.show(project, 'v1')).rejects.toThrow('404 Tag Not Found');
  });

  it('are compared and found by name or by abbreviated id', async () => {
    const alice = gitlab.person('alice');
    const head = await alice.push(project, 'compared', { 'eph.yaml': 'version: 2\n', 'bin/run': null });
    expect(await client.Commits.show(project, head.slice(0, 10))).toMatchObject({
      id: head,
      parent_ids: [main],
      author_name: 'alice',
      stats: { additions: 1, deletions: 2 },
      status: null,
    });
    expect(await client.Commits.show(project, 'compared')).toMatchObject({ id: head });
    await expect(client.Commits.show(project, '--all')).rejects.toThrow('404 Commit Not Found');
    const comparison = await client.Repositories.compare(project, 'main', 'compared');
    expect(comparison).toMatchObject({
      commits: [{ id: head }],
      diffs: [{ old_path: 'bin/run', deleted_file: true }, { new_path: 'eph.yaml' }],
    });
  });
});
