import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createGit, type Git } from './git-command.ts';
import { parseLocation } from './location.ts';
import { createObjectReader, type ObjectReaderOptions } from './object-reader.ts';
import { Origin } from './origin.fake.ts';

const { signal } = new AbortController();
const limit = 1024 * 1024;

const start = async (options: Partial<ObjectReaderOptions> & { readonly programs?: string } = {}) => {
  const origin = await Origin.create();
  const children: ChildProcessWithoutNullStreams[] = [];
  const real = createGit({
    home: join(origin.folder, 'data'),
    location: parseLocation(origin.path),
    environment: { PATH: `${options.programs ?? ''}:${process.env['PATH']}` },
    lifetime: signal,
  });
  const git: Git = {
    ...real,
    async start(args) {
      const child = await real.start(args);
      children.push(child);
      return child;
    },
  };
  const reader = createObjectReader({ git, gitFolder: () => Promise.resolve(origin.path), shown: 'the origin', ...options });
  onTestFinished(async () => {
    await reader[Symbol.asyncDispose]();
    await origin[Symbol.asyncDispose]();
  });
  const read = async (id: string) => (await reader.read(id, limit, signal))?.content?.toString();
  return { origin, reader, children, read };
};

describe('reading objects', () => {
  it('answers many questions with one process', async () => {
    const { origin, children, read } = await start();
    const ids = await Promise.all(Array.from({ length: 20 }, (_, index) => origin.blob(`blob ${index}`)));
    const asked = Array.from({ length: 1_000 }, (_, index) => index % 20);
    const texts = await Promise.all(asked.map((index) => read(ids[index] ?? '')));
    expect(texts).toEqual(asked.map((index) => `blob ${index}`));
    expect(children).toHaveLength(1);
  });

  it('finds what was written after it started', async () => {
    const { origin, children, read } = await start();
    expect(await read('0'.repeat(40))).toBeUndefined();
    expect(await read(await origin.blob('late'))).toBe('late');
    expect(children).toHaveLength(1);
  });

  it('gives size and type of what is too large, and goes on', async () => {
    const { origin, reader, children, read } = await start();
    const [small, large, huge] = [
      await origin.blob('small'),
      await origin.blob('x'.repeat(100_000)),
      await origin.blob('y'.repeat(20_000_000)),
    ];
    const answers = await Promise.all([
      reader.read(large, 10, signal),
      read(small),
      reader.read(huge, 10, signal),
      read(small),
      read(small),
    ]);
    expect(answers).toEqual([
      { id: large, type: 'blob', size: 100_000, content: undefined },
      'small',
      { id: huge, type: 'blob', size: 20_000_000, content: undefined },
      'small',
      'small',
    ]);
    // The huge one was not read to its end.
    expect(children).toHaveLength(2);
  });

  it('starts again when its process is killed', async () => {
    const { origin, children, read } = await start();
    const id = await origin.blob('text');
    expect(await read(id)).toBe('text');
    children[0]?.kill('SIGKILL');
    await once(children[0] ?? process, 'close');
    expect(await Promise.all([read(id), read(id)])).toEqual(['text', 'text']);
    children[1]?.kill('SIGKILL');
    expect(await Promise.all(Array.from({ length: 50 }, () => read(id)))).toEqual(Array.from({ length: 50 }, () => 'text'));
  });

  it('has a new process confirm that something is missing', async () => {
    const { origin, children, read } = await start({ recheckAfterMs: 0 });
    const [there, absent] = [await origin.blob('text'), '0'.repeat(40)];
    expect(await Promise.all([read(there), read(absent), read(there), read(absent)])).toEqual([
      'text',
      undefined,
      'text',
      undefined,
    ]);
    expect(children.length).toBeGreaterThan(1);
    expect(children.length).toBeLessThan(5);
  });

  it('fails for the damaged object alone', async () => {
    const { origin, read } = await start();
    const [good, bad] = [await origin.blob('good'), await origin.blob(randomBytes(5_000).toString('hex'))];
    const file = join(origin.path, 'objects', bad.slice(0, 2), bad.slice(2));
    await chmod(file, 0o644);
    await truncate(file, 2_000);
    const results = await Promise.allSettled([read(good), read(bad), read(good), read(good)]);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { code: 'forge.unreachable', message: expect.stringContaining('git says') } });
  });

  it('gives up on a process that dies every time', async () => {
    const { read, children } = await start({ programs: await program('exit 1') });
    const results = await Promise.allSettled(Array.from({ length: 100 }, () => read('0'.repeat(40))));
    expect(results.every((result) => result.status === 'rejected')).toBe(true);
    expect(children.length).toBeLessThan(10);
  });

  it('gives up on a process that talks nonsense', async () => {
    const { read } = await start({ programs: await program('exec yes') });
    await expect(read('0'.repeat(40))).rejects.toMatchObject({ code: 'internal' });
  });

  it('gives up on a process that says nothing', async () => {
    const { read } = await start({ answerTimeoutMs: 100, programs: await program('exec sleep 100') });
    await expect(read('0'.repeat(40))).rejects.toMatchObject({ code: 'forge.unreachable' });
  });

  it('ends its process when nobody asks', async () => {
    const { origin, children, read } = await start({ idleMs: 20 });
    const id = await origin.blob('text');
    expect(await read(id)).toBe('text');
    await expect.poll(() => children[0]?.signalCode ?? children[0]?.exitCode).not.toBeNull();
    expect(await read(id)).toBe('text');
    expect(children).toHaveLength(2);
  });

  it('lets a caller leave', async () => {
    const { origin, reader, read } = await start();
    const id = await origin.blob('text');
    const abort = new AbortController();
    const left = reader.read(id, limit, abort.signal);
    abort.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    expect(await read(id)).toBe('text');
  });

  it('answers nobody after it was closed', async () => {
    const { origin, reader, read, children } = await start();
    const id = await origin.blob('text');
    await read(id);
    await reader[Symbol.asyncDispose]();
    expect(children[0]?.signalCode ?? children[0]?.exitCode).not.toBeNull();
    await expect(read(id)).rejects.toMatchObject({ code: 'forge.unreachable' });
  });

  it('keeps no program alive', async () => {
    const { origin } = await start();
    const commit = await origin.push({ kind: 'branch', name: 'main' }, { 'a.txt': 'text' });
    const forge = fileURLToPath(new URL('git-forge.ts', import.meta.url));
    const script = `
      const { createGitForge } = await import(${JSON.stringify(forge)});
      const forge = createGitForge({ project: 'shop', location: ${JSON.stringify(origin.path)}, folder: ${JSON.stringify(join(origin.folder, 'own'))} });
      const { signal } = new AbortController();
      forge.watch(() => {}, signal);
      console.log(Buffer.from(await forge.readFile(${JSON.stringify(commit)}, 'a.txt', 100, signal)).toString());`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const [exitCode] = await once(child, 'close');
    expect([exitCode, output]).toEqual([0, 'text\n']);
  });
});

/** A program that takes the place of Git. */
/** A folder with a script in the place of Git. */
const program = async (script: string): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'eph-object-reader-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'git'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return folder;
};
