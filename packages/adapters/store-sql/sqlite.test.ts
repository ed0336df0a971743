import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAllEvents } from '@eph/contract';
import { describeRevocationStore } from '@eph/engine/access/revocation-store.contract';
import type { EventQuery } from '@eph/engine/history/event-log';
import { describeEventLog, event } from '@eph/engine/history/event-log.contract';
import { describeLease } from '@eph/engine/history/lease.contract';
import { systemClock } from '@eph/engine/time/system-clock';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { expectOldEvents } from './old-events.contract.ts';
import { createSqlStore, type SqlStoreOptions, type Store } from './store.ts';

vi.setConfig({ testTimeout: 60_000 });

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

describe('revocations on SQLite', () => {
  describeRevocationStore(async () => {
    const path = join(await createFolder(), 'eph.sqlite');
    return {
      keeps: 'first generation',
      open: () => open(path).revocations,
      lose: async () => {
        for (const file of [path, `${path}-wal`, `${path}-shm`]) await rm(file, { force: true });
      },
      // Stores are closed, and their folder is removed, at the end of each test.
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
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

  it('keeps the events of a database of the first version', async () => {
    const path = join(await createFolder(), 'eph.sqlite');
    const old = new DatabaseSync(path);
    old.exec(`
      create table event (id integer primary key, writer text not null, sequence bigint not null, at text not null,
        type text not null, project text, environment text, message text not null, details text not null,
        constraint event_written_once unique (writer, sequence));
      create index event_of_environment on event (environment, id);
      create table coordination (key text primary key, holder text not null, expires_at bigint not null);
      create table migration (number integer primary key, name text not null);
      insert into migration values (1, 'events and coordination');
      insert into event (writer, sequence, at, type, project, message, details) values
        ('a', 1, '2026-01-05T08:00:00.000Z', 'status.changed', 'shop', 'old 1', '{}'),
        ('a', 2, '2026-01-05T08:30:00.000Z', 'environment.removed', 'blog', 'old 2', '{"name":"x"}');`);
    old.close();
    await expectOldEvents(open(path));
  });

  it('gives greater ids when its file is lost', async () => {
    const path = join(await createFolder(), 'eph.sqlite');
    const store = open(path);
    for (const message of ['a', 'b', 'c']) store.events.append(event(message));
    await store.events.flush();
    const [last] = await store.events.read({ limit: 1 });
    await rm(path);
    store.events.append(event('d'));
    await store.events.flush();
    expect(await store.events.read({ after: last?.id ?? beforeAllEvents, limit: 10 })).toMatchObject([{ message: 'd' }]);
  });

  it('keeps rare events however many frequent ones there are', async () => {
    const store = open(join(await createFolder(), 'eph.sqlite'), { keepEvents: 100 });
    for (let index = 0; index < 20; index += 1) store.events.append({ ...event(`audit ${index}`), type: 'audit.changed' });
    for (let index = 0; index < 3_000; index += 1) store.events.append(event(`${index}`));
    await store.events.flush();
    expect(await store.events.read({ types: ['audit.'], limit: 100 })).toHaveLength(20);
    expect((await store.events.read({ types: ['status.changed'], limit: 5_000 })).length).toBeLessThanOrEqual(100 + 1_000);
  });

  it('shows what another process stored within seconds', async () => {
    const path = join(await createFolder(), 'eph.sqlite');
    const [here, elsewhere] = [open(path), open(path)];
    const abort = new AbortController();
    onTestFinished(() => abort.abort());
    const entries = here.events.follow({ after: beforeAllEvents }, abort.signal)[Symbol.asyncIterator]();
    const next = entries.next();
    elsewhere.events.append(event('from elsewhere'));
    expect(await next).toMatchObject({ value: { kind: 'stored', event: { message: 'from elsewhere' } } });
  });

  it('drops a follower that is slow while nothing can be stored', async () => {
    const folder = await createFolder();
    const store = open(join(folder, 'missing', 'eph.sqlite'), { bufferLimit: 10 });
    const entries = store.events.follow({ after: beforeAllEvents }, new AbortController().signal)[Symbol.asyncIterator]();
    expect(await entries.next()).toMatchObject({ value: { kind: 'storage', reachable: false } });
    for (let index = 0; index < 5_000; index += 1) store.events.append(event(`${index}`));
    expect(await entries.next()).toEqual({ done: false, value: { kind: 'lagging' } });
    expect(await entries.next()).toEqual({ done: true, value: undefined });
  });

  it('ends following when it is closed', async () => {
    const store = open(join(await createFolder(), 'eph.sqlite'));
    const entries = store.events.follow({}, new AbortController().signal)[Symbol.asyncIterator]();
    const next = entries.next();
    await store.events.read({ limit: 1 });
    await store[Symbol.asyncDispose]();
    expect(await next).toEqual({ done: true, value: undefined });
  });

  it('finds text in a log that is longer than what is searched at once', async () => {
    const store = open(join(await createFolder(), 'eph.sqlite'), { bufferLimit: 50_000 });
    for (let index = 0; index < 25_000; index += 1) store.events.append(event(index % 9_000 === 0 ? `needle ${index}` : 'hay'));
    await store.events.flush();
    const find = async (query: Partial<EventQuery>): Promise<string[]> =>
      (await store.events.read({ text: 'Needle', limit: 10, ...query })).map(({ message }) => message);
    expect(await find({})).toEqual(['needle 0', 'needle 9000', 'needle 18000']);
    expect(await find({ limit: 2 })).toEqual(['needle 9000', 'needle 18000']);
    expect(await find({ limit: 2, after: beforeAllEvents })).toEqual(['needle 0', 'needle 9000']);
    expect(await find({ text: 'hay', limit: 25_000 })).toHaveLength(24_997);
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
