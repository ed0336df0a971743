import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lockDataFolder } from '@eph/adapters/store-sql/data-folder-lock';
import { createSqlStore } from '@eph/adapters/store-sql/store';
import { systemClock } from '@eph/engine/time/system-clock';
import { describe, expect, it, onTestFinished } from 'vitest';
import { prepareDataFolder } from './data-folder.ts';
import { readServerKey } from './server-key.ts';

const silent = { debug: () => {}, info: () => {}, warn: () => {} };

const createParent = (): string => {
  const parent = mkdtempSync(join(tmpdir(), 'eph-data-'));
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
  return parent;
};

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe('the data folder', () => {
  it('is made for ephd alone', () => {
    const folder = join(createParent(), 'new', 'data');
    prepareDataFolder(folder, silent);
    expect(modeOf(folder)).toBe('700');
  });

  it('is closed again where an older ephd or a person left it open', () => {
    const parent = createParent();
    const folder = join(parent, 'data');
    const folders = ['', 'projects', 'projects/shop', 'providers', 'providers/local', 'process', 'configuration'];
    for (const name of folders) mkdirSync(join(folder, name), { recursive: true });
    const files = ['history.sqlite', 'server.key', 'ephd.json'];
    for (const name of files) writeFileSync(join(folder, name), 'x');
    for (const name of files) chmodSync(join(folder, name), 0o666);
    for (const name of folders) chmodSync(join(folder, name), 0o777);
    const elsewhere = join(parent, 'elsewhere');
    mkdirSync(elsewhere);
    chmodSync(elsewhere, 0o755);
    symlinkSync(elsewhere, join(folder, 'link'));
    prepareDataFolder(folder, silent);
    expect(folders.map((name) => modeOf(join(folder, name)))).toEqual(folders.map(() => '700'));
    expect(files.map((name) => modeOf(join(folder, name)))).toEqual(files.map(() => '600'));
    expect(modeOf(elsewhere)).toBe('755');
  });

  it('gets no file that others may read, whatever the umask is', async () => {
    const folder = join(createParent(), 'data');
    prepareDataFolder(folder, silent);
    using _ = lockDataFolder(folder, 'this test');
    readServerKey(folder);
    await using store = createSqlStore({ location: { sqlite: join(folder, 'history.sqlite') }, clock: systemClock });
    await store.events.read({ limit: 1 });
    const files = ['ephd.lock', 'ephd.json', 'server.key', 'history.sqlite', 'history.sqlite-wal', 'history.sqlite-shm'];
    expect(files.map((name) => `${name} ${modeOf(join(folder, name))}`)).toEqual(files.map((name) => `${name} 600`));
  });

  it('says so where it cannot be used', () => {
    const path = join(createParent(), 'file');
    writeFileSync(path, '');
    expect(() => prepareDataFolder(path, silent)).toThrow(/cannot be used|EEXIST/);
  });
});
