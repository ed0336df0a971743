import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { environmentListSchema } from '@eph/contract';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Config, findRetiredProviders, folderOfProvider, readConfig } from './config.ts';
import { writeRetired } from './provider-types/retired-settings.ts';
import { startEphd } from './wiring.ts';

const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'eph-retired-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

const readFile = (folder: string, providers: string): Config => {
  const path = join(folder, 'ephd.yaml');
  writeFileSync(
    path,
    `${providers}data: data\napi: { port: 0 }\ngateway: { port: 0 }\nprojects: [{ name: shop, trusted: true, location: a.git }]\n`,
  );
  const config = readConfig(['--config', path], { INIT_CWD: folder });
  if (config === 'help') throw new Error('help');
  return config;
};

/** What a process provider leaves behind of an environment without services. */
const writeEnvironment = (folder: string): void => {
  const id = '0123456789abcdef';
  const source = { kind: 'branch', name: 'preview/x' };
  const identity = { id, name: 'blog-calm-bay-1234', project: 'blog', source, createdAt: '2026-01-05T09:00:00.000Z' };
  const write = (path: string, record: object): void => writeFileSync(path, JSON.stringify({ format: 1, record }));
  mkdirSync(join(folder, id, 'components', 'web'), { recursive: true });
  write(join(folder, id, 'environment.json'), identity);
  write(join(folder, id, 'components', 'web', 'component.json'), { name: 'web', current: null, next: null, retiring: [] });
};

describe('a provider that is not in the file any more', () => {
  it('is found as long as its data folder holds environments', () => {
    const folder = newFolder();
    const config = readFile(folder, 'providers: { local: { type: process } }\n');
    expect(findRetiredProviders(config)).toEqual([]);
    for (const name of ['process', 'local', 'old', 'older'])
      mkdirSync(folderOfProvider(config.dataFolder, name), { recursive: true });
    mkdirSync(join(config.dataFolder, 'providers', 'Not A Name', '0123456789abcdef'), { recursive: true });
    writeFileSync(join(config.dataFolder, 'providers', 'file'), '');
    expect(findRetiredProviders(config)).toEqual([]);
    for (const name of ['process', 'local', 'old']) writeEnvironment(folderOfProvider(config.dataFolder, name));
    expect(findRetiredProviders(config)).toMatchObject([
      { name: 'process', type: 'process' },
      { name: 'old', type: 'process' },
    ]);
    expect(findRetiredProviders(readFile(folder, ''))).toMatchObject([{ name: 'local' }, { name: 'old' }]);
  });

  it('is found by its settings where it makes environments elsewhere, unless it was only renamed', () => {
    const folder = newFolder();
    const config = readFile(folder, '');
    const settings = { type: 'kubernetes', kubeconfig: '/etc/eph/us', owner: 'team' };
    for (const name of ['old', 'older']) {
      mkdirSync(folderOfProvider(config.dataFolder, name), { recursive: true });
      writeRetired(folderOfProvider(config.dataFolder, name), settings);
    }
    expect(findRetiredProviders(config)).toMatchObject([{ name: 'old', type: 'kubernetes', settings }]);
    const renamed = readFile(folder, 'providers: { new: { type: kubernetes, kubeconfig: /etc/eph/us, owner: team } }\n');
    expect(findRetiredProviders(renamed)).toEqual([]);
    const other = readFile(folder, 'providers: { new: { type: kubernetes, kubeconfig: /etc/eph/us } }\n');
    expect(findRetiredProviders(other)).toMatchObject([{ name: 'old' }]);
  });

  it('is not forgotten where its settings cannot be read', () => {
    const folder = newFolder();
    const config = readFile(folder, '');
    const own = folderOfProvider(config.dataFolder, 'old');
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, 'settings.json'), '{"type":"kuber');
    expect(() => findRetiredProviders(config)).toThrow(/settings\.json cannot be read, .* Put the provider back into the file/);
  });

  it('still runs, and the log says what to do', async () => {
    const folder = newFolder();
    const config = readFile(folder, '');
    writeEnvironment(folderOfProvider(config.dataFolder, 'old'));
    const lines: string[] = [];
    const stream = new Writable({
      write: (chunk, _, done) => {
        lines.push(String(chunk));
        done();
      },
    });
    await using ephd = await startEphd(config, { XDG_STATE_HOME: join(folder, 'state') }, pino({ level: 'warn' }, stream));
    const warnings = lines.filter((line) => line.includes('provider old is not configured any more'));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('old: { type: process }');
    expect(warnings[0]).toContain('eph release');
    const authorization = `Bearer ${readFileSync(ephd.tokenFile, 'utf8').trim()}`;
    await expect
      .poll(async () => {
        const answer = await fetch(`${ephd.apiUrl}/api/v1/environments`, { headers: { authorization } });
        const { environments } = environmentListSchema.parse(await answer.json());
        return environments.map(({ name, components }) => [name, components.map(({ provider }) => provider)]);
      })
      .toEqual([['blog-calm-bay-1234', ['old']]]);
  });
});
