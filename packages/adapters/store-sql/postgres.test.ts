import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAllEvents, EphError, type EventId } from '@eph/contract';
import { describeRevocationStore, tokenRevocation } from '@eph/engine/access/revocation-store.contract';
import { describeEventLog, event } from '@eph/engine/history/event-log.contract';
import { describeLease } from '@eph/engine/history/lease.contract';
import { systemClock } from '@eph/engine/time/system-clock';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { postgres, type RunningPostgres } from '../../../test/parts/postgres.ts';
import { type ScriptProcess, startScript } from '../../../test/parts/start-script.ts';
import { expectOldEvents } from './old-events.contract.ts';
import { createSqlStore, type SqlStoreOptions, type Store } from './store.ts';

vi.setConfig({ testTimeout: 120_000 });

const messages = async ({ events }: Store): Promise<string[]> =>
  (await events.read({ limit: 1_000_000 })).map(({ message }) => message);

const open = (url: string, options: Partial<SqlStoreOptions> = {}): Store => {
  const store = createSqlStore({ location: { postgres: url }, clock: systemClock, ...options });
  onTestFinished(() => store[Symbol.asyncDispose]());
  return store;
};

/** A wire to the server that can be cut so that neither end notices. */
const createWire = async (port: number) => {
  const ends = new Set<Socket>();
  let cut = false;
  let cutBefore: { readonly text: string; readonly done: () => void } | undefined;
  const held: (() => void)[] = [];
  const pass = (act: () => void): void => void (cut ? held.push(act) : act());
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      ends.add(from);
      from.on('data', (bytes) => {
        if (cutBefore !== undefined && bytes.includes(cutBefore.text)) {
          cutNow();
          cutBefore.done();
          cutBefore = undefined;
        }
        pass(() => void to.write(bytes));
      });
      from.on('error', () => undefined);
      from.on('close', () => pass(() => to.destroy()));
      if (cut) from.pause();
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const end of ends) end.destroy();
    server.close();
  });
  const cutNow = (): void => {
    cut = true;
    for (const end of ends) end.pause();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut: cutNow,
    /** Resolves when it was cut, before something with this text passed. */
    cutBefore: (text: string) => new Promise<void>((done) => (cutBefore = { text, done })),
    mend: () => {
      cut = false;
      for (const act of held.splice(0)) act();
      for (const end of ends) end.resume();
    },
  };
};

describeWith(postgres, 'on PostgreSQL', () => {
  let server: RunningPostgres;
  beforeAll(async () => {
    server = await postgres.start();
  });
  afterAll(() => server.stop());

  const createHarness = async () => {
    const url = await server.createDatabase();
    const stores: Store[] = [];
    return {
      open: (options: Partial<SqlStoreOptions> = {}): Store => {
        const store = createSqlStore({ location: { postgres: url }, clock: systemClock, ...options });
        stores.push(store);
        return store;
      },
      fail: () => server.halt(),
      recover: () => server.resume(),
      [Symbol.asyncDispose]: async () => {
        await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
        await server.resume();
      },
    };
  };

  const query = async (url: string, text: string): Promise<unknown[]> => {
    const client = new Client(url);
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  };

  describe('the event log', () => {
    describeEventLog(async () => {
      const harness = await createHarness();
      return { ...harness, log: harness.open({ bufferLimit: 100 }).events, bufferLimit: 100 };
    });
  });

  describe('the lease', () => {
    describeLease(async () => {
      const harness = await createHarness();
      const join = () => {
        const store = harness.open({ lease: { ttlMs: 5_000, renewMs: 250 } });
        return { lease: store.lease, crash: () => Promise.resolve(store[Symbol.asyncDispose]()) };
      };
      return { ...harness, join, wait: () => sleep(20) };
    });
  });

  describe('revocations', () => {
    describeRevocationStore(async () => {
      const url = await server.createDatabase();
      return {
        keeps: 'first generation',
        open: () => open(url).revocations,
        lose: async () => void (await query(url, 'drop schema public cascade; create schema public')),
        // Stores are closed at the end of each test.
        [Symbol.asyncDispose]: () => Promise.resolve(),
      };
    });

    it('of several ephd that start at once have one generation', async () => {
      const url = await server.createDatabase();
      const stores = Array.from({ length: 8 }, () => open(url).revocations);
      const revocations = (index: number) => [tokenRevocation(`own-${index}`), tokenRevocation('shared')];
      const generations = await Promise.all(
        stores.map((store, index) => store.add({ generation: `g${index}`, revocations: revocations(index) })),
      );
      expect(new Set(generations).size).toBe(1);
      expect(await open(url).revocations.read()).toMatchObject({ generation: generations[0], revocations: { length: 9 } });
    });

    it('of a server that does not answer are unknown, and not lost', async () => {
      const url = await server.createDatabase();
      const store = open(url).revocations;
      const given = { generation: 'one', revocations: [tokenRevocation('a')] };
      await store.add(given);
      await server.halt();
      onTestFinished(() => server.resume());
      await expect(store.read()).rejects.toMatchObject({ code: 'store.unreachable' });
      await expect(store.add(given)).rejects.toMatchObject({ code: 'store.unreachable' });
      await server.resume();
      await expect.poll(() => store.read().catch(() => undefined)).toEqual(given);
    });

    it('are gone where the schema is dropped under a running ephd, and are taken again', async () => {
      const url = await server.createDatabase();
      const store = open(url).revocations;
      await store.add({ generation: 'one', revocations: [tokenRevocation('a')] });
      await query(url, 'drop schema public cascade; create schema public');
      // The first query finds out about it.
      await expect.poll(() => store.read().catch(() => 'unknown')).toBeUndefined();
      await store.add({ generation: 'one', revocations: [tokenRevocation('b')] });
      expect(await store.read()).toEqual({ generation: 'one', revocations: [tokenRevocation('b')] });
    });

    it('are there for a database that an earlier ephd has made', async () => {
      const url = await server.createDatabase();
      await open(url).events.read({ limit: 1 });
      await query(url, `drop table revocation, token_generation; delete from migration where name = 'revoked tokens'`);
      const store = open(url);
      store.events.append(event('kept'));
      expect(await store.revocations.read()).toBeUndefined();
      await store.events.flush();
      expect(await messages(store)).toEqual(['kept']);
    });
  });

  describe('a store', () => {
    it('waits for a server that is not there yet', async () => {
      const url = await server.createDatabase();
      await server.halt();
      onTestFinished(() => server.resume());
      const store = open(url);
      store.events.append(event('early'));
      await expect.poll(() => store.events.health().message).toMatch(/ECONNREFUSED/);
      await server.resume();
      await store.events.flush();
      expect(await messages(store)).toEqual(['early']);
    });

    it('notices a lost server with nothing to write, and its return', async () => {
      const store = open(await server.createDatabase());
      await store.events.read({ limit: 1 });
      await server.halt();
      onTestFinished(() => server.resume());
      await expect.poll(() => store.events.health().reachable).toBe(false);
      await server.resume();
      await expect.poll(() => store.events.health().reachable).toBe(true);
    });

    it('says where the server is, and not how to get in', async () => {
      const store = open('postgres://eve:opensesame@127.0.0.1:1/shop');
      const error: unknown = await store.events.read({ limit: 1 }).catch((error: unknown) => error);
      expect(error).toMatchObject({
        code: 'store.unreachable',
        message: expect.stringContaining('PostgreSQL shop at 127.0.0.1:1 does not work'),
      });
      expect(`${String(error)} ${store.events.health().message}`).not.toContain('opensesame');
    });

    it('refuses a URL of something else, without repeating it', () => {
      const attempt = (): unknown =>
        createSqlStore({ location: { postgres: 'mysql://root:opensesame@db/eph' }, clock: systemClock });
      expect(attempt).toThrow(
        new EphError('config.invalid', 'the database URL must look like postgres://user:password@host:5432/name'),
      );
    });

    it('gives up on a server that falls silent, and stores every event once when it is back', async () => {
      const wire = await createWire(server.port);
      const url = (await server.createDatabase()).replace(`:${server.port}/`, `:${wire.port}/`);
      const store = open(url);
      store.events.append(event('before'));
      await store.events.flush();
      wire.cut();
      store.events.append(event('during'));
      await expect(store.events.read({ limit: 1 })).rejects.toMatchObject({ code: 'store.unreachable' });
      expect(store.events.health()).toMatchObject({ reachable: false, buffered: 1 });
      wire.mend();
      store.events.append(event('after'));
      await store.events.flush();
      expect(await messages(store)).toEqual(['before', 'during', 'after']);
    });

    it('is closed although the server has fallen silent', async () => {
      const wire = await createWire(server.port);
      const store = open((await server.createDatabase()).replace(`:${server.port}/`, `:${wire.port}/`));
      await store.events.read({ limit: 1 });
      wire.cut();
      store.events.append(event('unsaid'));
      await store[Symbol.asyncDispose]();
      expect(store.events.health()).toMatchObject({ buffered: 0, lost: 1 });
    });

    it('loses only history when the whole schema is dropped', async () => {
      const url = await server.createDatabase();
      const store = open(url);
      store.events.append(event('before'));
      await store.events.flush();
      await query(url, 'drop schema public cascade; create schema public');
      store.events.append(event('after'));
      await store.events.flush();
      expect(await messages(store)).toEqual(['after']);
      expect(store.events.health().lost).toBe(0);
    });

    it('loses only the event that the database does not accept', async () => {
      const url = await server.createDatabase();
      const store = open(url);
      await store.events.read({ limit: 1 });
      await query(url, "alter table event add check (message <> 'bad')");
      for (const message of ['a', 'bad', 'b']) store.events.append(event(message));
      await store.events.flush();
      expect(await messages(store)).toEqual(['a', 'b']);
      expect(store.events.health()).toMatchObject({ reachable: true, lost: 1 });
    });

    it('is not hurt by many that start at once', async () => {
      const url = await server.createDatabase();
      const stores = Array.from({ length: 8 }, () => open(url));
      for (const [index, { events }] of stores.entries()) events.append(event(`${index}`));
      await Promise.all(stores.map(({ events }) => events.flush()));
      expect((await messages(open(url))).toSorted()).toEqual(['0', '1', '2', '3', '4', '5', '6', '7']);
      expect(stores.every(({ events }) => events.health().reachable)).toBe(true);
    });

    it('keeps the newest events when there are too many', async () => {
      const store = open(await server.createDatabase(), { keepEvents: 300 });
      const sent = Array.from({ length: 5_000 }, (_, index) => `${index}`);
      for (const message of sent) store.events.append(event(message));
      await store.events.flush();
      const kept = await messages(store);
      expect(kept).toEqual(sent.slice(-kept.length));
      expect(kept.length).toBeGreaterThanOrEqual(300);
      expect(kept.length).toBeLessThanOrEqual(300 + 1_000);
    });

    it('keeps the events of a database of the first version', async () => {
      const url = await server.createDatabase();
      await query(
        url,
        `create table event (id bigserial primary key, writer text not null, sequence bigint not null, at text not null,
          type text not null, project text, environment text, message text not null, details jsonb not null,
          constraint event_written_once unique (writer, sequence));
        create index event_of_environment on event (environment, id);
        create table coordination (key text primary key, holder text not null, expires_at bigint not null);
        create table migration (number integer primary key, name text not null);
        insert into migration values (1, 'events and coordination');
        insert into event (writer, sequence, at, type, project, message, details) values
          ('a', 1, '2026-01-05T08:00:00.000Z', 'status.changed', 'shop', 'old 1', '{}'),
          ('a', 2, '2026-01-05T08:30:00.000Z', 'environment.removed', 'blog', 'old 2', '{"name":"x"}')`,
      );
      await expectOldEvents(open(url));
    });

    it('stores details so that they can be asked for', async () => {
      const url = await server.createDatabase();
      const store = open(url);
      store.events.append({ ...event('held'), details: { due: 7 } });
      await store.events.flush();
      expect(await query(url, "select message from event where details ->> 'due' = '7'")).toEqual([{ message: 'held' }]);
    });
  });

  describe('several writers', () => {
    /** Reads page after page, as a client does that resumes after the last id it has seen. */
    const readOn = (store: Store) => {
      const seen: string[] = [];
      let after: EventId = beforeAllEvents;
      return {
        seen,
        read: async (): Promise<void> => {
          const page = await store.events.read({ after, limit: 7 });
          seen.push(...page.map(({ message }) => message));
          after = page.at(-1)?.id ?? after;
        },
      };
    };

    const follow = (store: Store): string[] => {
      const seen: string[] = [];
      const abort = new AbortController();
      onTestFinished(() => abort.abort());
      const run = async (): Promise<void> => {
        for await (const entry of store.events.follow({ after: beforeAllEvents }, abort.signal))
          if (entry.kind === 'stored') seen.push(entry.event.message);
      };
      void run();
      return seen;
    };

    const isLockAwaited = async (url: string): Promise<boolean> =>
      (await query(url, "select from pg_locks where locktype = 'advisory' and not granted")).length > 0;

    it('do not let a reader pass over an event that is committed late', async () => {
      const wire = await createWire(server.port);
      const url = await server.createDatabase();
      const [slow, fast, other] = [open(url.replace(`:${server.port}/`, `:${wire.port}/`)), open(url), open(url)];
      await Promise.all([slow, fast, other].map(({ events }) => events.read({ limit: 1 })));
      const reader = readOn(other);
      const followed = follow(other);
      const isCut = wire.cutBefore('commit\0');
      slow.events.append(event('first'));
      await isCut;
      fast.events.append(event('second'));
      // On a slow machine, the transaction that was cut off has ended before this is seen.
      await expect.poll(async () => (await isLockAwaited(url)) || fast.events.health().buffered === 0).toBe(true);
      await reader.read();
      wire.mend();
      await Promise.all([slow.events.flush(), fast.events.flush()]);
      await reader.read();
      expect(reader.seen.toSorted()).toEqual(['first', 'second']);
      await expect.poll(() => followed.toSorted()).toEqual(['first', 'second']);
      expect([slow, fast].map(({ events }) => events.health().lost)).toEqual([0, 0]);
    });

    it('go on within seconds when one of them falls silent in the middle', async () => {
      const wire = await createWire(server.port);
      const url = await server.createDatabase();
      const [silent, other] = [open(url.replace(`:${server.port}/`, `:${wire.port}/`)), open(url)];
      await Promise.all([silent, other].map(({ events }) => events.read({ limit: 1 })));
      const isCut = wire.cutBefore('insert into');
      silent.events.append(event('late'));
      await isCut;
      other.events.append(event('in time'));
      await other.events.flush();
      expect(await messages(other)).toEqual(['in time']);
      wire.mend();
      await silent.events.flush();
      expect(await messages(other)).toEqual(['in time', 'late']);
    });

    it('are read exactly once, in the order of ids, while they write', async () => {
      const url = await server.createDatabase();
      const writers = Array.from({ length: 4 }, () => open(url));
      const reader = readOn(open(url));
      const followed = follow(open(url));
      const sent = writers.flatMap((_, writer) => Array.from({ length: 150 }, (_, index) => `${writer} ${index}`));
      let isWriting = true;
      const written = Promise.all(
        writers.map(async ({ events }, writer) => {
          for (let index = 0; index < 150; index += 1) {
            events.append(event(`${writer} ${index}`));
            if (index % (3 + writer) === 0) await events.flush();
          }
          await events.flush();
        }),
      ).finally(() => (isWriting = false));
      while (isWriting || reader.seen.length < sent.length) await reader.read();
      await written;
      expect(reader.seen.toSorted()).toEqual(sent.toSorted());
      expect(reader.seen).toEqual(await messages(open(url)));
      await expect.poll(() => followed.length).toBe(sent.length);
      expect(followed).toEqual(reader.seen);
    });
  });

  describe('two ephd', () => {
    /** What an ephd does with the lease, in a process of its own, with the times it has in production. */
    const startHolder = (url: string, name: string): ScriptProcess =>
      startScript(`
        import { createSqlStore } from ${JSON.stringify(join(import.meta.dirname, 'store.ts'))};
        const clock = { now: Date.now, after: (ms, call) => { const timer = setTimeout(call, ms); return () => clearTimeout(timer); } };
        const store = createSqlStore({ location: { postgres: ${JSON.stringify(url)} }, clock });
        const say = (state) => console.log(state.state + ' ' + (state.holder ?? ''));
        await store.lease.hold(${JSON.stringify(name)}, say, new AbortController().signal);`);

    it('have one leader, and within 15 s of its kill the other leads', async () => {
      const url = await server.createDatabase();
      const first = startHolder(url, 'first');
      await first.line(/^leading/);
      const second = startHolder(url, 'second');
      await second.line(/^standby first/);
      await first.kill();
      const killedAt = Date.now();
      await second.line(/^leading/);
      expect(Date.now() - killedAt).toBeLessThan(15_000);
      expect(second.lines).toEqual(['standby first', 'leading ']);
    });
  });
});
