import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Event } from '@eph/contract';
import { describeEventLog } from '@eph/engine/history/event-log.contract';
import { describeLease } from '@eph/engine/history/lease.contract';
import { systemClock } from '@eph/engine/time/system-clock';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createSqlStore, type SqlStoreOptions, type Store } from './store.ts';

vi.setConfig({ testTimeout: 60_000 });

const event = (message: string): Event => ({
  at: '2026-01-05T09:00:00.000Z',
  type: 'status.changed',
  project: null,
  environment: null,
  message,
  details: {},
});

const createFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'eph-store-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

const open = (path: string, options: Partial<SqlStoreOptions> = {}): Store => {
  const store = createSqlStore({ location: { sqlite: path }, clock: systemClock, ...options });
  onTestFinished(() => store[Symbol.asyncDispose]());
  return store;
};

const messages = async ({ events }: Store): Promise<string[]> =>
  (await events.read({ limit: 1_000_000 })).map(({ message }) => message);

/** The folder of the file goes away and comes back with everything in it. */
const createHarness = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'eph-store-'));
  const [data, away] = [join(folder, 'data'), join(folder, 'away')];
  await mkdir(data);
  const stores: Store[] = [];
  return {
    open: (options: Partial<SqlStoreOptions> = {}): Store => {
      const store = createSqlStore({ location: { sqlite: join(data, 'eph.sqlite') }, clock: systemClock, ...options });
      stores.push(store);
      return store;
    },
    fail: () => rename(data, away),
    recover: () => rename(away, data),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
      await rm(folder, { recursive: true });
    },
  };
};

describe('the event log on SQLite', () => {
  describeEventLog(async () => {
    const harness = await createHarness();
    return { ...harness, log: harness.open({ bufferLimit: 100 }).events, bufferLimit: 100 };
  });
});

describe('the lease on SQLite', () => {
  describeLease(async () => {
    const harness = await createHarness();
    await harness.open().events.read({ limit: 1 });
    const join = () => {
      const store = harness.open({ lease: { ttlMs: 5_000, renewMs: 250 } });
      return { lease: store.lease, crash: () => Promise.resolve(store[Symbol.asyncDispose]()) };
    };
    return { ...harness, join, wait: () => sleep(20) };
  });
});

describe('a store on SQLite', () => {
  it('keeps its events from one ephd to the next', async () => {
    const path = join(await createFolder(), 'eph.sqlite');
    const first = open(path);
    first.events.append(event('first'));
    await first[Symbol.asyncDispose]();
    const second = open(path);
    second.events.append(event('second'));
    await second.events.flush();
    expect(await messages(second)).toEqual(['first', 'second']);
  });

  it('loses only history when its file is deleted while it runs', async () => {
    const path = join(await createFolder(), 'eph.sqlite');
    const store = open(path);
    store.events.append(event('before'));
    await store.events.flush();
    for (const file of [path, `${path}-wal`, `${path}-shm`]) await rm(file, { force: true });
    store.events.append(event('after'));
    await store.events.flush();
    expect(await messages(store)).toEqual(['after']);
    expect(store.events.health()).toMatchObject({ reachable: true, lost: 0 });
    expect(await readFile(path)).not.toHaveLength(0);
  });

  it('loses only history when the file alone is deleted and its journal stays', async () => {
    const path = join(await createFolder(), 'eph.sqlite');
    const store = open(path);
    store.events.append(event('before'));
    await store.events.flush();
    await rm(path);
    store.events.append(event('after'));
    await store.events.flush();
    expect(await messages(store)).toEqual(['after']);
  });

  it('makes its tables again when they are dropped', async () => {
    const path = join(await createFolder(), 'eph.sqlite');
    const store = open(path);
    store.events.append(event('before'));
    await store.events.flush();
    const other = new DatabaseSync(path);
    other.exec('drop table event');
    other.close();
    store.events.append(event('after'));
    await store.events.flush();
    expect(await messages(store)).toEqual(['after']);
  });

  it('says what is wrong with a damaged file, and works once it is deleted', async () => {
    const path = join(await createFolder(), 'eph.sqlite');
    await writeFile(path, 'this is not a database, '.repeat(1_000));
    const store = open(path);
    store.events.append(event('kept'));
    await expect.poll(() => store.events.health().message).toMatch(/damaged: delete it, only history is lost/);
    await rm(path);
    await store.events.flush();
    expect(await messages(store)).toEqual(['kept']);
  });

  it('says that a newer ephd has used the file', async () => {
    const path = join(await createFolder(), 'eph.sqlite');
    expect(await open(path).events.read({ limit: 1 })).toEqual([]);
    const other = new DatabaseSync(path);
    other.exec("insert into migration values (1000, 'from the future')");
    other.close();
    await expect(open(path).events.read({ limit: 1 })).rejects.toThrow(/use a newer ephd/);
  });

  it('waits for its folder, and starts when there is one', async () => {
    const folder = await createFolder();
    const store = open(join(folder, 'later', 'eph.sqlite'));
    store.events.append(event('early'));
    await expect.poll(() => store.events.health().message).toMatch(/check that its folder exists/);
    await mkdir(join(folder, 'later'));
    await store.events.flush();
    expect(await messages(store)).toEqual(['early']);
  });

  it('holds events back while another program has the file locked', async () => {
    const path = join(await createFolder(), 'eph.sqlite');
    const store = open(path);
    await store.events.read({ limit: 1 });
    const other = new DatabaseSync(path);
    other.exec('begin immediate');
    store.events.append(event('patient'));
    await expect.poll(() => store.events.health().message).toMatch(/locked/);
    other.exec('commit');
    other.close();
    await store.events.flush();
    expect(await messages(store)).toEqual(['patient']);
  });

  it('holds events back while the disk is full', async ({ skip }) => {
    const folder = await createFolder();
    try {
      execFileSync('/usr/bin/mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { stdio: 'pipe' });
    } catch (error) {
      skip(`a small disk cannot be mounted here: ${String(error)}`);
    }
    onTestFinished(() => void execFileSync('/usr/bin/umount', ['--lazy', folder]));
    const store = open(join(folder, 'eph.sqlite'));
    await store.events.read({ limit: 1 });
    await writeFile(join(folder, 'ballast'), Buffer.alloc(2 ** 20)).catch(() => undefined);
    const sent = Array.from({ length: 50 }, (_, index) => `${index} ${'x'.repeat(4_000)}`);
    for (const message of sent) store.events.append(event(message));
    await expect.poll(() => store.events.health().message).toMatch(/full/);
    await rm(join(folder, 'ballast'));
    await store.events.flush();
    expect(await messages(store)).toEqual(sent);
    await store[Symbol.asyncDispose]();
  });

  it('loses only the event that the database does not accept', async () => {
    const path = join(await createFolder(), 'eph.sqlite');
    const store = open(path);
    await store.events.read({ limit: 1 });
    const other = new DatabaseSync(path);
    other.exec("create trigger refuse before insert on event when new.message = 'bad' begin select raise(abort, 'no'); end");
    other.close();
    for (const message of ['a', 'bad', 'b']) store.events.append(event(message));
    await store.events.flush();
    expect(await messages(store)).toEqual(['a', 'b']);
    expect(store.events.health()).toMatchObject({ reachable: true, lost: 1 });
  });

  it('keeps the newest events when there are too many', async () => {
    const store = open(join(await createFolder(), 'eph.sqlite'), { keepEvents: 300 });
    const sent = Array.from({ length: 5_000 }, (_, index) => `${index}`);
    for (const message of sent) store.events.append(event(message));
    await store.events.flush();
    const kept = await messages(store);
    expect(kept.length).toBeLessThanOrEqual(300 + 1_000);
    expect(kept).toEqual(sent.slice(-kept.length));
    expect(kept.length).toBeGreaterThanOrEqual(300);
  });

  it('is not hurt by many that start at once', async () => {
    const path = join(await createFolder(), 'eph.sqlite');
    const stores = Array.from({ length: 5 }, () => open(path));
    for (const [index, { events }] of stores.entries()) events.append(event(`${index}`));
    await Promise.all(stores.map(({ events }) => events.flush()));
    expect((await messages(open(path))).toSorted()).toEqual(['0', '1', '2', '3', '4']);
  });

  it('counts what it could not store as lost when it is closed', async () => {
    const store = open(join(await createFolder(), 'missing', 'eph.sqlite'));
    store.events.append(event('gone'));
    await store[Symbol.asyncDispose]();
    await store.events.flush();
    expect(store.events.health()).toMatchObject({ buffered: 0, lost: 1 });
    await expect(store.events.read({ limit: 1 })).rejects.toMatchObject({ code: 'store.unreachable' });
  });
});
