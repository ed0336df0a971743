import { access, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type CommitSha, projectId, type Source, type SourceRef, silentLog, sourceKey } from '@eph/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createGit } from './git-command.ts';
import { createGitForge } from './git-forge.ts';
import { HttpOrigin, type HttpOriginOptions } from './http-origin.fake.ts';
import { parseLocation } from './location.ts';
import { createMirror } from './mirror.ts';
import { Origin, type OriginOptions } from './origin.fake.ts';

const { signal } = new AbortController();
const branch = (name: string): SourceRef => ({ kind: 'branch', name });
const listing = 'LIST /origin/git-upload-pack';
const fetchRequests = ['GET /origin/info/refs', 'POST /origin/git-upload-pack'];

const start = async (options: HttpOriginOptions = {}, credentials?: string, originOptions: OriginOptions = {}) => {
  const origin = await Origin.create(originOptions);
  const served = await HttpOrigin.serve(origin, options);
  const folder = join(origin.folder, 'data');
  const logged: string[] = [];
  const open = () => {
    const forge = createGitForge({
      project: projectId('shop'),
      location: served.url(credentials),
      folder,
      log: { ...silentLog, warn: (_, message) => void logged.push(message) },
    });
    onTestFinished(() => forge[Symbol.asyncDispose]());
    const readText = async (commit: CommitSha, path: string) =>
      Buffer.from((await forge.readFile(commit, path, 1_000, signal)) ?? []).toString();
    return { forge, readText };
  };
  onTestFinished(async () => {
    await served[Symbol.asyncDispose]();
    await origin[Symbol.asyncDispose]();
  });
  /** Since the last time this was asked. A transfer of objects begins with a look at what the server can do. */
  const countRequests = () => {
    const requests = served.requests.splice(0);
    return {
      listings: requests.filter((request) => request === listing).length,
      transfers: requests.filter((request) => request === fetchRequests[0]).length,
      others: requests.filter((request) => ![listing, ...fetchRequests].includes(request)),
    };
  };
  return { origin, served, folder, logged, open, countRequests, ...open() };
};

const byKey = (sources: readonly Source[]): Record<string, CommitSha> =>
  Object.fromEntries(sources.map((source) => [sourceKey(source.ref), source.commit]));

describe('a repository behind an address', () => {
  it('is fetched in one go when everything is new, and not again after a restart', async () => {
    const { origin, forge, readText, open, countRequests } = await start();
    const commits: CommitSha[] = [];
    for (let index = 0; index < 40; index += 1)
      commits.push(await origin.push(branch(`preview/${index}`), { a: `text ${index}` }));
    await forge.sources(signal);
    countRequests();
    expect(await Promise.all(commits.map((commit) => readText(commit, 'a')))).toEqual(commits.map((_, index) => `text ${index}`));
    expect(countRequests()).toEqual({ listings: 0, transfers: 1, others: [] });
    await forge[Symbol.asyncDispose]();
    const again = open();
    await again.forge.sources(signal);
    countRequests();
    expect(await again.readText(commits[7] as CommitSha, 'a')).toBe('text 7');
    expect(countRequests()).toEqual({ listings: 0, transfers: 0, others: [] });
  });

  it('is listed once for everybody who asks at the same time', async () => {
    const { origin, forge, countRequests } = await start();
    const commit = await origin.push(branch('main'), { a: '1' });
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => forge.source(branch(index === 0 ? 'main' : `gone-${index}`), signal)),
    );
    expect(answers[0]).toMatchObject({ state: 'present', source: { commit } });
    expect(answers.slice(1).every((answer) => answer.state === 'gone')).toBe(true);
    const { listings, transfers } = countRequests();
    expect(listings).toBeGreaterThanOrEqual(1);
    expect(listings).toBeLessThanOrEqual(2);
    expect(transfers).toBe(0);
  });

  it('gives the commits it has when others vanished meanwhile', async () => {
    const { origin, forge, readText } = await start();
    const commits: CommitSha[] = [];
    for (let index = 0; index < 5; index += 1) commits.push(await origin.push(branch(`b${index}`), { a: `text ${index}` }));
    await forge.sources(signal);
    for (const index of [1, 3]) await origin.delete(branch(`b${index}`));
    await origin.git('reflog', 'expire', '--expire=now', '--all');
    await origin.git('prune', '--expire=now');
    const answers = await Promise.allSettled(commits.map((commit) => readText(commit, 'a')));
    expect(answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : answer.reason.code))).toEqual([
      'text 0',
      'source.commit_missing',
      'text 2',
      'source.commit_missing',
      'text 4',
    ]);
  });

  it('takes a broken ref on the server for an incomplete reading', async () => {
    const { origin, forge } = await start();
    const commit = await origin.push(branch('main'), { a: '1' });
    await writeFile(join(origin.gitFolder, 'refs/heads/broken'), 'garbage');
    const reading = await forge.sources(signal);
    expect(reading).toMatchObject({ complete: false, faults: [{ message: expect.stringContaining('"broken"') }] });
    expect(byKey(reading.items)).toEqual({ 'branch:main': commit });
    expect(await forge.source(branch('other'), signal)).toMatchObject({ state: 'unknown' });
  });

  it('learns which tags lead to no commit', async () => {
    const { origin, forge } = await start();
    const commit = await origin.push(branch('main'), { a: '1' });
    const blob = (await origin.blob('a key')) as CommitSha;
    await origin.annotate('key', blob);
    await forge.sources(signal);
    await expect(forge.readFile(blob, 'a', 10, signal)).rejects.toMatchObject({ code: 'source.commit_missing' });
    const reading = await forge.sources(signal);
    expect(reading).toMatchObject({ complete: true });
    expect(byKey(reading.items)).toEqual({ 'branch:main': commit });
  });

  it('may use SHA-256', async () => {
    const { origin, forge, readText } = await start({}, undefined, { format: 'sha256' });
    expect(await forge.sources(signal)).toMatchObject({ complete: true, items: [] });
    const commit = await origin.push(branch('main'), { 'deep/a': 'text' });
    expect(byKey((await forge.sources(signal)).items)).toEqual({ 'branch:main': commit });
    expect(await readText(commit, 'deep/a')).toBe('text');
  });

  it('is exported with large files', async () => {
    const { origin, forge } = await start();
    const commit = await origin.push(branch('main'), { large: Buffer.alloc(2_000_000, 'x'), small: 'text' });
    const checkout = join(origin.folder, 'checkout');
    await forge.exportTree(commit, checkout, signal);
    expect((await readdir(checkout)).toSorted()).toEqual(['large', 'small']);
  });
});

describe('the mirror of a remote', () => {
  it.each<readonly [string, (mirror: string) => Promise<void>]>([
    ['was deleted', (mirror) => rm(mirror, { recursive: true })],
    [
      'lost its objects',
      (mirror) => rm(join(mirror, 'objects'), { recursive: true }).then(() => writeFile(join(mirror, 'objects'), '')),
    ],
    ['lost its configuration', (mirror) => writeFile(join(mirror, 'config'), '[[[')],
    ['lost its refs', (mirror) => rm(join(mirror, 'refs'), { recursive: true })],
    ['has a damaged list of shallow commits', (mirror) => writeFile(join(mirror, 'shallow'), 'garbage')],
    ['is locked by a process that was killed', (mirror) => writeFile(join(mirror, 'shallow.lock'), '')],
    ['is half made', (mirror) => rm(join(mirror, 'HEAD'))],
  ])('is of no account when it %s', async (_name, damage) => {
    const { origin, folder, forge, readText, open } = await start();
    const old = await origin.push(branch('main'), { a: 'old' });
    await forge.sources(signal);
    expect(await readText(old, 'a')).toBe('old');
    await damage(join(folder, 'mirror.git'));
    const next = await origin.push(branch('next'), { a: 'new' });
    await forge.sources(signal);
    expect(await Promise.all([readText(old, 'a'), readText(next, 'a'), readText(old, 'a')])).toEqual(['old', 'new', 'old']);
    await forge[Symbol.asyncDispose]();
    await damage(join(folder, 'mirror.git'));
    const again = open();
    await again.forge.sources(signal);
    expect(await Promise.all([again.readText(old, 'a'), again.readText(next, 'a')])).toEqual(['old', 'new']);
  });

  it('is kept when the remote fails', async () => {
    const { origin, served, logged, forge, readText } = await start();
    const commit = await origin.push(branch('main'), { a: 'text' });
    await forge.sources(signal);
    expect(await readText(commit, 'a')).toBe('text');
    served.outage = 500;
    await expect(readText('1234567890123456789012345678901234567890' as CommitSha, 'a')).rejects.toMatchObject({
      code: 'forge.unreachable',
    });
    expect(await readText(commit, 'a')).toBe('text');
    expect(logged).not.toContain('a mirror is rebuilt');
  });

  it('lets go of commits that no ref leads to any more', async () => {
    const origin = await Origin.create();
    onTestFinished(() => origin[Symbol.asyncDispose]());
    const location = parseLocation(pathToFileURL(origin.path).href);
    const git = createGit({
      home: join(origin.folder, 'home'),
      location,
      environment: { PATH: process.env['PATH'] },
      lifetime: signal,
    });
    const mirror = createMirror({
      git,
      folder: join(origin.folder, 'data'),
      url: pathToFileURL(origin.path).href,
      shown: 'the origin',
      format: () => 'sha1',
      log: silentLog,
      pruneAfter: 3,
    });
    onTestFinished(() => mirror[Symbol.asyncDispose]());
    const commits: CommitSha[] = [];
    for (let index = 0; index < 4; index += 1) commits.push(await origin.push(branch(`b${index}`), { a: `text ${index}` }));
    expect(await mirror.fetch(commits, signal)).toEqual(new Set());
    await mirror.prune(new Set(commits.slice(0, 2)), signal);
    expect(commits.map((commit) => mirror.has(commit))).toEqual([true, true, true, true]);
    await mirror.prune(new Set(commits.slice(0, 1)), signal);
    expect(commits.map((commit) => mirror.has(commit))).toEqual([true, false, false, false]);
    const sizes = await Promise.all(commits.map(async (commit) => (await mirror.objects.read(commit, 1_000, signal))?.type));
    expect(sizes[0]).toBe('commit');
    await mirror.objects[Symbol.asyncDispose]();
    const left = await mirror.run(['cat-file', '--batch-all-objects', '--batch-check'], { signal });
    expect(left.stdout.toString().match(/commit/g)).toHaveLength(1);
    expect(await mirror.fetch(commits.slice(1, 2), signal)).toEqual(new Set());
  });
});

describe('access to a remote', () => {
  it('uses the credentials of the address and shows them nowhere', async () => {
    const { origin, forge, readText, folder } = await start({ credentials: 'robot:pass-word-2' }, 'robot:pass-word-2');
    const commit = await origin.push(branch('main'), { a: 'text' });
    expect(await forge.sources(signal)).toMatchObject({ complete: true });
    expect(await readText(commit, 'a')).toBe('text');
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    const secrets = ['pass-word-2', Buffer.from('robot:pass-word-2').toString('base64')];
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) {
      const content = await readFile(file, 'latin1');
      expect(secrets.some((secret) => content.includes(secret))).toBe(false);
    }
  });

  it.each(['robot:wrong-word', undefined])('is refused with a sentence and without secrets (%s)', async (credentials) => {
    const { forge } = await start({ credentials: 'robot:pass-word-3' }, credentials);
    const reading = await forge.sources(signal);
    expect(reading).toMatchObject({ complete: false, faults: [{ code: 'forge.refused' }] });
    expect(reading.faults[0]?.message).toMatch(/denies access/);
    expect(JSON.stringify(reading)).not.toMatch(/wrong-word|pass-word/);
    await expect(forge.readFile('a'.repeat(40) as CommitSha, 'a', 10, signal)).rejects.toMatchObject({ code: 'forge.refused' });
  });

  it.each([
    [500, 'forge.unreachable'],
    [503, 'forge.unreachable'],
    [404, 'forge.unreachable'],
    [403, 'forge.refused'],
  ] as const)('that answers %i is unknown, never gone', async (status, code) => {
    const { origin, served, forge } = await start();
    await origin.push(branch('main'), { a: '1' });
    served.outage = status;
    expect(await forge.sources(signal)).toMatchObject({ complete: false, items: [], faults: [{ code }] });
    expect(await forge.source(branch('main'), signal)).toMatchObject({ state: 'unknown', fault: { code } });
  });

  it('that nobody answers is unreachable', async () => {
    const { served, forge } = await start();
    await served[Symbol.asyncDispose]();
    expect(await forge.sources(signal)).toMatchObject({ complete: false, faults: [{ code: 'forge.unreachable' }] });
  });

  it('runs nothing that the repository wants to run, also on this machine', async () => {
    const origin = await Origin.create();
    const forge = createGitForge({
      project: projectId('shop'),
      location: pathToFileURL(origin.path).href,
      folder: join(origin.folder, 'data'),
    });
    onTestFinished(async () => {
      await forge[Symbol.asyncDispose]();
      await origin[Symbol.asyncDispose]();
    });
    const canary = join(origin.folder, 'canary');
    const commit = await origin.push(branch('main'), { a: 'text' });
    await origin.git('config', 'uploadpack.packObjectsHook', `touch ${canary}; exec "$@"`);
    await origin.git('config', 'core.fsmonitor', `touch ${canary}`);
    expect(await forge.sources(signal)).toMatchObject({ complete: true });
    expect(Buffer.from((await forge.readFile(commit, 'a', 10, signal)) ?? []).toString()).toBe('text');
    await expect(access(canary)).rejects.toThrow('ENOENT');
  });
});
