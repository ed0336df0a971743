import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createGit, type Git } from './git-command.ts';
import { type Location, parseLocation } from './location.ts';

const { signal } = new AbortController();
const location: Location = parseLocation('https://robot:pass-word-1@example.org/x');

/** Git, or a script that takes its place. */
const start = async (
  script?: string,
  path = process.env['PATH'],
): Promise<{ readonly git: Git; readonly folder: string; readonly lifetime: AbortController }> => {
  const folder = await mkdtemp(join(tmpdir(), 'eph-git-command-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  if (script !== undefined) await writeFile(join(folder, 'git'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const lifetime = new AbortController();
  const environment = {
    PATH: script === undefined ? path : `${folder}:${path}`,
    GIT_DIR: '/evil',
    EDITOR: 'evil',
    https_proxy: 'http://proxy.example',
    TOKEN: 'evil',
  };
  const git = createGit({
    home: join(folder, 'home'),
    location,
    environment,
    lifetime: lifetime.signal,
  });
  return { git, folder, lifetime };
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** Writes the pid of a grandchild that ignores everything but KILL, then hangs. */
const hanging = `sh -c 'trap "" TERM; echo $$ > "$1"; while :; do sleep 1; done' hanging "$1" & wait`;

describe('running Git', () => {
  it.each([
    ['https://example.org/other', `Authorization: Basic ${Buffer.from('robot:pass-word-1').toString('base64')}`],
    ['https://elsewhere.example.org/x', ''],
    ['http://example.org/x', ''],
  ])('sends to %s the header %j, and only over the network', async (url, header) => {
    const { git } = await start();
    const read = async (network: boolean) =>
      (await git.run(['config', '--get-urlmatch', 'http.extraHeader', url], { signal, network })).stdout.toString().trim();
    expect(await read(true)).toBe(header);
    expect(await read(false)).toBe('');
  });

  it('returns what Git said, whatever the exit code', async () => {
    const { git } = await start();
    const version = await git.run(['--version'], { signal });
    expect(version).toMatchObject({ exitCode: 0, stderr: '' });
    expect(version.stdout.toString()).toMatch(/^git version/);
    expect(await git.run(['cat-file', '-t', 'x'], { signal })).toMatchObject({
      exitCode: 128,
      stderr: expect.stringContaining('fatal:'),
    });
  });

  it('hands over nothing but what Git needs', async () => {
    const { git, folder } = await start('env');
    const names = async (network: boolean) => {
      const text = (await git.run(['x'], { signal, network })).stdout.toString();
      return Object.fromEntries(text.split('\n').map((line) => line.split(/=(.*)/s)));
    };
    const local = await names(false);
    expect(local).toMatchObject({ HOME: join(folder, 'home'), GIT_ALLOW_PROTOCOL: 'none', https_proxy: 'http://proxy.example' });
    expect(local).toMatchObject({ GIT_CONFIG_GLOBAL: '/dev/null', GIT_TERMINAL_PROMPT: '0', GIT_ASKPASS: '' });
    expect(Object.keys(local)).not.toEqual(expect.arrayContaining(['GIT_DIR']));
    expect(['GIT_DIR', 'EDITOR', 'TOKEN'].filter((name) => name in local)).toEqual([]);
    expect(JSON.stringify(local)).not.toContain('Authorization');
    const remote = await names(true);
    expect(remote).toMatchObject({ GIT_ALLOW_PROTOCOL: 'file:git:http:https:ssh' });
    expect(JSON.stringify(remote)).toContain('Authorization');
  });

  it('says so when Git is not there', async () => {
    const { git } = await start(undefined, '/nonexistent');
    await expect(git.run(['--version'], { signal })).rejects.toMatchObject({
      code: 'config.invalid',
      message: expect.stringContaining('Install Git'),
    });
  });

  it('ends Git and its children when time is up', async () => {
    const { git, folder } = await start(hanging);
    const pidFile = join(folder, 'pid');
    await expect(git.run([pidFile], { signal, timeLimitMs: 1_000 })).rejects.toMatchObject({ code: 'forge.unreachable' });
    const pid = Number(await readFile(pidFile, 'utf8'));
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it('ends Git when the caller or the forge gives up', async () => {
    const { git, lifetime } = await start('exec sleep 100');
    const caller = new AbortController();
    const first = git.run(['x'], { signal: caller.signal });
    caller.abort(new Error('given up'));
    await expect(first).rejects.toThrow('given up');
    const second = git.run(['x'], { signal });
    lifetime.abort(new Error('closed'));
    await expect(second).rejects.toThrow('closed');
    await expect(git.run(['x'], { signal })).rejects.toThrow('closed');
  });

  it('reads only so much', async () => {
    const { git } = await start('exec yes');
    await expect(git.run(['x'], { signal })).rejects.toMatchObject({ code: 'forge.refused' });
  });
});
