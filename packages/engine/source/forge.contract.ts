import { createHash } from 'node:crypto';
import { access, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CommitSha, commitSha, isNotesName, noteLimitBytes, type Source, type SourceRef, sourceKey } from '@eph/contract';
import { expect, it, onTestFinished } from 'vitest';
import type { Forge } from './forge.ts';

export interface ForgeHarness extends AsyncDisposable {
  /** Over an empty repository. */
  readonly forge: Forge;
  /** A new commit that holds exactly these files; the ref is made or, whatever it held before, moved to it. */
  push(ref: SourceRef, files: { readonly [path: string]: string }): Promise<CommitSha>;
  /** A tag that is an object of its own, where the forge knows such a thing. */
  annotate(tag: string, commit: CommitSha): Promise<void>;
  delete(ref: SourceRef): Promise<void>;
  /** Makes these the notes in `refs/notes/<notes>`, and no others, each below so many folders. */
  writeNotes(notes: string, texts: ReadonlyMap<CommitSha, string>, fanOut?: number): Promise<void>;
  deleteNotes(notes: string): Promise<void>;
  /** How many requests the forge has made so far, where that can be counted. */
  readonly countRequests?: () => number;
  /** The repository cannot be reached from now on. */
  disconnect(): Promise<void>;
  reconnect(): Promise<void>;
}

export interface ForgeTraits {
  /** Whether a push is noticed while it happens. Where it is not, passes and webhooks find it. */
  readonly notices: boolean;
}

const branch = (name: string): SourceRef => ({ kind: 'branch', name });
const tag = (name: string): SourceRef => ({ kind: 'tag', name });
const nowhere = commitSha('0123456789abcdef0123456789abcdef01234567');
const limit = 1024 * 1024;
const deadlineMs = 20_000;

/** Legal names that have harmed other programs. */
const hostileNames = [
  '-rf',
  '--upload-pack=touch',
  '$(touch${IFS}x)',
  '`id`;&&|<>"\'!#%',
  'über/größe/日本語/🚢',
  'a.b_c@d,e=f+g',
  'refs/heads/main',
  'HEAD',
  '%2e%2e%2f',
  `${'long/'.repeat(20)}${'n'.repeat(150)}`,
];

/** Not legal in a ref. */
const illegalNotes = [
  '',
  '/',
  '/a',
  'a/',
  'a//b',
  '.',
  '..',
  '../x',
  'a/../../heads/main',
  '.a',
  'a/.b',
  'a.lock',
  'a.lock/b',
  'a.',
  'a b',
  'a\tb',
  'a\nb',
  'a\0b',
  'a\x7f',
  'a~1',
  'a^{tree}',
  'a:b',
  'a?',
  '*',
  'a[b',
  'a\\b',
  'a@{0}',
  '\ud800',
  'x'.repeat(10_000),
];

/** Other commits that have notes. */
const manyNotes = (count: number): ReadonlyMap<CommitSha, string> =>
  new Map(
    Array.from({ length: count }, (_, index) => {
      const commit = createHash('sha1').update(`${index}`).digest('hex');
      return [commitSha(commit), `note ${index}\n`];
    }),
  );

export const describeForge = (traits: ForgeTraits, create: () => Promise<ForgeHarness>): void => {
  const start = async () => {
    const harness = await create();
    const folder = await mkdtemp(join(tmpdir(), 'eph-forge-contract-'));
    const abort = new AbortController();
    onTestFinished(async () => {
      abort.abort();
      await harness[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    });
    const { signal } = abort;
    const readText = async (commit: CommitSha, path: string): Promise<string | undefined> => {
      const bytes = await harness.forge.readFile(commit, path, limit, signal);
      return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
    };
    return { harness, forge: harness.forge, signal, checkout: join(folder, 'checkout'), readText };
  };

  const exists = async (path: string): Promise<boolean> =>
    await access(path).then(
      () => true,
      () => false,
    );

  const byKey = (sources: readonly Source[]): Record<string, CommitSha> =>
    Object.fromEntries(sources.map((source) => [sourceKey(source.ref), source.commit]));

  it('reads an empty repository completely', async () => {
    const { forge, signal } = await start();
    expect(await forge.sources(signal)).toMatchObject({ items: [], complete: true, faults: [] });
  });

  it('reads every branch and tag with its commit', async () => {
    const { harness, forge, signal } = await start();
    const main = await harness.push(branch('main'), { 'a.txt': 'a' });
    const preview = await harness.push(branch('preview/login'), { 'a.txt': 'b' });
    const release = await harness.push(tag('v1'), { 'a.txt': 'c' });
    const reading = await forge.sources(signal);
    expect(reading).toMatchObject({ complete: true, faults: [] });
    expect(byKey(reading.items)).toEqual({ 'branch:main': main, 'branch:preview/login': preview, 'tag:v1': release });
    expect(reading.items.every((source) => source.project === forge.project)).toBe(true);
  });

  it('distinguishes a branch from a tag of the same name', async () => {
    const { harness, forge, signal } = await start();
    const asBranch = await harness.push(branch('same'), { 'a.txt': 'branch' });
    const asTag = await harness.push(tag('same'), { 'a.txt': 'tag' });
    expect(byKey((await forge.sources(signal)).items)).toEqual({ 'branch:same': asBranch, 'tag:same': asTag });
    expect(await forge.source(tag('same'), signal)).toMatchObject({ state: 'present', source: { commit: asTag } });
  });

  it('leads an annotated tag to its commit', async () => {
    const { harness, forge, signal } = await start();
    const commit = await harness.push(branch('main'), { 'a.txt': 'a' });
    await harness.annotate('v1', commit);
    expect(byKey((await forge.sources(signal)).items)).toEqual({ 'branch:main': commit, 'tag:v1': commit });
    expect(await forge.source(tag('v1'), signal)).toMatchObject({ state: 'present', source: { commit } });
  });

  it('follows a ref that is moved, also to a commit without common history', async () => {
    const { harness, forge, signal } = await start();
    await harness.push(branch('main'), { 'a.txt': 'old' });
    await forge.sources(signal);
    const moved = await harness.push(branch('main'), { 'a.txt': 'new' });
    expect(byKey((await forge.sources(signal)).items)).toEqual({ 'branch:main': moved });
    expect(await forge.source(branch('main'), signal)).toMatchObject({ state: 'present', source: { commit: moved } });
  });

  it('says gone of a deleted ref and of one that never was', async () => {
    const { harness, forge, signal } = await start();
    const kept = await harness.push(branch('main'), { 'a.txt': 'a' });
    await harness.push(branch('preview/x'), { 'a.txt': 'b' });
    await forge.sources(signal);
    await harness.delete(branch('preview/x'));
    expect(byKey((await forge.sources(signal)).items)).toEqual({ 'branch:main': kept });
    expect(await forge.source(branch('preview/x'), signal)).toEqual({ state: 'gone' });
    expect(await forge.source(tag('main'), signal)).toEqual({ state: 'gone' });
  });

  it('reads one source by its whole name', async () => {
    const { harness, forge, signal } = await start();
    await harness.push(branch('team/preview/x'), { 'a.txt': 'a' });
    for (const name of [
      'x',
      'preview/x',
      'team',
      'team/preview',
      'team/preview/',
      'team/preview/*',
      'team/preview/?',
      'TEAM/preview/x',
      '',
    ]) {
      expect(await forge.source(branch(name), signal), name).toEqual({ state: 'gone' });
    }
  });

  it.each(hostileNames)('passes the name %s through as it is', async (name) => {
    const { harness, forge, signal, readText } = await start();
    const commit = await harness.push(branch(name), { 'eph.yaml': 'version: 1\n' });
    expect((await forge.sources(signal)).items).toEqual([{ project: forge.project, ref: branch(name), commit }]);
    expect(await forge.source(branch(name), signal)).toMatchObject({ state: 'present', source: { ref: branch(name), commit } });
    expect(await readText(commit, 'eph.yaml')).toBe('version: 1\n');
    await harness.delete(branch(name));
    expect(await forge.source(branch(name), signal)).toEqual({ state: 'gone' });
  });

  it('takes silence for doubt, never for absence, and recovers', async () => {
    const { harness, forge, signal } = await start();
    const commit = await harness.push(branch('main'), { 'a.txt': 'a' });
    await harness.disconnect();
    const reading = await forge.sources(signal);
    expect(reading.complete).toBe(false);
    expect(reading.faults[0]?.message).toMatch(/\S/);
    expect(await forge.source(branch('main'), signal)).toMatchObject({
      state: 'unknown',
      fault: { message: expect.stringMatching(/\S/) },
    });
    expect(await forge.source(branch('never'), signal)).toMatchObject({ state: 'unknown' });
    await expect(forge.readFile(commit, 'a.txt', limit, signal)).rejects.toMatchObject({ code: 'forge.unreachable' });
    await harness.reconnect();
    expect(byKey((await forge.sources(signal)).items)).toEqual({ 'branch:main': commit });
    expect(await forge.source(branch('never'), signal)).toEqual({ state: 'gone' });
  });

  it('reads files of a commit, wherever its ref is by now', async () => {
    const { harness, readText } = await start();
    const old = await harness.push(branch('main'), { 'eph.yaml': 'old\n', 'deep/er/file.txt': 'inner' });
    expect(await readText(old, 'eph.yaml')).toBe('old\n');
    const next = await harness.push(branch('main'), { 'eph.yaml': 'näxt\n', 'empty.txt': '' });
    expect(await readText(old, 'deep/er/file.txt')).toBe('inner');
    expect(await readText(next, 'eph.yaml')).toBe('näxt\n');
    expect(await readText(next, 'empty.txt')).toBe('');
  });

  it('has no file where the commit has none', async () => {
    const { harness, readText } = await start();
    const commit = await harness.push(branch('main'), { 'a.txt': 'a', 'folder/b.txt': 'b' });
    for (const path of [
      'b.txt',
      'A.TXT',
      'a.txt/b',
      'folder/c.txt',
      '../a.txt',
      'folder/../a.txt',
      './a.txt',
      '/a.txt',
      'a\n.txt',
      'a.txt ',
      '',
    ]) {
      expect(await readText(commit, path), JSON.stringify(path)).toBeUndefined();
    }
  });

  it('refuses a file that is larger than the limit', async () => {
    const { harness, forge, signal } = await start();
    const commit = await harness.push(branch('main'), { 'a.txt': 'x'.repeat(1000) });
    expect(await forge.readFile(commit, 'a.txt', 1000, signal)).toHaveLength(1000);
    await expect(forge.readFile(commit, 'a.txt', 999, signal)).rejects.toMatchObject({ code: 'spec.invalid' });
  });

  it('reads many files at the same time', async () => {
    const { harness, readText } = await start();
    const files = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`f${index}.txt`, `content ${index}`]));
    const commit = await harness.push(branch('main'), files);
    const texts = await Promise.all(Object.keys(files).map((path) => readText(commit, path)));
    expect(texts).toEqual(Object.values(files));
  });

  it('misses a commit that is not there', async () => {
    const { harness, forge, signal, checkout } = await start();
    await harness.push(branch('main'), { 'a.txt': 'a' });
    await expect(forge.readFile(nowhere, 'a.txt', limit, signal)).rejects.toMatchObject({ code: 'source.commit_missing' });
    await expect(forge.exportTree(nowhere, checkout, signal)).rejects.toMatchObject({ code: 'source.commit_missing' });
    expect(await exists(checkout)).toBe(false);
  });

  it('finds a commit that was missing before it was pushed', async () => {
    const { harness, forge, signal, readText } = await start();
    await harness.push(branch('main'), { 'a.txt': 'a' });
    await expect(forge.readFile(nowhere, 'a.txt', limit, signal)).rejects.toMatchObject({ code: 'source.commit_missing' });
    const commit = await harness.push(branch('late'), { 'a.txt': 'late' });
    expect(await readText(commit, 'a.txt')).toBe('late');
  });

  it('writes the tree of a commit to a new folder', async () => {
    const { harness, forge, signal, checkout } = await start();
    const commit = await harness.push(branch('main'), { 'a.txt': 'a', 'deep/er/b.txt': 'b', 'deep/c d.txt': '' });
    await forge.exportTree(commit, checkout, signal);
    const found = await readdir(checkout, { recursive: true, withFileTypes: true });
    expect(found.filter((entry) => entry.isFile())).toHaveLength(3);
    expect(await readFile(join(checkout, 'a.txt'), 'utf8')).toBe('a');
    expect(await readFile(join(checkout, 'deep/er/b.txt'), 'utf8')).toBe('b');
    expect(await readFile(join(checkout, 'deep/c d.txt'), 'utf8')).toBe('');
  });

  it('leaves a folder alone that exists already', async () => {
    const { harness, forge, signal, checkout } = await start();
    const commit = await harness.push(branch('main'), { 'a.txt': 'new' });
    await forge.exportTree(commit, checkout, signal);
    await writeFile(join(checkout, 'a.txt'), 'mine');
    await expect(forge.exportTree(commit, checkout, signal)).rejects.toThrow(/exist/);
    expect(await readFile(join(checkout, 'a.txt'), 'utf8')).toBe('mine');
  });

  it('knows when a commit was made', async () => {
    const { harness, forge, signal } = await start();
    const before = await harness.push(branch('main'), { 'a.txt': 'a' });
    const after = await harness.push(branch('main'), { 'a.txt': 'b' });
    const times = [await forge.committedAt(before, signal), await forge.committedAt(after, signal)];
    expect(times.map((time) => new Date(time).toISOString())).toEqual(times);
    expect(times).toEqual(times.toSorted());
    await expect(forge.committedAt(nowhere, signal)).rejects.toMatchObject({ code: 'source.commit_missing' });
  });

  it('reads the note on a commit as it is', async () => {
    const { harness, forge, signal } = await start();
    const commit = await harness.push(branch('main'), { 'a.txt': 'a' });
    const other = await harness.push(branch('other'), { 'a.txt': 'b' });
    expect(await forge.readNote(commit, 'images', signal)).toBeUndefined();
    const text = 'eph-image: größe:日本語\r\n\n\0\x1b[31m\u202e "$(id)" `x`\nwithout an end';
    await harness.writeNotes('images', new Map([[commit, text]]));
    expect(await forge.readNote(commit, 'images', signal)).toBe(text);
    expect(await forge.readNote(other, 'images', signal)).toBeUndefined();
    expect(await forge.readNote(nowhere, 'images', signal)).toBeUndefined();
    for (const notes of ['image', 'images/x', 'IMAGES', 'commits'])
      expect(await forge.readNote(commit, notes, signal), notes).toBeUndefined();
    await harness.writeNotes('team/ci', new Map([[commit, '']]));
    expect(await forge.readNote(commit, 'team/ci', signal)).toBe('');
  });

  it('reads notes that are written, changed and removed, and refs that are gone', async () => {
    const { harness, forge, signal } = await start();
    const [one, two] = [await harness.push(branch('one'), { a: '1' }), await harness.push(branch('two'), { a: '2' })];
    const read = async () => [await forge.readNote(one, 'images', signal), await forge.readNote(two, 'images', signal)];
    expect(await read()).toEqual([undefined, undefined]);
    await harness.writeNotes('images', new Map([[one, 'first\n']]));
    expect(await read()).toEqual(['first\n', undefined]);
    await harness.writeNotes(
      'images',
      new Map([
        [one, 'first, again\n'],
        [two, 'second\n'],
      ]),
    );
    expect(await read()).toEqual(['first, again\n', 'second\n']);
    await harness.writeNotes('images', new Map([[two, 'second\n']]));
    expect(await read()).toEqual([undefined, 'second\n']);
    await harness.deleteNotes('images');
    expect(await read()).toEqual([undefined, undefined]);
    await harness.writeNotes('images', new Map([[one, 'back\n']]));
    expect(await read()).toEqual(['back\n', undefined]);
  });

  it('finds a note among many, however Git spreads them over folders', async () => {
    const { harness, forge, signal } = await start();
    const commit = await harness.push(branch('main'), { 'a.txt': 'a' });
    const others = manyNotes(500);
    const asked = [...others].slice(0, 50);
    for (const fanOut of [0, 1, 2]) {
      await harness.writeNotes('images', new Map([...others, [commit, `${fanOut}\n`]]), fanOut);
      const texts = await Promise.all(
        [commit, ...asked.map(([other]) => other)].map((one) => forge.readNote(one, 'images', signal)),
      );
      expect(texts).toEqual([`${fanOut}\n`, ...asked.map(([, text]) => text)]);
    }
  });

  it('refuses a note that is too large, and reads the others', async () => {
    const { harness, forge, signal } = await start();
    const commits: CommitSha[] = [];
    for (const name of ['full', 'over', 'huge']) commits.push(await harness.push(branch(name), { name }));
    const sizes = [noteLimitBytes, noteLimitBytes + 1, 10 * 1024 * 1024];
    await harness.writeNotes('images', new Map(commits.map((commit, index) => [commit, 'x'.repeat(sizes[index] ?? 0)])));
    const answers = await Promise.allSettled(commits.map((commit) => forge.readNote(commit, 'images', signal)));
    const tooLarge = { status: 'rejected', reason: { code: 'spec.invalid', message: expect.stringMatching(/65536/) } };
    expect(answers).toMatchObject([{ status: 'fulfilled', value: 'x'.repeat(noteLimitBytes) }, tooLarge, tooLarge]);
  });

  it('refuses names of notes that are not legal', async () => {
    const { harness, forge, signal } = await start();
    const commit = await harness.push(branch('main'), { 'a.txt': 'a' });
    const refused = { code: 'spec.invalid', message: expect.stringMatching(/is not a name of/) };
    for (const name of illegalNotes)
      await expect(forge.readNote(commit, name, signal), JSON.stringify(name)).rejects.toMatchObject(refused);
  });

  it('reads notes by their whole name, and no branch in their place', async () => {
    const { harness, forge, signal } = await start();
    const commit = await harness.push(branch('main'), { 'a.txt': 'a' });
    await harness.push(branch('refs/notes/images'), { [commit]: 'of a branch' });
    expect(await forge.readNote(commit, 'images', signal)).toBeUndefined();
    for (const name of hostileNames.filter(isNotesName)) {
      await harness.writeNotes(name, new Map([[commit, `${name}\n`]]));
      expect(await forge.readNote(commit, name, signal)).toBe(`${name}\n`);
    }
  });

  it('knows nothing of notes while the repository is silent', async () => {
    const { harness, forge, signal } = await start();
    const commit = await harness.push(branch('main'), { 'a.txt': 'a' });
    await harness.writeNotes('images', new Map([[commit, 'text\n']]));
    expect(await forge.readNote(commit, 'images', signal)).toBe('text\n');
    await harness.disconnect();
    for (const notes of ['images', 'never'])
      await expect(forge.readNote(commit, notes, signal)).rejects.toMatchObject({ code: 'forge.unreachable' });
    await harness.reconnect();
    expect(await forge.readNote(commit, 'images', signal)).toBe('text\n');
    expect(await forge.readNote(commit, 'never', signal)).toBeUndefined();
  });

  it('looks at notes as of a time, once for all', async () => {
    const { harness, forge, signal } = await start();
    const commits: CommitSha[] = [];
    for (const name of ['one', 'two', 'three']) commits.push(await harness.push(branch(name), { name }));
    const [one = nowhere] = commits;
    const readAll = (asOf?: number) =>
      Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          forge.readNote(commits[index % 3] ?? one, index % 2 ? 'images' : 'commits', signal, asOf),
        ),
      );
    const countDuring = async (act: () => Promise<unknown>): Promise<number | undefined> => {
      const before = harness.countRequests?.();
      await act();
      return before === undefined ? undefined : (harness.countRequests?.() ?? 0) - before;
    };
    const orUncounted = (count: number): number | undefined => (harness.countRequests === undefined ? undefined : count);
    const began = Date.now();
    await harness.writeNotes('images', new Map([[one, 'old\n']]));
    await readAll(Date.now());
    // Nothing moved: a look and no more, or none at all if there was one since.
    expect(await countDuring(() => readAll(Date.now()))).toBe(orUncounted(1));
    expect(await countDuring(() => readAll(began))).toBe(orUncounted(0));
    await harness.writeNotes('images', new Map([[one, 'new\n']]));
    expect(await countDuring(() => forge.readNote(one, 'images', signal, began))).toBe(orUncounted(0));
    expect(await forge.readNote(one, 'images', signal, Date.now())).toBe('new\n');
    await harness.disconnect();
    await expect(forge.readNote(one, 'images', signal, Date.now())).rejects.toMatchObject({ code: 'forge.unreachable' });
    await harness.reconnect();
  });

  if (!traits.notices) return;

  it('wakes the watcher after a push, until it is aborted', async () => {
    const { harness, forge } = await start();
    await harness.push(branch('main'), { 'a.txt': 'a' });
    const abort = new AbortController();
    let wakes = 0;
    forge.watch(() => (wakes += 1), abort.signal);
    const expectWake = async (act: () => Promise<unknown>) => {
      const before = wakes;
      await act();
      await expect.poll(() => wakes, { timeout: deadlineMs, interval: 2 }).toBeGreaterThan(before);
    };
    await expectWake(() => harness.push(branch('main'), { 'a.txt': 'b' }));
    await expectWake(() => harness.push(branch('preview/new/folder'), { 'a.txt': 'c' }));
    await expectWake(() => harness.push(branch('preview/new/folder'), { 'a.txt': 'd' }));
    await expectWake(() => harness.delete(branch('preview/new/folder')));
    await expectWake(() => harness.push(tag('v1'), { 'a.txt': 'e' }));
    abort.abort();
    const before = wakes;
    await harness.push(branch('main'), { 'a.txt': 'f' });
    expect(wakes).toBe(before);
  });
};
