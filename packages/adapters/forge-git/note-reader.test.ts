import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { type CommitSha, isNotesName, projectId, type SourceRef, silentLog } from '@eph/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createGitForge } from './git-forge.ts';
import { HttpOrigin } from './http-origin.fake.ts';
import { Origin, type OriginOptions } from './origin.fake.ts';

const { signal } = new AbortController();
const branch = (name: string): SourceRef => ({ kind: 'branch', name });

/** A repository with one commit. */
const start = async (access: 'http' | 'local' = 'http', options: OriginOptions = {}) => {
  const origin = await Origin.create(options);
  onTestFinished(() => origin[Symbol.asyncDispose]());
  const served = await HttpOrigin.serve(origin);
  onTestFinished(() => served[Symbol.asyncDispose]());
  const clock = { now: 1_000_000 };
  const logged: string[] = [];
  const forge = createGitForge({
    project: projectId('shop'),
    location: access === 'http' ? served.url() : origin.path,
    folder: join(origin.folder, 'data'),
    now: () => clock.now,
    log: { ...silentLog, warn: (_, message) => void logged.push(message) },
  });
  onTestFinished(() => forge[Symbol.asyncDispose]());
  const commit = await origin.push(branch('main'), { a: 'a' });
  const write = (text: string) => origin.writeNotes('images', new Map([[commit, text]]));
  const point = (object: string) => origin.git('update-ref', 'refs/notes/images', object);
  const read = (asOf?: number) => forge.readNote(commit, 'images', signal, asOf);
  /** Since the last time this was asked. */
  const takeRequests = () => {
    const requests = served.requests.splice(0);
    return {
      looks: requests.filter((request) => request.startsWith('LIST ')).length,
      transfers: requests.filter((request) => request.startsWith('GET ')).length,
    };
  };
  return { origin, served, clock, logged, forge, commit, write, point, read, takeRequests };
};

describe('notes of a remote repository', () => {
  it('are fetched when their ref has moved, and cost one request otherwise', async () => {
    const { forge, write, read, takeRequests, commit } = await start();
    await forge.sources(signal);
    await forge.readFile(commit, 'a', 10, signal);
    expect(takeRequests()).toEqual({ looks: 1, transfers: 1 });
    expect(await read()).toBeUndefined();
    expect(takeRequests()).toEqual({ looks: 1, transfers: 0 });
    await write('one\n');
    expect(await read()).toBe('one\n');
    expect(takeRequests()).toEqual({ looks: 1, transfers: 1 });
    expect([await read(), await forge.readNote(commit, 'commits', signal)]).toEqual(['one\n', undefined]);
    expect(takeRequests()).toEqual({ looks: 2, transfers: 0 });
    await write('two\n');
    expect(await read()).toBe('two\n');
    expect(takeRequests()).toEqual({ looks: 1, transfers: 1 });
  });

  it('are looked at once for all who ask as of the same time, even while somebody is looking', async () => {
    const { origin, forge, clock, write, read, takeRequests } = await start();
    await write('one\n');
    const others: CommitSha[] = [];
    for (let index = 0; index < 20; index += 1) others.push(await origin.push(branch(`b${index}`), { index: `${index}` }));
    await read();
    takeRequests();
    clock.now += 1_000;
    const asOf = clock.now;
    const first = read(asOf);
    await turn();
    clock.now += 10;
    const rest = [read(asOf), ...others.map((commit) => forge.readNote(commit, 'commits', signal, asOf))];
    expect(await Promise.all([first, ...rest])).toEqual(['one\n', 'one\n', ...others.map(() => undefined)]);
    expect(takeRequests()).toEqual({ looks: 1, transfers: 0 });
    expect(await read(asOf)).toBe('one\n');
    expect(takeRequests()).toEqual({ looks: 0, transfers: 0 });
    expect(await read(asOf + 1)).toBe('one\n');
    expect(takeRequests()).toEqual({ looks: 1, transfers: 0 });
  });

  it('are looked at after the call of whoever names no time', async () => {
    const { write, read } = await start();
    await write('one\n');
    const first = read();
    await turn();
    await write('two\n');
    expect(await read()).toBe('two\n');
    expect(['one\n', 'two\n']).toContain(await first);
  });

  it('are looked at again after a failure, and when the clock was set back', async () => {
    const { served, clock, write, read, takeRequests } = await start();
    await write('one\n');
    await read();
    served.outage = 503;
    clock.now += 1;
    await expect(read(clock.now)).rejects.toMatchObject({ code: 'forge.unreachable' });
    served.outage = undefined;
    takeRequests();
    expect(await read(clock.now)).toBe('one\n');
    expect(takeRequests().looks).toBe(1);
    clock.now -= 500_000;
    expect(await read(clock.now - 1)).toBe('one\n');
    expect(takeRequests().looks).toBe(1);
  });

  it('may have moved since the last look, and be gone from the server as they were', async () => {
    const { origin, forge, clock, commit, write, read, takeRequests } = await start();
    await write('one\n');
    await forge.readNote(commit, 'other', signal);
    const asOf = clock.now;
    await origin.deleteNotes('images');
    await write('two\n');
    await origin.git('reflog', 'expire', '--expire=now', '--all');
    await origin.git('prune', '--expire=now');
    takeRequests();
    expect(await read(asOf)).toBe('two\n');
    expect(takeRequests().transfers).toBeLessThan(4);
  });

  it('are for those who still wait', async () => {
    const { forge, commit, write, read } = await start();
    await write('one\n');
    const leaving = new AbortController();
    const answers = Promise.allSettled([forge.readNote(commit, 'images', leaving.signal), read()]);
    leaving.abort(new Error('left'));
    expect(await answers).toMatchObject([{ reason: { message: 'left' } }, { value: 'one\n' }]);
  });

  it('may be in a repository with SHA-256', async () => {
    const { write, read } = await start('http', { format: 'sha256' });
    await write('one\n');
    expect(await read()).toBe('one\n');
  });

  it('do not rebuild the mirror again and again', async () => {
    const { origin, clock, forge, commit, logged, point, read, takeRequests } = await start();
    expect(Buffer.from((await forge.readFile(commit, 'a', 10, signal)) ?? []).toString()).toBe('a');
    await origin.annotate('v1', commit);
    const objects = ['refs/tags/v1', `${commit}^{tree}`, `${commit}:a`];
    for (const object of objects) {
      await point(await origin.git('rev-parse', object));
      const refused = { code: 'spec.invalid', message: expect.stringMatching(/^refs\/notes\/images: it holds no notes/) };
      await expect(read(), object).rejects.toMatchObject(refused);
      takeRequests();
      for (let pass = 0; pass < 3; pass += 1) await expect(read(), object).rejects.toMatchObject(refused);
      expect(takeRequests()).toEqual({ looks: 3, transfers: 0 });
    }
    clock.now += 3_600_000;
    await expect(read()).rejects.toMatchObject({ code: 'spec.invalid' });
    expect(logged).toEqual([]);
  });
});

describe.each(['http', 'local'] as const)('notes over %s', (access) => {
  it('are what "git notes" writes', async () => {
    const { origin, commit, read } = await start(access);
    await origin.git('notes', '--ref=images', 'add', '-m', 'eph-image: a', commit);
    expect(await read()).toBe('eph-image: a\n');
    await origin.git('notes', '--ref=images', 'append', '-m', 'eph-image: b', commit);
    expect(await read()).toBe(await origin.git('notes', '--ref=images', 'show', commit).then((text) => `${text}\n`));
    await origin.git('notes', '--ref=images', 'remove', commit);
    expect(await read()).toBeUndefined();
  });

  it('may be below any number of folders', async () => {
    const { origin, commit, read } = await start(access);
    for (const fanOut of [4, 19]) {
      await origin.writeNotes('images', new Map([[commit, `${fanOut}\n`]]), fanOut);
      expect(await read()).toBe(`${fanOut}\n`);
    }
  });

  it('are files, and nothing else in their place', async () => {
    const { origin, commit, point, read } = await start(access);
    const blob = await origin.blob('text\n');
    const tree = await origin.git('rev-parse', `${commit}^{tree}`);
    for (const [mode, id] of [
      ['120000', blob],
      ['160000', commit],
      ['40000', tree],
    ] as const) {
      await point(await origin.commitRawTree([[mode, commit, id]]));
      expect(await read(), mode).toBeUndefined();
    }
    await point(await origin.commitRawTree([['100755', commit, blob]]));
    expect(await read()).toBe('text\n');
  });

  it('may be fifty thousand in one folder, but not more than fit', async () => {
    const { origin, commit, point, read } = await start(access);
    const blob = await origin.blob('text\n');
    const others = (count: number) =>
      Array.from(
        { length: count },
        (_, index) => ['100644', `${commit.slice(0, 30)}${String(index).padStart(10, '0')}`, blob] as const,
      );
    await point(await origin.commitRawTree([...others(50_000), ['100644', commit, blob]]));
    expect(await read()).toBe('text\n');
    await point(await origin.commitRawTree([...others(65_000), ['100644', commit, blob]]));
    await expect(read()).rejects.toMatchObject({
      code: 'spec.invalid',
      message: 'refs/notes/images: there are too many notes in one folder. Write them with "git notes", which uses several.',
    });
  });

  it('are unknown if their ref cannot be read, and others are not affected', async () => {
    const { origin, commit, forge, write } = await start(access);
    await write('text\n');
    await writeFile(join(origin.gitFolder, 'refs/notes/broken'), 'garbage');
    const readAt = (notes: string) => forge.readNote(commit, notes, signal);
    expect(await readAt('images')).toBe('text\n');
    for (const notes of ['broken', 'other'])
      await expect(readAt(notes), notes).rejects.toMatchObject({
        code: 'forge.incomplete',
        message: expect.stringContaining('refs/notes/broken'),
      });
  });
});

describe('notes of a local repository', () => {
  it('that is damaged are unknown, until their ref moves or some time has passed', async () => {
    const { origin, clock, point, read } = await start('local');
    const tip = await origin.commitRawTree([['100644', 'x', 'abcd']]);
    await point(tip);
    const damaged = { code: 'forge.incomplete', message: expect.stringMatching(/^refs\/notes\/images: Tree .* damaged/) };
    await expect(read()).rejects.toMatchObject(damaged);
    await expect(read(clock.now)).rejects.toMatchObject(damaged);
    clock.now += 3_600_000;
    await expect(read()).rejects.toMatchObject(damaged);
    await origin.deleteNotes('images');
    expect(await read()).toBeUndefined();
  });

  it('that is a tree by mistake is refused', async () => {
    const { origin, commit, point, read } = await start('local');
    await point(await origin.commitRawTree([['100644', commit, await origin.git('rev-parse', `${commit}^{tree}`)]]));
    await expect(read()).rejects.toMatchObject({ code: 'spec.invalid', message: expect.stringMatching(/is a tree/) });
  });
});

describe('a name of notes', () => {
  it('is legal where Git says so', async () => {
    const { origin } = await start('local');
    const characters = 'a Z 9 - _ . / @ { } ~ ^ : ? * [ ] \\ \t \x01 \x7f " \' $ ` ( , ; = % # ! & | < é 🚢'.split(' ');
    const names = [' ', ...characters].flatMap((one) => [`a${one}`, `${one}${one}b`, `a/${one}b`]);
    const words = ['', '@', 'a/@', 'a@{0}', 'a.lock', 'a.lock/b', 'a.locks', 'a./b', 'refs/notes/a', 'HEAD', '--b=c'];
    const wrong: string[] = [];
    for (const name of [...names, ...words]) {
      const isLegal = await origin.git('check-ref-format', `refs/notes/${name}`).then(
        () => true,
        () => false,
      );
      if (isLegal !== isNotesName(name)) wrong.push(name);
    }
    expect(wrong).toEqual([]);
  });
});
