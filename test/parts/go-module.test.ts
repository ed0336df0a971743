import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { readVersion } from './find-program.ts';
import { findGoProgram, type GoProgram, getGoProgram, getGoPrograms } from './go-module.ts';
import { ensureGo, findRecentGo } from './go-toolchain.ts';

const go = (await findRecentGo()) ?? '';

const clock: GoProgram = {
  program: 'clock',
  module: 'clock.example/clock',
  version: '1.2.0',
  sum: '',
  package: 'clock.example/clock/cmd/clock',
  tags: ['loud'],
  variables: { 'main.version': '1.2.0' },
  needsC: true,
  data: ['faces'],
  versionFlag: '--version',
  siblings: '0.3.0',
};
const bell: GoProgram = { ...clock, program: 'bell', package: 'clock.example/clock/cmd/bell', data: [] };

/** Has a sibling in a folder, which is published as a module of its own. */
const clockModule = {
  name: 'clock.example/clock',
  version: 'v1.2.0',
  files: {
    'go.mod':
      'module clock.example/clock\n\ngo 1.26\n\nrequire clock.example/gears v0.0.0\n\nreplace clock.example/gears => ./gears\n',
    'cmd/clock/main.go':
      'package main\n\nimport "clock.example/gears"\n\nvar version = "none"\n\nfunc main() { println(gears.Name + " " + version + strike) }\n',
    'cmd/clock/loud.go': '//go:build loud\n\npackage main\n\nconst strike = " bong"\n',
    'cmd/bell/main.go': 'package main\n\nvar version = "none"\n\nfunc main() { println("bell " + version) }\n',
    'faces/round/face.txt': '12 3 6 9\n',
  },
};
const gearsModule = {
  name: 'clock.example/gears',
  version: 'v0.3.0',
  files: { 'go.mod': 'module clock.example/gears\n\ngo 1.26\n', 'gears.go': 'package gears\n\nconst Name = "clock"\n' },
};

const createFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'eph-go-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

const writeScript = async (path: string, script: string): Promise<void> => {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
};

const stubEnv = (env: Readonly<Record<string, string>>): void => {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
};

const signal = new AbortController().signal;
const silence = (): void => undefined;

describe('finding a program that comes from a Go module', () => {
  it('prefers the PATH if the version differs at most in the patch, otherwise the cache', async () => {
    const folder = await createFolder();
    const env = { PATH: join(folder, 'path'), EPH_PARTS_CACHE: join(folder, 'cache') };
    await writeScript(join(folder, 'cache/bin/clock'), 'echo clock version 1.2.0');
    await writeScript(join(folder, 'path/clock'), 'echo clock version 1.3.0');
    expect(findGoProgram(clock, env)).toMatchObject({ found: true, where: join(folder, 'cache/bin/clock') });
    await writeScript(join(folder, 'path/clock'), 'echo clock version 1.2.7');
    expect(findGoProgram(clock, env)).toEqual({
      found: true,
      where: join(folder, 'path/clock'),
      version: 'clock version 1.2.7',
    });
  });

  it('reports where it searched and what it found instead', async () => {
    const folder = await createFolder();
    const env = { PATH: join(folder, 'path'), EPH_PARTS_CACHE: join(folder, 'cache') };
    const search = `no clock on the PATH, in ${folder}/cache/go/clock-1.2.0-`;
    expect(findGoProgram(clock, env)).toMatchObject({ found: false, reason: expect.stringContaining(search) });
    await writeScript(join(folder, 'path/clock'), 'echo clock version 1.3.0');
    const reason = `${folder}/path/clock is not version 1.2.0 but "clock version 1.3.0"`;
    expect(findGoProgram(clock, env)).toEqual({ found: false, reason });
  });
});

/** Adds a module to a module proxy in the file system. */
const publish = async (folder: string, { name, version, files }: typeof clockModule | typeof gearsModule): Promise<void> => {
  const source = join(folder, 'source', name);
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(source, dirname(path)), { recursive: true });
    await writeFile(join(source, path), content);
  }
  const versions = join(folder, 'proxy', name, '@v');
  await mkdir(versions, { recursive: true });
  await writeFile(join(versions, `${version}.mod`), files['go.mod']);
  await writeFile(join(versions, `${version}.info`), JSON.stringify({ Version: version, Time: '2026-01-01T00:00:00Z' }));
  const env = { PATH: process.env['PATH'], HOME: folder, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' };
  const git = (...args: string[]): Buffer => execFileSync('git', args, { cwd: source, env });
  git('init', '--quiet');
  git('add', '.');
  const tree = git('write-tree').toString().trim();
  git('archive', '--format=zip', `--prefix=${name}@${version}/`, '-o', join(versions, `${version}.zip`), tree);
};

/** What `go.sum` says of the clock. */
const readSum = (folder: string): string => {
  const env = { ...process.env, GOMODCACHE: join(folder, 'modules-seen') };
  const answer = execFileSync(go, ['mod', 'download', '-json', 'clock.example/clock@v1.2.0'], { cwd: folder, env });
  return (JSON.parse(answer.toString()) as { readonly Sum: string }).Sum;
};

/** As on a machine without the module, whose module proxy serves nothing else. */
const prepare = async (): Promise<{ readonly folder: string; readonly wanted: GoProgram }> => {
  const folder = await createFolder();
  await publish(folder, clockModule);
  await publish(folder, gearsModule);
  stubEnv({
    EPH_PARTS_CACHE: join(folder, 'cache'),
    GOPROXY: `file://${folder}/proxy`,
    GOSUMDB: 'off',
    GOMODCACHE: join(folder, 'modules'),
  });
  // Go's cache of modules is read-only.
  onTestFinished(() => void execFileSync('chmod', ['-R', 'u+w', folder]));
  return { folder, wanted: { ...clock, sum: readSum(folder) } };
};

describe.runIf(go !== '')('building a program from a Go module', { timeout: 180_000 }, () => {
  it('installs it and its data in the cache once, even if two runs are concurrent', async () => {
    const { folder, wanted } = await prepare();
    const get = (): Promise<void> => getGoProgram('clock', wanted, silence, signal);
    await Promise.all([get(), get()]);
    const finding = findGoProgram(wanted, process.env);
    expect(finding).toMatchObject({ found: true, version: '1.2.0' });
    expect(finding.found && readVersion(finding.where, '--version')).toBe('clock 1.2.0 bong');
    const [only = '', ...rest] = readdirSync(join(folder, 'cache/go'));
    expect(rest).toEqual([]);
    expect(readdirSync(join(folder, 'cache/go', only)).toSorted()).toEqual(['clock', 'faces']);
    expect(readFileSync(join(folder, 'cache/go', only, 'faces/round/face.txt'), 'utf8')).toBe('12 3 6 9\n');
  });

  it('builds several programs of a module, each into a folder of its own', async () => {
    const { folder, wanted } = await prepare();
    const programs = [wanted, { ...bell, sum: wanted.sum }] as const;
    await getGoPrograms('clock', programs, silence, signal);
    const places = programs.map((one) => findGoProgram(one, process.env));
    expect(places.map((one) => one.found && readVersion(one.where, '--version'))).toEqual(['clock 1.2.0 bong', 'bell 1.2.0']);
    expect(readdirSync(join(folder, 'cache/go')).toSorted()).toEqual([
      expect.stringMatching(/^bell-1\.2\.0-/),
      expect.stringMatching(/^clock-1\.2\.0-/),
    ]);
  });

  it('refuses a module whose hash differs', async () => {
    const { folder, wanted } = await prepare();
    const other = { ...wanted, sum: `h1:${Buffer.alloc(32).toString('base64')}` };
    await expect(getGoProgram('clock', other, silence, signal)).rejects.toThrow('checksum mismatch');
    expect(readdirSync(join(folder, 'cache/go'))).toEqual([]);
  });

  it('reports which proxy lacks the module, and what to do', async () => {
    const { folder, wanted } = await prepare();
    await rm(join(folder, 'proxy'), { recursive: true });
    const sentence = `could not obtain clock.example/clock@v1.2.0 from file://${folder}/proxy (if this machine cannot reach that, set GOPROXY`;
    await expect(getGoProgram('clock', wanted, silence, signal)).rejects.toThrow(sentence);
  });

  it('stops when aborted, and leaves nothing behind', async () => {
    const { folder, wanted } = await prepare();
    const abort = new AbortController();
    const onProgress = (line: string): void => {
      if (line.startsWith('building')) abort.abort();
    };
    await expect(getGoProgram('clock', wanted, onProgress, abort.signal)).rejects.toThrow('aborted');
    expect(readdirSync(join(folder, 'cache/go'))).toEqual([]);
  });
});

describe('a Go that is too old', () => {
  it('downloads a newer one, which is published as a module', async () => {
    const folder = await createFolder();
    const successor = join(folder, 'toolchain');
    for (const program of ['bin/go', 'pkg/tool/linux_amd64/compile']) {
      await writeScript(join(successor, program), 'echo go1.26.2');
      execFileSync('chmod', ['444', join(successor, program)]);
    }
    const answer = JSON.stringify({ Dir: successor, GoMod: 'unused' });
    await writeScript(join(folder, 'path/go'), `case "$1" in env) echo go1.19.8;; *) echo "$*" >&2; echo '${answer}';; esac`);
    stubEnv({ PATH: `${folder}/path:${process.env['PATH'] ?? ''}` });
    const lines: string[] = [];
    expect(await ensureGo('clock', (line) => lines.push(line), signal)).toBe(join(successor, 'bin/go'));
    expect(lines[0]).toBe(`${folder}/path/go is Go 1.19.8, which is too old: obtaining Go 1.26.2`);
    expect(execFileSync(join(successor, 'pkg/tool/linux_amd64/compile'), { encoding: 'utf8' })).toBe('go1.26.2\n');
  });
});
