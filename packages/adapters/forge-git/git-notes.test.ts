import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type CommitSha, environmentId, projectId } from '@eph/contract';
import type { Report } from '@eph/engine/report/reporter';
import { createView } from '@eph/engine/report/view.fake';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createGitForge, type GitForge } from './git-forge.ts';
import { createGitNotesReporter } from './git-notes.ts';
import { HttpOrigin } from './http-origin.fake.ts';
import { removeCrashReport } from './notes-store.ts';
import { Origin, type OriginOptions } from './origin.fake.ts';

const { signal } = new AbortController();
const project = projectId('shop');

const reportOn = (commit: CommitSha, number: number, text: string): Report => ({
  project,
  environment: environmentId(number.toString(16).padStart(16, '0')),
  source: { kind: 'branch', name: `preview/${number}` },
  commit,
  text,
  view: createView({ commit }),
  last: false,
});

const start = async (options: OriginOptions = {}) => {
  const origin = await Origin.create(options);
  onTestFinished(() => origin[Symbol.asyncDispose]());
  let forges = 0;
  const open = (location = origin.path, now?: () => number): GitForge => {
    forges += 1;
    const forge = createGitForge({
      project,
      location,
      folder: join(origin.folder, `data-${forges}`),
      ...(now === undefined ? {} : { now }),
    });
    onTestFinished(() => forge[Symbol.asyncDispose]());
    return forge;
  };
  const push = (number: number) => origin.push({ kind: 'branch', name: `preview/${number}` }, { a: String(number) });
  const note = (commit: string) => origin.git('notes', '--ref=eph', 'show', commit).catch(() => undefined);
  const tip = () => origin.git('rev-parse', 'refs/notes/eph').catch(() => undefined);
  return { origin, open, push, note, tip };
};

/** Everything in the hooks folder and in the configuration that could run on a write. */
const plantHooks = async (origin: Origin, canary: string): Promise<void> => {
  const hooks = join(origin.folder, 'hooks');
  await mkdir(hooks);
  for (const hook of [
    'reference-transaction',
    'pre-receive',
    'update',
    'post-receive',
    'post-update',
    'proc-receive',
    'pre-push',
    'post-commit',
  ]) {
    await writeFile(join(hooks, hook), `#!/bin/sh\necho ${hook} >> ${canary}\n`, { mode: 0o755 });
  }
  await origin.git('config', 'core.hooksPath', hooks);
  await origin.git('config', 'core.alternateRefsCommand', `echo alternates >> ${canary}`);
  await origin.git('config', 'commit.gpgSign', 'true');
  await origin.git('config', 'push.gpgSign', 'true');
  await origin.git('config', 'gpg.program', canary);
};

describe('reports as notes', () => {
  it('are seen by people who use nothing but Git', async () => {
    const { origin, open, push } = await start();
    const commit = await push(1);
    await createGitNotesReporter({ forge: open() }).ensure(
      reportOn(commit, 1, 'shop-serene-ocean-4207: Ready\nhttp://x.localhost'),
      signal,
    );
    const log = await origin.git('log', '--notes=eph', '-1', commit);
    expect(log).toContain('Notes (eph):');
    expect(log).toContain('shop-serene-ocean-4207: Ready');
    expect(log).toContain('[eph 0000000000000001 branch:preview/1]');
    expect(await origin.git('log', '-1', '--format=%an <%ae> %cn <%ce>', 'refs/notes/eph')).toBe(
      'Eph <eph@localhost> Eph <eph@localhost>',
    );
  });

  it('live beside what people note themselves', async () => {
    const { origin, open, push, note } = await start();
    const [one, two] = [await push(1), await push(2)];
    await origin.git('notes', '--ref=eph', 'add', '-m', 'written by hand', one);
    await origin.git('notes', '--ref=eph', 'add', '-m', 'untouched', two);
    const reporter = createGitNotesReporter({ forge: open() });
    await reporter.ensure(reportOn(one, 1, 'ready'), signal);
    expect(await note(one)).toMatch(/^written by hand\n\n\[eph 0000000000000001 .*\]\nready\n\[end 0000000000000001\]$/s);
    await origin.git('notes', '--ref=eph', 'append', '-m', 'and more', one);
    await reporter.ensure(reportOn(two, 1, 'moved on'), signal);
    expect(await note(one)).toMatch(/^written by hand\n+and more$/);
    expect(await note(two)).toMatch(/^untouched\n\n\[eph/);
  });

  it('find their note wherever Git has moved it', async () => {
    const { origin, open, push, note } = await start();
    const [one, two] = [await push(1), await push(2)];
    const reporter = createGitNotesReporter({ forge: open() });
    /** The files of the notes tree that are about this commit. */
    const pathsOf = async (commit: string) => {
      const paths = (await origin.git('ls-tree', '-r', '--name-only', 'refs/notes/eph')).split('\n');
      return paths.filter((path) => path.replaceAll('/', '') === commit);
    };
    await Promise.all([reporter.ensure(reportOn(one, 1, 'first'), signal), reporter.ensure(reportOn(two, 2, 'first'), signal)]);
    // Git keeps a few notes in one folder and many in several, and moves all of them when somebody writes one.
    const files = Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`f${index}`, `content ${index}`]));
    const many = await origin.push({ kind: 'branch', name: 'many' }, files);
    await origin.git('notes', '--ref=eph', 'add', '-m', 'by hand', many);
    expect(await pathsOf(one)).toEqual([one]);
    await reporter.ensure(reportOn(one, 1, 'second'), signal);
    expect([await pathsOf(one), await note(one)]).toEqual([[one], expect.stringContaining('second')]);
    const blobs = (await origin.git('ls-tree', '--format=%(objectname)', many)).split('\n');
    await origin.gitWith(blobs.map((blob) => `${many} ${blob}\n`).join(''), 'notes', '--ref=eph', 'copy', '--stdin');
    expect(await pathsOf(one)).toEqual([`${one.slice(0, 2)}/${one.slice(2)}`]);
    await origin.git('pack-refs', '--all');
    await reporter.ensure(reportOn(one, 1, 'third'), signal);
    expect([await pathsOf(one), await note(one)]).toEqual([[expect.any(String)], expect.not.stringContaining('second')]);
    expect(await note(two)).toContain('first');
    expect(await note(blobs[42] ?? '')).toBe('by hand');
  });

  it('of a commit that is gone are nobody’s business', async () => {
    const { open, tip } = await start();
    const gone = '1234567890123456789012345678901234567890' as CommitSha;
    await createGitNotesReporter({ forge: open() }).ensure(reportOn(gone, 1, 'removed'), signal);
    expect(await tip()).toBeUndefined();
  });

  it('that arrive together are one commit, and none when nothing is new', async () => {
    const { origin, open, push, tip } = await start();
    const commit = await push(1);
    const reports = Array.from({ length: 1_000 }, (_, index) => reportOn(commit, index, `text ${index}`));
    const reporter = createGitNotesReporter({ forge: open() });
    await Promise.all(reports.map((report) => reporter.ensure(report, signal)));
    expect(Number(await origin.git('rev-list', '--count', 'refs/notes/eph'))).toBeLessThanOrEqual(2);
    const before = await tip();
    const restarted = createGitNotesReporter({ forge: open() });
    await Promise.all(reports.map((report) => restarted.ensure(report, signal)));
    expect(await tip()).toBe(before);
  });

  it('survive other writers', async () => {
    const { origin, open, push, note } = await start();
    const commits: CommitSha[] = [];
    for (let index = 0; index < 4; index += 1) commits.push(await push(index));
    const reporters = [open(), open(), open(pathToFileURL(origin.path).href)].map((forge) => createGitNotesReporter({ forge }));
    await Promise.all(
      reporters.flatMap((reporter, writer) =>
        commits.map((commit, index) => reporter.ensure(reportOn(commit, writer * 10 + index, `from ${writer}`), signal)),
      ),
    );
    for (const commit of commits) {
      const text = await note(commit);
      expect(['from 0', 'from 1', 'from 2'].filter((line) => text?.includes(line) === true)).toHaveLength(3);
    }
  });

  it.each(['path', 'address'])('run no hook of the repository (%s)', async (kind) => {
    const { origin, open, push, note } = await start();
    const canary = join(origin.folder, 'canary');
    const commit = await push(1);
    await plantHooks(origin, canary);
    const forge = open(kind === 'path' ? origin.path : pathToFileURL(origin.path).href);
    await createGitNotesReporter({ forge }).ensure(reportOn(commit, 1, 'ready'), signal);
    expect(await note(commit)).toContain('ready');
    expect(await readFile(canary, 'utf8').catch(() => 'nothing ran')).toBe('nothing ran');
  });

  it('are given up at once where they may not be written, and not tried again for a while', async () => {
    const { origin, open, push } = await start();
    const commit = await push(1);
    const served = await HttpOrigin.serve(origin, { readOnly: true });
    onTestFinished(() => served[Symbol.asyncDispose]());
    let nowMs = 1_800_000_000_000;
    const reporter = createGitNotesReporter({ forge: open(served.url(), () => nowMs) });
    const expectRefusal = async () =>
      expect(reporter.ensure(reportOn(commit, 1, 'ready'), signal)).rejects.toMatchObject({
        code: 'report.failed',
        message: expect.stringContaining('refs/notes/eph'),
        retryAfterMs: expect.any(Number),
      });
    await expectRefusal();
    const before = served.requests.length;
    await expectRefusal();
    expect(served.requests.length).toBe(before);
    nowMs += 3_600_000;
    await origin.git('config', 'http.receivepack', 'true');
    await reporter.ensure(reportOn(commit, 1, 'ready'), signal);
    expect(await origin.git('notes', '--ref=eph', 'show', commit)).toContain('ready');
  });

  it('to a remote cost no request when nothing is new', async () => {
    const { origin, open, push } = await start();
    const commit = await push(1);
    const served = await HttpOrigin.serve(origin);
    onTestFinished(() => served[Symbol.asyncDispose]());
    const reporter = createGitNotesReporter({ forge: open(served.url(), () => 1_800_000_000_000) });
    await reporter.ensure(reportOn(commit, 1, 'ready'), signal);
    const before = served.requests.length;
    for (let index = 0; index < 10; index += 1) await reporter.ensure(reportOn(commit, 1, 'ready'), signal);
    expect(served.requests.length).toBe(before);
  });

  it('say what to do about a lock that was left behind', async () => {
    const { origin, open, push, note } = await start();
    const commit = await push(1);
    const lock = join(origin.gitFolder, 'refs/notes/eph.lock');
    await mkdir(join(origin.gitFolder, 'refs/notes'), { recursive: true });
    await writeFile(lock, '');
    const reporter = createGitNotesReporter({ forge: open() });
    await expect(reporter.ensure(reportOn(commit, 1, 'ready'), signal)).rejects.toMatchObject({
      code: 'report.failed',
      message: expect.stringContaining('delete the file refs/notes/eph.lock'),
    });
    await rm(lock);
    await reporter.ensure(reportOn(commit, 1, 'ready'), signal);
    expect(await note(commit)).toContain('ready');
  });

  it('that Git cannot take in leave no traces in the repository', async () => {
    const { origin } = await start();
    const failed = await origin.gitWith('nonsense\n', 'fast-import').catch(String);
    const traces = async () => (await readdir(origin.gitFolder)).filter((name) => name.includes('crash'));
    expect(await traces()).toHaveLength(1);
    await removeCrashReport(origin.gitFolder, failed);
    expect(await traces()).toEqual([]);
  });

  it('are put back when somebody removed them', async () => {
    const { origin, open, push, note } = await start();
    const commit = await push(1);
    const reporter = createGitNotesReporter({ forge: open() });
    await reporter.ensure(reportOn(commit, 1, 'ready'), signal);
    await origin.git('update-ref', '-d', 'refs/notes/eph');
    await reporter.ensure(reportOn(commit, 1, 'ready'), signal);
    expect(await note(commit)).toContain('ready');
  });
});
