import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { environmentListSchema } from '@eph/contract';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type FakeEphd, fakeEnvironment, fakeLogLine, startFakeEphd } from './ephd.fake.ts';
import { exitCodes } from './exit-codes.ts';
import packageJson from './package.json' with { type: 'json' };

let ephd: FakeEphd;
let folder: string;
let cache: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  cache = await mkdtemp(join(tmpdir(), 'eph-cache-'));
});
afterAll(async () => rm(cache, { recursive: true, force: true }));

beforeEach(async () => {
  ephd = await startFakeEphd();
  ephd.environments = [fakeEnvironment()];
  folder = await mkdtemp(join(tmpdir(), 'eph-cli-'));
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await ephd.close();
  await rm(folder, { recursive: true, force: true });
});

const start = (args: readonly string[], variables: Readonly<Record<string, string>> = {}, input = '') => {
  const env = { PATH: process.env['PATH'], XDG_CACHE_HOME: cache, EPH_SERVER: ephd.address, ...variables };
  const child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), ...args], {
    cwd: folder,
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.end(input);
  children.push(child);
  return child;
};

const run = async (args: readonly string[], variables: Readonly<Record<string, string>> = {}, input = '') => {
  const child = start(args, variables, input);
  const [[code], out, err] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]);
  return { code: code as number, out, err };
};

describe('the program as a process', () => {
  it('says which version it is without asking anyone', async () => {
    const version = { code: exitCodes.ok, out: `eph ${packageJson.version}\n`, err: '' };
    for (const args of [['version'], ['--version'], ['-V']]) expect(await run(args)).toStrictEqual(version);
    expect(ephd.requests).toStrictEqual([]);
    expect((await run(['version', '--ephd'])).out).toBe(`${version.out}ephd 9.8.7\n`);
  });

  it('ends with the code of what happened', async () => {
    expect((await run(['list'])).code).toBe(exitCodes.ok);
    expect((await run(['lst'])).code).toBe(exitCodes.usage);
    expect((await run(['status', 'nope'])).code).toBe(exitCodes.notFound);
    expect((await run(['list', '--server', 'http://127.0.0.1:1'])).code).toBe(exitCodes.unreachable);
  });

  it('prints no colour into a pipe, and JSON that is JSON', async () => {
    const { out, err } = await run(['status', 'shop'], { FORCE_COLOR: '1', TERM: 'xterm-256color' });
    expect(out).toContain('shop-serene-ocean-4207  Ready');
    expect(out + err).not.toContain('\x1b');
    expect(JSON.parse((await run(['list', '--json'])).out)).toStrictEqual(environmentListSchema.parse(ephd));
  });

  it('delivers all of a long answer', async () => {
    ephd.environments = Array.from({ length: 3_000 }, (_, index) =>
      fakeEnvironment({ id: index.toString(16).padStart(16, '0') }),
    );
    expect(JSON.parse((await run(['list', '--json'])).out).environments).toHaveLength(3_000);
  });

  it('ends quietly when nobody reads on', async () => {
    ephd.logs = Array.from({ length: 20_000 }, (_, index) => fakeLogLine('web', `line ${index} ${'x'.repeat(100)}`));
    const child = start(['logs', 'shop', '--follow']);
    const errors = text(child.stderr);
    await once(child.stdout, 'data');
    child.stdout.destroy();
    const [code, signal] = await once(child, 'exit');
    expect({ code, signal, errors: await errors }).toStrictEqual({ code: exitCodes.ok, signal: null, errors: '' });
  });

  it.each([[['logs', 'shop', '-f']], [['status', '--watch']]])('ends %j well with Ctrl-C', async (args) => {
    ephd.logs = [fakeLogLine('web', 'shop')];
    const child = start(args);
    const output = Promise.all([text(child.stderr), once(child, 'exit')]);
    await once(child.stdout, 'data');
    child.kill('SIGINT');
    const [errors, [code, signal]] = await output;
    expect({ code, signal, errors }).toStrictEqual({ code: exitCodes.ok, signal: null, errors: '' });
  });

  it('opens the browser where there is one', async () => {
    for (const opener of ['xdg-open', 'open'])
      await writeFile(join(folder, opener), `#!/bin/sh\nprintf '%s\\n' "$@" > '${folder}/opened'\n`, { mode: 0o755 });
    const variables = { PATH: `${folder}${delimiter}${process.env['PATH']}`, DISPLAY: ':0' };
    const url = 'http://shop-serene-ocean-4207.localhost:7080';

    const opened = async (): Promise<string> => readFile(join(folder, 'opened'), 'utf8').catch(() => '');
    expect((await run(['open', 'shop', '--no-browser'], variables)).out).toBe(`${url}\n`);
    expect(await opened()).toBe('');
    ephd.environments = [fakeEnvironment({ url: 'file:///etc/passwd' })];
    expect(JSON.parse((await run(['open', 'shop', '--json'], variables)).out)).toMatchObject({ opened: false });
    ephd.environments = [fakeEnvironment()];
    expect((await run(['open', 'shop'], variables)).out).toBe(`${url}\n`);
    await expect.poll(opened).toBe(`${url}/\n`);
  });

  it('validates what comes in through a pipe', async () => {
    expect(await run(['config', 'validate', '-'], {}, 'name: shop\n')).toStrictEqual({
      code: exitCodes.ok,
      out: 'standard input is valid.\n',
      err: '',
    });
    expect(ephd.validated.map((bytes) => Buffer.from(bytes).toString())).toStrictEqual(['name: shop\n']);
    expect((await run(['config', 'validate'])).code).toBe(exitCodes.notFound);
  });

  it('makes an eph.yaml in the folder where it is called, also when npm goes elsewhere', async () => {
    const { code, out } = await run(['init']);
    expect(code).toBe(exitCodes.ok);
    expect(out).toContain('Not on a terminal');
    expect(await readFile(join(folder, 'eph.yaml'), 'utf8')).toContain('version: "1.0"');
    const other = join(folder, 'other');
    await mkdir(other);
    await run(['init'], { npm_lifecycle_event: 'eph', INIT_CWD: other });
    expect(await readFile(join(other, 'eph.yaml'), 'utf8')).toContain('name: other');
  });

  it('does without a browser', async () => {
    const { code, err } = await run(['open', 'shop'], { PATH: folder, DISPLAY: ':0' });
    expect({ code, err }).toStrictEqual({ code: exitCodes.ok, err: '' });
  });
});
