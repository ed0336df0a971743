import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildCli } from './build.ts';
import { fakeEnvironment, fakeLogLine, startFakeEphd } from './ephd.fake.ts';
import packageJson from './package.json' with { type: 'json' };

const execute = promisify(execFile);
let folder: string;
let entry: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'eph-bundle-'));
  entry = await buildCli(join(folder, 'dist'));
});
afterAll(async () => rm(folder, { recursive: true, force: true }));

const eph = async (...args: readonly string[]): Promise<string> =>
  (await execute(process.execPath, [entry, ...args], { cwd: folder, env: { XDG_CACHE_HOME: folder } })).stdout;

describe('the bundle', () => {
  it('works without any package beside it', async () => {
    await using ephd = await startFakeEphd();
    ephd.environments = [fakeEnvironment()];
    ephd.logs = [fakeLogLine('web', 'hello')];
    const server = ['--server', ephd.address];
    expect(await eph('list', ...server)).toContain('shop-serene-ocean-4207');
    expect(await eph('status', 'shop', ...server)).toContain('COMPONENT');
    expect(await eph('logs', 'shop', ...server)).toBe('web | hello\n');
    expect(await eph('config', 'explain', 'web.replicas', ...server)).toContain('over 5 from eph.yaml:12');
    expect(await eph('init')).toContain('Wrote eph.yaml.');
    expect(await eph('config', 'validate', ...server)).toBe('eph.yaml is valid.\n');
    for (const command of ['events', 'plan', 'version --ephd', 'why shop', 'open shop --no-browser'])
      expect(await eph(...command.split(' '), ...server)).not.toBe('');
  });

  it('loads the library for YAML and the prompts only for init and render', async () => {
    const chunks = join(folder, 'dist', 'chunks');
    const files = await Promise.all(
      (await readdir(chunks)).map(async (name) => ({ name, text: await readFile(join(chunks, name), 'utf8') })),
    );
    const loadedWith = (name: string, seen = new Set<string>()): ReadonlySet<string> => {
      const { text = '' } = files.find((file) => file.name === name) ?? {};
      for (const match of text.matchAll(/(?:from|import)\s*"\.\/(?<file>[^"]+)"/g)) {
        const imported = match.groups?.['file'] ?? '';
        if (!seen.has(imported)) loadedWith(imported, seen.add(imported));
      }
      return seen;
    };
    const commands = files
      .filter(({ name }) => !/^(init|render|clack-prompter)-/.test(name))
      .filter(({ name }) => /^(?!chunk-)/.test(name));
    const large = files.filter(({ text }) => /BAD_ALIAS|isCancel/.test(text)).map(({ name }) => name);
    expect(commands.length).toBeGreaterThan(10);
    expect(large.length).toBeGreaterThan(0);
    for (const { name } of commands)
      expect(
        [...loadedWith(name), name].filter((file) => large.includes(file)),
        name,
      ).toStrictEqual([]);
  });

  it('reads next to nothing to say its version', async () => {
    const statically = (await readFile(entry, 'utf8')).matchAll(/(?:^|[;\n])import[^;"']*["']\.\/(?<file>[^"']+)["']/g);
    const needed = new Set([...statically].map((match) => match.groups?.['file']));
    for (const file of await readdir(join(folder, 'dist', 'chunks')))
      if (!needed.has(`chunks/${file}`)) await rm(join(folder, 'dist', 'chunks', file));
    expect(needed.size).toBeLessThanOrEqual(1);
    expect(await eph('version')).toBe(`eph ${packageJson.version}\n`);
  });
});
