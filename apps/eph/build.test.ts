import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildCli } from './build.ts';
import { fakeEnvironment, startFakeEphd } from './ephd.fake.ts';
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
    ephd.logs = [{ component: 'web', line: 'hello' }];
    const server = ['--server', ephd.address];
    expect(await eph('list', ...server)).toContain('shop-serene-ocean-4207');
    expect(await eph('status', 'shop', ...server)).toContain('COMPONENT');
    expect(await eph('logs', 'shop', ...server)).toBe('web | hello\n');
    for (const command of ['events', 'plan', 'version --ephd', 'why shop', 'open shop --no-browser'])
      expect(await eph(...command.split(' '), ...server)).not.toBe('');
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
