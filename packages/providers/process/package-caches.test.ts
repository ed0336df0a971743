import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Identity, ResolvedComponent } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { servePackages } from '../../../test/parts/package-server.ts';
import { identity, never, ProcessHarness, run, until } from './process-harness.fake.ts';

const other = { ...identity, id: '00000000000000bb' as typeof identity.id, name: 'shop-other-1' as typeof identity.name };

/** Fetches a package, slowly, unless it is in the cache, and says where it got it from. */
const fetching =
  'p="$npm_config_cache/package"; if [ -e "$p" ]; then echo cached; else sleep 1; mkdir -p "$npm_config_cache"; echo code > "$p"; echo fetched; fi';

const preparing = (harness: ProcessHarness, number: number, command: string, more: Partial<ResolvedComponent> = {}) => ({
  ...harness.component('web', number, { command: run('answer.mjs'), prepare: { command, env: {}, timeoutSeconds: 60 } }),
  ...more,
});

const start = async (harness: ProcessHarness, component: ResolvedComponent, of: Identity = identity): Promise<string> => {
  await harness.provider.ensure(of, component, never);
  await harness.untilReady(component, of);
  const lines: string[] = [];
  for await (const { part, text } of harness.provider.logs(of.id, component.name, { tail: 50, follow: false, signal: never }))
    if (part === 'prepare') lines.push(text);
  return lines.at(-1) ?? '';
};

const savedBy = async (harness: ProcessHarness, of: Identity): Promise<string | undefined> => {
  const { items } = await harness.provider.list({ environment: of.id, parts: true }, never);
  return items[0]?.components[0]?.parts?.find(({ instance }) => instance === 'prepare')?.message;
};

describe('the package cache', () => {
  it('is shared by the environments of a project, and what it saves is said', async () => {
    await using harness = new ProcessHarness();
    expect(await start(harness, preparing(harness, 1, fetching))).toBe('fetched');
    expect(await start(harness, preparing(harness, 1, fetching), other)).toBe('cached');
    expect(await savedBy(harness, other)).toMatch(/^prepare took \d\.\d s \(\d\.\d s less than without the package cache\)$/);
    const elsewhere = { ...other, id: '00000000000000cc' as typeof identity.id, project: 'news' as typeof identity.project };
    expect(await start(harness, preparing(harness, 1, fetching), elsewhere)).toBe('fetched');
  });

  it('is there for prepare only', async () => {
    await using harness = new ProcessHarness();
    const command = 'env | grep -c -e cache -e CARGO_HOME';
    expect(await start(harness, preparing(harness, 1, command))).toBe('9');
    const { outputs } = (await harness.observe('web')) ?? {};
    const variables = Object.keys((await (await fetch(outputs?.url ?? '')).json()) as object);
    expect(variables).toContain('PORT');
    expect(variables.filter((name) => /cache|cargo/i.test(name))).toEqual([]);
  });

  it('is not written by a fork, which has one that goes with its environment', async () => {
    await using harness = new ProcessHarness();
    const poison = 'mkdir -p "$npm_config_cache"; echo poison > "$npm_config_cache/package"; echo done';
    const fork = preparing(harness, 1, poison, { fromFork: true });
    expect(await start(harness, fork, other)).toBe('done');
    expect(await start(harness, preparing(harness, 1, fetching))).toBe('fetched');
    expect(await start(harness, preparing(harness, 2, fetching, { fromFork: true }), other)).toBe('cached');
    await harness.provider.remove(other, fork.name, never);
    expect(await start(harness, preparing(harness, 3, fetching, { fromFork: true }), other)).toBe('fetched');
  });

  it('that has grown too large is thrown away after its use', async () => {
    const budget = { diskBytes: 2 ** 40, projectDiskBytes: 2 ** 40, cacheBytes: 2 ** 20 };
    await using harness = new ProcessHarness({ budget });
    const filling = 'mkdir -p "$npm_config_cache"; head -c 3000000 /dev/zero > "$npm_config_cache/package"; echo filled';
    expect(await start(harness, preparing(harness, 1, filling))).toBe('filled');
    await until('it is gone', () => !existsSync(harness.layout.cache(identity.project)));
    expect(await start(harness, preparing(harness, 2, fetching))).toBe('fetched');
  });

  it('does not fill the disk while it is used', async () => {
    const budget = { diskBytes: 2 ** 40, projectDiskBytes: 2 ** 40, cacheBytes: 100 * 2 ** 20 };
    await using harness = new ProcessHarness({ budget });
    const filling =
      'mkdir -p "$npm_config_cache"; while :; do head -c 33554432 /dev/zero > "$npm_config_cache/$(date +%N)"; sleep 0.05; done';
    await harness.provider.ensure(identity, preparing(harness, 1, filling), never);
    await until('it ended', async () => (await harness.observe('web'))?.next?.health === 'failing');
    expect((await harness.observe('web'))?.next?.message).toMatch(/^The package cache of shop uses [\d.]+ GiB of the disk/);
    await until('nothing runs', async () => (await harness.running()).length === 0);
    await until('it is gone', () => !existsSync(harness.layout.cache(identity.project)));
  });

  it('that is damaged does not harm an installation with npm', async () => {
    await using harness = new ProcessHarness();
    using server = await servePackages(harness.folder, ['greeting']);
    const files = Object.entries(server.files).map(([name, text]) => `echo '${text}' > ${name}`);
    const install = [...files, 'npm ci --no-audit --no-fund > /dev/null', 'cat node_modules/greeting/index.js'].join(' && ');
    expect(await start(harness, preparing(harness, 1, install))).toBe("export default 'greeting';");
    const kept = join(harness.layout.cache(identity.project), 'npm', '_cacache', 'content-v2');
    const contents = readdirSync(kept, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
    expect(contents.length).toBeGreaterThan(0);
    for (const { parentPath, name } of contents) writeFileSync(join(parentPath, name), 'damaged');
    expect(await start(harness, preparing(harness, 2, install), other)).toBe("export default 'greeting';");
  });

  it('that is taken away while it is used does not fail a preparation, which is done again', async () => {
    await using harness = new ProcessHarness();
    const folder = harness.layout.cache(identity.project);
    mkdirSync(join(folder, 'npm'), { recursive: true });
    writeFileSync(join(folder, 'npm', 'old'), '');
    const using = 'while [ -e "$npm_config_cache/old" ]; do sleep 0.05; done; mkdir -p "$npm_config_cache/x" && echo whole';
    const component = preparing(harness, 1, using);
    await harness.provider.ensure(identity, component, never);
    await until('it runs', async () => (await harness.running()).length > 0);
    renameSync(folder, `${folder}.away`);
    for (const name of readdirSync(`${folder}.away/npm`))
      renameSync(`${folder}.away/npm/${name}`, `${folder}.away/npm/${name}.gone`);
    expect(await start(harness, component)).toBe('whole');
  });
});
