import { execFile } from 'node:child_process';
import { access, chmod, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type CommitSha, commitSha, projectId, type Source, type SourceRef, sourceKey } from '@eph/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createGitForge, type GitForgeOptions } from './git-forge.ts';
import { Origin, type OriginOptions } from './origin.fake.ts';

const { signal } = new AbortController();
const branch = (name: string): SourceRef => ({ kind: 'branch', name });
const tag = (name: string): SourceRef => ({ kind: 'tag', name });

const start = async (options: OriginOptions = {}, location?: (origin: Origin) => string, more: Partial<GitForgeOptions> = {}) => {
  const origin = await Origin.create(options);
  const forge = createGitForge({
    project: projectId('shop'),
    location: location?.(origin) ?? origin.path,
    folder: join(origin.folder, 'data'),
    ...more,
  });
  onTestFinished(async () => {
    await forge[Symbol.asyncDispose]();
    await origin[Symbol.asyncDispose]();
  });
  const readText = async (commit: CommitSha, path: string) =>
    Buffer.from((await forge.readFile(commit, path, 1_000, signal)) ?? []).toString();
  return { origin, forge, readText };
};

const byKey = (sources: readonly Source[]): Record<string, CommitSha> =>
  Object.fromEntries(sources.map((source) => [sourceKey(source.ref), source.commit]));

describe('refs of a repository on this machine', () => {
  it('are found loose, packed and both', async () => {
    const { origin, forge } = await start();
    const one = await origin.push(branch('one'), { a: '1' });
    await origin.annotate('v1', one);
    await origin.git('pack-refs', '--all');
    const two = await origin.push(branch('two'), { a: '2' });
    await origin.push(branch('one'), { a: '3' });
    await origin.git('pack-refs', '--all');
    const again = await origin.push(branch('one'), { a: '4' });
    const reading = await forge.sources(signal);
    expect(reading).toMatchObject({ complete: true });
    expect(byKey(reading.items)).toEqual({ 'branch:one': again, 'branch:two': two, 'tag:v1': one });
    await origin.delete(branch('two'));
    expect(await forge.source(branch('two'), signal)).toEqual({ state: 'gone' });
  });

  it('lead tags of tags to their commit, and tags of other things nowhere', async () => {
    const { origin, forge } = await start();
    const commit = await origin.push(branch('main'), { a: '1' });
    await origin.annotate('inner', commit);
    await origin.annotate('outer', await origin.git('rev-parse', 'refs/tags/inner'));
    const blob = await origin.blob('a key');
    await origin.git('update-ref', 'refs/tags/blob', blob);
    await origin.annotate('annotated-blob', blob);
    await origin.git('update-ref', 'refs/tags/tree', await origin.git('rev-parse', `${commit}^{tree}`));
    for (let pass = 0; pass < 2; pass += 1) {
      const reading = await forge.sources(signal);
      expect(reading).toMatchObject({ complete: true });
      expect(byKey(reading.items)).toEqual({ 'branch:main': commit, 'tag:inner': commit, 'tag:outer': commit });
    }
    expect(await forge.source(tag('outer'), signal)).toMatchObject({ state: 'present', source: { commit } });
    expect(await forge.source(tag('blob'), signal)).toEqual({ state: 'gone' });
  });

  it.each(['garbage', '', '1234\n', '\0'.repeat(41)])('make a reading incomplete when one is broken (%j)', async (content) => {
    const { origin, forge } = await start();
    const commit = await origin.push(branch('main'), { a: '1' });
    await writeFile(join(origin.gitFolder, 'refs/heads/broken'), content);
    const reading = await forge.sources(signal);
    expect(reading).toMatchObject({
      complete: false,
      faults: [{ code: 'forge.incomplete', message: expect.stringContaining('refs/heads/broken') }],
    });
    expect(byKey(reading.items)).toEqual({ 'branch:main': commit });
    expect(await forge.source(branch('broken'), signal)).toMatchObject({ state: 'unknown' });
    expect(await forge.source(branch('main'), signal)).toMatchObject({ state: 'present' });
    expect(await forge.source(branch('other'), signal)).toEqual({ state: 'gone' });
    await rm(join(origin.gitFolder, 'refs/heads/broken'));
    expect(await forge.sources(signal)).toMatchObject({ complete: true });
  });

  it('make a reading incomplete when one points at something that is not there', async () => {
    const { origin, forge } = await start();
    const commit = await origin.push(branch('main'), { a: '1' });
    const missing = '1234567890123456789012345678901234567890';
    await writeFile(join(origin.gitFolder, 'refs/heads/ahead'), `${missing}\n`);
    const reading = await forge.sources(signal);
    expect(reading).toMatchObject({ complete: false, faults: [{ message: expect.stringMatching(/"ahead".*1234567890/) }] });
    expect(byKey(reading.items)).toEqual({ 'branch:main': commit });
    expect(await forge.source(branch('ahead'), signal)).toMatchObject({ state: 'unknown' });
  });

  it('are doubted, and never taken for something else, while a pack is half written', async () => {
    const { origin, forge } = await start();
    for (let index = 0; index < 5; index += 1) await origin.push(branch(`b${index}`), { a: 'x'.repeat(1_000 * index) });
    await origin.git('repack', '-a', '-d', '-q');
    const folder = join(origin.gitFolder, 'objects/pack');
    const pack = join(folder, (await readdir(folder)).find((name) => name.endsWith('.pack')) ?? '');
    const whole = await readFile(pack);
    await chmod(pack, 0o644);
    await truncate(pack, 60);
    const reading = await forge.sources(signal);
    expect(reading).toMatchObject({ complete: false, items: [] });
    expect(reading.faults).toHaveLength(5);
    // Readings that overlap with the moment the pack becomes whole see some objects and not others.
    const readings = [];
    for (let round = 0; round < 20; round += 1) {
      readings.push(forge.sources(signal));
      if (round === 10) await writeFile(pack, whole);
      await forge.source(branch('b0'), signal);
    }
    for (const { complete, items } of await Promise.all(readings)) expect(complete ? items.length : 5).toBe(5);
    await expect.poll(() => forge.sources(signal)).toMatchObject({ complete: true, items: { length: 5 } });
  });

  it('ignore a symbolic ref to nothing', async () => {
    const { origin, forge } = await start();
    const commit = await origin.push(branch('main'), { a: '1' });
    await origin.git('symbolic-ref', 'refs/heads/alias', 'refs/heads/main');
    await origin.git('symbolic-ref', 'refs/heads/dangling', 'refs/heads/nowhere');
    const reading = await forge.sources(signal);
    expect(reading).toMatchObject({ complete: true });
    expect(byKey(reading.items)).toEqual({ 'branch:main': commit, 'branch:alias': commit });
  });

  it('are read for ten thousand branches', async () => {
    const { origin, forge } = await start();
    const commit = await origin.push(branch('main'), { a: '1' });
    const updates = Array.from({ length: 10_000 }, (_, index) => `create refs/heads/preview/${index} ${commit}\n`).join('');
    await origin.gitWith(updates, 'update-ref', '--stdin');
    expect(await forge.sources(signal)).toMatchObject({ complete: true, items: { length: 10_001 } });
  });
});

describe('a path', () => {
  it.each<readonly [string, (origin: Origin) => Promise<string>]>([
    ['that does not exist', (origin) => Promise.resolve(join(origin.folder, 'nothing'))],
    [
      'that is a file',
      async (origin) => {
        await writeFile(join(origin.folder, 'file'), 'x');
        return join(origin.folder, 'file');
      },
    ],
    [
      'that is an empty folder',
      async (origin) => {
        await mkdir(join(origin.folder, 'empty'));
        return join(origin.folder, 'empty');
      },
    ],
    [
      'inside another repository',
      async (origin) => {
        await mkdir(join(origin.path, 'inner'));
        return join(origin.path, 'inner');
      },
    ],
    [
      'to a repository that lost its HEAD',
      async (origin) => {
        await rm(join(origin.gitFolder, 'HEAD'));
        return origin.path;
      },
    ],
    [
      'to a repository whose configuration makes no sense',
      async (origin) => {
        await writeFile(join(origin.gitFolder, 'config'), '[[[');
        return origin.path;
      },
    ],
  ])('%s is never an empty repository', async (_name, locate) => {
    const origin = await Origin.create({ bare: false });
    await origin.push(branch('main'), { a: '1' });
    const location = await locate(origin);
    const forge = createGitForge({ project: projectId('shop'), location, folder: join(origin.folder, 'data') });
    onTestFinished(async () => {
      await forge[Symbol.asyncDispose]();
      await origin[Symbol.asyncDispose]();
    });
    const reading = await forge.sources(signal);
    expect(reading).toMatchObject({ complete: false, items: [], faults: [{ code: 'forge.unreachable' }] });
    expect(reading.faults[0]?.message).toContain(location);
    expect(await forge.source(branch('main'), signal)).toMatchObject({ state: 'unknown' });
    const commit = 'a'.repeat(40) as CommitSha;
    await expect(forge.readFile(commit, 'a', 10, signal)).rejects.toMatchObject({ code: 'forge.unreachable' });
  });

  it('may lead to a linked worktree', async () => {
    const { origin, forge, readText } = await start({ bare: false }, ({ folder }) => join(folder, 'worktree'));
    const commit = await origin.push(branch('main'), { a: 'text' });
    await origin.git('worktree', 'add', '-q', '--detach', join(origin.folder, 'worktree'), commit);
    const reading = await forge.sources(signal);
    expect(reading).toMatchObject({ complete: true });
    expect(byKey(reading.items)).toEqual({ 'branch:main': commit });
    expect(await readText(commit, 'a')).toBe('text');
  });

  it('may hold a repository with SHA-256', async () => {
    const { origin, forge, readText } = await start({ format: 'sha256' });
    const commit = await origin.push(branch('main'), { 'deep/a': 'text' });
    expect(commit).toHaveLength(64);
    expect(byKey((await forge.sources(signal)).items)).toEqual({ 'branch:main': commit });
    expect(await readText(commit, 'deep/a')).toBe('text');
  });

  it('may hold another repository from one moment to the next', async () => {
    const { origin, forge, readText } = await start();
    const old = await origin.push(branch('main'), { a: 'old' });
    expect(await readText(old, 'a')).toBe('old');
    await forge.sources(signal);
    await rm(origin.path, { recursive: true });
    expect(await forge.sources(signal)).toMatchObject({ complete: false });
    await origin.init();
    const next = await origin.push(branch('main'), { a: 'new' });
    await origin.git('repack', '-a', '-d', '-q');
    expect(byKey((await forge.sources(signal)).items)).toEqual({ 'branch:main': next });
    expect(await readText(next, 'a')).toBe('new');
  });

  it('that may not be read is unknown, down to a single folder of refs', async () => {
    const { origin } = await start();
    await origin.push(branch('main'), { a: '1' });
    await origin.push(branch('secret/x'), { a: '2' });
    await origin.writeNotes('secret/x', new Map());
    expect(await readHumbly(origin)).toEqual({ complete: true, names: ['main', 'secret/x'], note: 'none' });
    await chmod(join(origin.gitFolder, 'refs/notes/secret'), 0);
    expect(await readHumbly(origin)).toMatchObject({ complete: true, note: 'forge.incomplete' });
    await chmod(join(origin.gitFolder, 'refs/notes/secret'), 0o755);
    await chmod(join(origin.gitFolder, 'refs/heads/secret'), 0);
    expect(await readHumbly(origin)).toMatchObject({ complete: false });
    await chmod(join(origin.gitFolder, 'refs/heads/secret'), 0o755);
    await chmod(origin.path, 0);
    expect(await readHumbly(origin)).toMatchObject({ complete: false });
    await chmod(origin.path, 0o755);
  });
});

/** In a process of its own: root may read everything, unless it gives that up first. */
const readHumbly = async (origin: Origin): Promise<unknown> => {
  const script = `
    const { createGitForge } = await import(${JSON.stringify(fileURLToPath(new URL('git-forge.ts', import.meta.url)))});
    const forge = createGitForge({ project: 'shop', location: ${JSON.stringify(origin.path)}, folder: ${JSON.stringify(join(origin.folder, 'humble'))} });
    const reading = await forge.sources(new AbortController().signal);
    const note = await forge.readNote('0'.repeat(40), 'other', new AbortController().signal).then((text) => text ?? 'none', ({ code }) => code);
    console.log(JSON.stringify({ complete: reading.complete, names: reading.items.map(({ ref }) => ref.name), note }));
    await forge[Symbol.asyncDispose]();`;
  const command = [process.execPath, '--input-type=module', '-e', script];
  const [program = '', ...args] =
    process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search', '--', ...command] : command;
  const { stdout } = await promisify(execFile)(program, args);
  return JSON.parse(stdout);
};

describe('files of a commit', () => {
  it('must be regular', async () => {
    const { origin, forge } = await start();
    const commit = await origin.push(branch('main'), {
      'folder/a': 'a',
      link: { link: 'folder/a' },
      linked: { link: 'folder' },
      module: { submodule: '1234567890123456789012345678901234567890' },
      run: { executable: 'x' },
    });
    for (const path of ['folder', 'link', 'linked', 'module']) {
      await expect(forge.readFile(commit, path, 10, signal), path).rejects.toMatchObject({
        code: 'spec.invalid',
        message: expect.stringContaining(path),
      });
    }
    expect(await forge.readFile(commit, 'linked/a', 10, signal)).toBeUndefined();
    expect(await forge.readFile(commit, 'run', 10, signal)).toEqual(Uint8Array.from(Buffer.from('x')));
  });

  it('are not read into memory when they are too large', async () => {
    const { origin, forge, readText } = await start();
    const commit = await origin.push(branch('main'), { huge: Buffer.alloc(40_000_000), small: 'text' });
    const answers = await Promise.allSettled([forge.readFile(commit, 'huge', 1_000, signal), readText(commit, 'small')]);
    expect(answers).toMatchObject([
      { reason: { code: 'spec.invalid', message: expect.stringContaining('40000000') } },
      { value: 'text' },
    ]);
  });

  it('are missing with a reason when their object is', async () => {
    const { origin, forge } = await start();
    const commit = await origin.push(branch('main'), { a: 'text' });
    const blob = await origin.git('rev-parse', `${commit}:a`);
    await rm(join(origin.gitFolder, 'objects', blob.slice(0, 2), blob.slice(2)));
    await expect(forge.readFile(commit, 'a', 10, signal)).rejects.toMatchObject({
      code: 'source.commit_missing',
      message: expect.stringContaining('"a"'),
    });
  });

  it('come from the commit, whatever refs/replace says', async () => {
    const { origin, readText } = await start();
    const good = await origin.push(branch('main'), { a: 'good' });
    const evil = await origin.push(branch('evil'), { a: 'evil' });
    await origin.git('replace', good, evil);
    expect(await readText(good, 'a')).toBe('good');
  });

  it('answer nobody who has left', async () => {
    const { origin, forge } = await start();
    const commit = await origin.push(branch('main'), { a: 'text' });
    const aborted = AbortSignal.abort(new Error('left'));
    await expect(forge.readFile(commit, 'a', 10, aborted)).rejects.toThrow('left');
    expect(await forge.sources(aborted)).toMatchObject({ complete: false, faults: [{ code: 'forge.incomplete' }] });
    expect(await forge.source(branch('main'), aborted)).toMatchObject({ state: 'unknown' });
  });
});

describe('the date of a commit', () => {
  it.each([
    ['1700000001 +0000', '2023-11-14T22:13:21.000Z'],
    ['1700000001 -1200', '2023-11-14T22:13:21.000Z'],
    ['0 +0000', '1970-01-01T00:00:00.000Z'],
    ['4102444800 +0000', '2100-01-01T00:00:00.000Z'],
    ['8640000000000 +0000', '+275760-09-13T00:00:00.000Z'],
    ['8640000000001 +0000', '1970-01-01T00:00:00.000Z'],
    [`${'9'.repeat(1_000)} +0000`, '1970-01-01T00:00:00.000Z'],
    ['-1 +0000', '1970-01-01T00:00:00.000Z'],
    ['yesterday', '1970-01-01T00:00:00.000Z'],
    ['', '1970-01-01T00:00:00.000Z'],
  ])('%s is %s', async (written, expected) => {
    const { origin, forge } = await start();
    const tree = await origin.git('rev-parse', `${await origin.push(branch('main'), { a: 'a' })}^{tree}`);
    const text = [
      `tree ${tree}`,
      'author T > 1 +0000 <t@localhost> 1600000000 +0000',
      `committer T\r > 2 +0000 <t@localhost> ${written}`,
      'gpgsig -----BEGIN',
      ' committer T <t@localhost> 3 +0000',
      '',
      'committer T <t@localhost> 4 +0000',
      '',
    ].join('\n');
    const commit = commitSha(await origin.gitWith(text, 'hash-object', '-t', 'commit', '-w', '--stdin', '--literally'));
    expect(await forge.committedAt(commit, signal)).toBe(expected);
  });
});

describe('what a repository wants to run', () => {
  it('is never run', async () => {
    const { origin, forge, readText } = await start({ bare: false });
    const canary = join(origin.folder, 'canary');
    const commit = await origin.push(branch('main'), { a: 'text' });
    await origin.annotate('v1', commit);
    const missing = await origin.push(branch('partial'), { a: 'lazily fetched' });
    await origin.writeNotes('images', new Map([[commit, 'note']]));
    for (const [key, value] of [
      ['core.fsmonitor', `touch ${canary}`],
      ['core.sshCommand', `touch ${canary}`],
      ['core.pager', `touch ${canary}`],
      ['core.editor', `touch ${canary}`],
      ['core.alternateRefsCommand', `touch ${canary}`],
      ['credential.helper', `!touch ${canary}`],
      ['gpg.program', canary],
      ['alias.for-each-ref', `!touch ${canary}`],
      ['alias.cat-file', `!touch ${canary}`],
      ['core.repositoryFormatVersion', '1'],
      ['extensions.partialClone', 'evil'],
      ['remote.evil.promisor', 'true'],
      ['remote.evil.url', `ext::sh -c "touch% ${canary}"`],
      ['protocol.ext.allow', 'always'],
    ] as const) {
      await origin.git('config', key, value);
    }
    const blob = await origin.git('rev-parse', `${missing}:a`);
    await rm(join(origin.gitFolder, 'objects', blob.slice(0, 2), blob.slice(2)));
    for (const hook of ['reference-transaction', 'post-checkout', 'pre-auto-gc', 'fsmonitor-watchman']) {
      await writeFile(join(origin.gitFolder, 'hooks', hook), `#!/bin/sh\ntouch ${canary}\n`, { mode: 0o755 });
    }
    expect(await forge.sources(signal)).toMatchObject({ complete: true, items: { length: 3 } });
    expect(await readText(commit, 'a')).toBe('text');
    await expect(readText(missing, 'a')).rejects.toMatchObject({ code: 'source.commit_missing' });
    await forge.exportTree(commit, join(origin.folder, 'checkout'), signal);
    expect(await readFile(join(origin.folder, 'checkout', 'a'), 'utf8')).toBe('text');
    expect(await forge.readNote(commit, 'images', signal)).toBe('note');
    expect(await forge.committedAt(commit, signal)).toMatch(/^2023-/);
    await expect(access(canary)).rejects.toThrow('ENOENT');
  });
});
