import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type CommitSha, commitSha, projectId, type SourceRef } from '@eph/contract';
import { describeRefWriter, type RefWriterHarness } from '@eph/engine/source/ref-writer.contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createGitForge, type GitForge } from './git-forge.ts';
import { HttpOrigin, type HttpOriginOptions } from './http-origin.fake.ts';
import { Origin, type OriginOptions } from './origin.fake.ts';

const { signal } = new AbortController();
const branch = (name: string): SourceRef => ({ kind: 'branch', name });

const openForge = (origin: Origin, location: string): GitForge =>
  createGitForge({ project: projectId('shop'), location, folder: join(origin.folder, 'data') });

const readRefs = async (origin: Origin): Promise<Record<string, CommitSha>> => {
  const listed = await origin.git('for-each-ref', '--format=%(objectname) %(refname)');
  const lines = listed.split('\n').filter((line) => line !== '');
  return Object.fromEntries(lines.map((line) => [line.slice(line.indexOf(' ') + 1), commitSha(line.split(' ')[0] ?? '')]));
};

const overOrigin = (origin: Origin, location: string): RefWriterHarness => {
  const forge = openForge(origin, location);
  return {
    writer: forge.refs,
    push: (ref, text) => origin.push(ref, { 'a.txt': text }),
    refs: () => readRefs(origin),
    async [Symbol.asyncDispose]() {
      await forge[Symbol.asyncDispose]();
      await origin[Symbol.asyncDispose]();
    },
  };
};

describe('a repository of this machine', () => {
  describeRefWriter(async () => {
    const origin = await Origin.create({ bare: false });
    return overOrigin(origin, origin.path);
  });
});

describe('a repository behind a file address', () => {
  describeRefWriter(async () => {
    const origin = await Origin.create();
    return overOrigin(origin, pathToFileURL(origin.path).href);
  });
});

describe('a repository behind HTTP', () => {
  describeRefWriter(async () => {
    const origin = await Origin.create();
    const served = await HttpOrigin.serve(origin);
    const harness = overOrigin(origin, served.url());
    return {
      ...harness,
      async [Symbol.asyncDispose]() {
        await harness[Symbol.asyncDispose]();
        await served[Symbol.asyncDispose]();
      },
    };
  });
});

describe('branches that Eph makes', () => {
  const start = async (options: OriginOptions = {}) => {
    const origin = await Origin.create(options);
    onTestFinished(() => origin[Symbol.asyncDispose]());
    const open = (location: string): GitForge => {
      const forge = openForge(origin, location);
      onTestFinished(() => forge[Symbol.asyncDispose]());
      return forge;
    };
    const serve = async (served: HttpOriginOptions): Promise<HttpOrigin> => {
      const http = await HttpOrigin.serve(origin, served);
      onTestFinished(() => http[Symbol.asyncDispose]());
      return http;
    };
    return { origin, open, serve };
  };

  it.each([false, true])('carry the history that the remote has, and cost it nothing (address: %s)', async (remote) => {
    const { origin, open } = await start();
    const first = await origin.push(branch('main'), { 'a.txt': 'a' });
    const tree = await origin.git('rev-parse', `${first}^{tree}`);
    const second = commitSha(await origin.git('commit-tree', '-p', first, '-m', 'second', tree));
    await origin.git('update-ref', 'refs/heads/main', second);
    const objects = await origin.git('count-objects', '-v');
    const { refs } = open(remote ? pathToFileURL(origin.path).href : origin.path);
    expect(await refs.ensureBranch('preview/main', second, signal)).toBe(true);
    expect(await origin.git('rev-list', '--count', 'preview/main')).toBe('2');
    expect(await origin.git('count-objects', '-v')).toBe(objects);
    expect(await origin.git('fsck', '--strict')).toBe('');
  });

  it('may be of commits with long ids', async () => {
    const { origin, open } = await start({ format: 'sha256' });
    const main = await origin.push(branch('main'), { 'a.txt': 'a' });
    for (const location of [origin.path, pathToFileURL(origin.path).href]) {
      const { refs } = open(location);
      expect(await refs.ensureBranch('preview/a', main, signal)).toBe(true);
      expect(await refs.removeBranch('preview/a', main, signal)).toBe(true);
    }
  });

  it('run no hook of the repository', async () => {
    const { origin, open } = await start();
    const main = await origin.push(branch('main'), { 'a.txt': 'a' });
    const touched = join(origin.folder, 'touched');
    for (const hook of ['pre-receive', 'update', 'post-receive', 'reference-transaction', 'pre-push', 'post-update'])
      await writeFile(join(origin.gitFolder, 'hooks', hook), `#!/bin/sh\ntouch ${touched}\n`, { mode: 0o755 });
    for (const location of [origin.path, pathToFileURL(origin.path).href]) {
      const { refs } = open(location);
      await refs.ensureBranch('preview/a', main, signal);
      await refs.removeBranch('preview/a', main, signal);
    }
    expect(existsSync(touched)).toBe(false);
  });

  it('are not taken from under somebody who works on them', async () => {
    const { origin, open } = await start({ bare: false });
    const commit = await origin.push(branch('preview/a'), { 'a.txt': 'a' });
    await origin.git('symbolic-ref', 'HEAD', 'refs/heads/preview/a');
    const { refs } = open(origin.path);
    await expect(refs.removeBranch('preview/a', commit, signal)).rejects.toMatchObject({
      code: 'forge.refused',
      message: expect.stringContaining('it is checked out there'),
    });
    expect(await readRefs(origin)).toEqual({ 'refs/heads/preview/a': commit });
  });

  it('are not made where another branch is in the way', async () => {
    const { origin, open, serve } = await start();
    const main = await origin.push(branch('main'), { 'a.txt': 'a' });
    await origin.git('update-ref', 'refs/heads/preview', main);
    const http = await serve({});
    for (const location of [origin.path, http.url()])
      await expect(open(location).refs.ensureBranch('preview/a', main, signal)).rejects.toMatchObject({
        code: expect.stringMatching(/^(forge\.refused|api\.conflict)$/),
      });
    expect(Object.keys(await readRefs(origin)).toSorted()).toEqual(['refs/heads/main', 'refs/heads/preview']);
  });

  it('need the right to push', async () => {
    const { origin, open, serve } = await start();
    const main = await origin.push(branch('main'), { 'a.txt': 'a' });
    const readOnly = await serve({ readOnly: true });
    await expect(open(readOnly.url()).refs.ensureBranch('preview/a', main, signal)).rejects.toMatchObject({
      code: 'forge.refused',
    });
    expect(await readRefs(origin)).toEqual({ 'refs/heads/main': main });
  });

  it('may be rejected by the remote, with its reason', async () => {
    const { origin, open, serve } = await start();
    const main = await origin.push(branch('main'), { 'a.txt': 'a' });
    const commit = await origin.push(branch('preview/a'), { 'a.txt': 'b' });
    await origin.git('config', 'receive.denyDeletes', 'true');
    const http = await serve({});
    await expect(open(http.url()).refs.removeBranch('preview/a', commit, signal)).rejects.toMatchObject({
      code: 'forge.refused',
      message: expect.stringContaining('deletion prohibited'),
    });
    expect(await readRefs(origin)).toEqual({ 'refs/heads/main': main, 'refs/heads/preview/a': commit });
  });

  it('are not thought made while the remote is away', async () => {
    const { origin, open, serve } = await start();
    const main = await origin.push(branch('main'), { 'a.txt': 'a' });
    const http = await serve({});
    const { refs } = open(http.url());
    http.outage = 503;
    await expect(refs.ensureBranch('preview/a', main, signal)).rejects.toMatchObject({ code: 'forge.unreachable' });
    await expect(refs.removeBranch('preview/a', main, signal)).rejects.toMatchObject({ code: 'forge.unreachable' });
  });
});
