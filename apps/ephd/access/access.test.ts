import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSqlStore } from '@eph/adapters/store-sql/store';
import { type Failure, failure, type PlacedRule, type ProjectId, projectId, silentLog } from '@eph/contract';
import type { Caller } from '@eph/engine/access/caller';
import type { RevocationStore, StoredRevocations } from '@eph/engine/access/revocation-store';
import { FakeEventLog } from '@eph/engine/history/event-log.fake';
import type { FileReading } from '@eph/engine/source/read-configuration';
import { ManualClock } from '@eph/engine/time/clock.fake';
import { systemClock } from '@eph/engine/time/system-clock';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { postgres, type RunningPostgres } from '../../../test/parts/postgres.ts';
import { callerOf } from '../api/authenticate.ts';
import { type Access, type AccessOptions, startAccess } from './access.ts';
import { createAccessHandlers } from './access-handlers.ts';
import { Sessions } from './sessions.ts';
import type { RefusalReason } from './tokens.ts';

vi.setConfig({ testTimeout: 120_000 });

const shop = projectId('shop');
const hour = 60 * 60_000;
const year = 365 * 24 * hour;
const ann = { issuer: 'https://id.example.com', subject: '7' };
const administrator: Caller = { kind: 'administrator' };
const labels: ReadonlyMap<ProjectId, readonly string[]> = new Map([[shop, ['web']]]);

const ruleFor = (role: PlacedRule['role'], place = 'ephd.yaml:3'): PlacedRule => ({
  who: [{ person: 'https://id.example.com#7' }],
  role,
  projects: undefined,
  labels: undefined,
  except: [],
  place,
});

/** A configuration repository whose `access.yaml` is what a test sets. */
class FakeRules {
  rules: FileReading<readonly PlacedRule[]> = { state: 'unread', faults: [] };
  headFault: Failure | undefined;
  refreshes = 0;

  set(...rules: readonly PlacedRule[]): void {
    this.rules = { state: 'read', document: rules, faults: [] };
  }

  refresh(): Promise<void> {
    this.refreshes += 1;
    return Promise.resolve();
  }
}

const createFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'eph-access-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
};

/** Opens a data folder, as often as a test likes. */
const open = async (dataFolder: string, options: Partial<AccessOptions> = {}) => {
  const clock = new ManualClock();
  const access = await startAccess({
    dataFolder,
    keys: undefined,
    rules: [ruleFor('developer')],
    reader: undefined,
    database: undefined,
    labelsOf: (project) => labels.get(project),
    clock,
    log: silentLog,
    ...options,
  });
  onTestFinished(() => access[Symbol.asyncDispose]());
  return { access, clock };
};

/** The same, after the first reading of revocations. */
const start: typeof open = async (dataFolder, options) => {
  const opened = await open(dataFolder, options);
  await opened.access.revocations.refresh();
  return opened;
};

const mint = async ({ tokens }: Access, lifetimeMs = hour): Promise<{ text: string; id: string; caller: Caller }> => {
  const { text, id } = await tokens.mint({ person: ann, scope: 'admin', projects: undefined, lifetimeMs });
  const verification = await tokens.verify(text);
  if (!verification.ok) throw new Error(verification.message);
  return { text, id, caller: verification.caller };
};

const reasonOf = async ({ tokens }: Access, text: string): Promise<RefusalReason | 'valid'> => {
  const verification = await tokens.verify(text);
  return verification.ok ? 'valid' : verification.reason;
};

describe('access', () => {
  it('keeps keys and revocations in the data folder, from one start to the next', async () => {
    const folder = await createFolder();
    const { access } = await start(folder);
    const [one, other] = [await mint(access), await mint(access)];
    await access.revocations.revokeToken(one.id);
    const { access: next } = await start(folder);
    expect(await reasonOf(next, one.text)).toBe('revoked');
    expect(await reasonOf(next, other.text)).toBe('valid');
    expect(readdirSync(join(folder, 'access')).toSorted()).toEqual(['keys.json', 'revocations.json']);
  });

  it('refuses tokens until revocations are read', async () => {
    const folder = await createFolder();
    const { access } = await start(folder);
    const { text } = await mint(access);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const database = {
      place: 'the database',
      read: () => promise,
      add: ({ generation }: StoredRevocations) => Promise.resolve(generation),
    };
    const { access: next } = await open(folder, { database });
    expect(await reasonOf(next, text)).toBe('not-ready');
    expect(next.of(administrator).may('tokens.manage')).toBe(true);
    resolve(undefined);
    await next.revocations.refresh();
    expect(await reasonOf(next, text)).toBe('valid');
  });

  it.each([
    ['revocations.json', /is damaged; all tokens are refused until it is deleted/],
    ['keys.json', /is damaged: .* delete it and start ephd again, which ends all tokens/],
  ])('refuses tokens where %s is damaged, says what to do, and leaves the administrator in', async (file, sentence) => {
    const folder = await createFolder();
    const { access } = await start(folder);
    const { text } = await mint(access);
    writeFileSync(join(folder, 'access', file), '{"gener');
    const { access: damaged } = await start(folder);
    expect(await damaged.tokens.verify(text)).toMatchObject({ reason: 'not-ready', message: expect.stringMatching(sentence) });
    expect(damaged.of(administrator).may('tokens.manage')).toBe(true);
    rmSync(join(folder, 'access', file));
    const { access: mended } = await start(folder);
    expect(await reasonOf(mended, text)).not.toBe('valid');
    expect(await reasonOf(mended, (await mint(mended)).text)).toBe('valid');
  });

  it('takes keys from a secret, and writes none then', async () => {
    const folder = await createFolder();
    const keys = Buffer.alloc(32, 7).toString('base64');
    const { access } = await start(folder, { keys });
    const { text } = await mint(access);
    const { access: next } = await start(folder, { keys });
    expect(await reasonOf(next, text)).toBe('valid');
    expect(readdirSync(join(folder, 'access'))).toEqual(['revocations.json']);
  });
});

describe('rules', () => {
  it('are those of both files, and a change counts at once', async () => {
    const reader = new FakeRules();
    reader.set();
    const { access } = await start(await createFolder(), { rules: [ruleFor('viewer')], reader });
    const { caller } = await mint(access);
    const before = access.of(caller);
    expect([before.may('environments.read', shop), before.may('logs.read', shop)]).toEqual([true, false]);
    expect(access.of(caller)).toBe(before);
    reader.set(ruleFor('developer', 'dev/access.yaml:2'));
    expect(access.of(caller).decide('logs.read', shop)).toEqual({
      allowed: true,
      because: 'dev/access.yaml:2 gives the role developer in project shop',
    });
    reader.set(ruleFor(undefined, 'dev/access.yaml:9'));
    expect(access.of(caller).decide('environments.read', shop).because).toBe(
      'dev/access.yaml:9 denies everything in project shop',
    );
    reader.rules = { state: 'read', document: undefined, faults: [] };
    expect(access.of(caller).may('environments.read', shop)).toBe(true);
  });

  it('allow nothing but the administrator while access.yaml was never read', async () => {
    const reader = new FakeRules();
    const { access } = await start(await createFolder(), { rules: [ruleFor('admin')], reader });
    const { caller } = await mint(access);
    expect(access.of(caller).decide('account.read').because).toBe(
      'not all rules are known: access.yaml of the configuration repository has not been read yet',
    );
    expect(access.of(administrator).may('tokens.manage')).toBe(true);
    reader.headFault = failure('config.unreadable', 'the repository could not be read');
    expect(access.of(caller).decide('account.read').because).toBe(
      'not all rules are known: access.yaml of the configuration repository could not be read',
    );
    reader.set();
    expect(access.rules.faults).toEqual([reader.headFault]);
    expect(access.of(caller).may('tokens.manage')).toBe(true);
  });

  it('are quoted only to who may read them', async () => {
    const reader = new FakeRules();
    reader.set(ruleFor('developer', 'access.yaml:2'));
    reader.headFault = failure('config.invalid', 'access.yaml:9: "https://id.example.com#8" has an unknown role');
    const { access, clock } = await start(await createFolder(), { rules: [], reader });
    const handlers = createAccessHandlers({
      access,
      sessions: new Sessions(clock),
      events: new FakeEventLog(),
      now: () => clock.now(),
      url: () => 'http://127.0.0.1:7070',
      find: () => {
        throw new Error('there is no environment');
      },
      projects: new Map(),
    });
    const explain = (identity: Caller) =>
      handlers.explainAccess({
        path: {},
        query: { permission: 'account.read' },
        body: undefined,
        environment: undefined,
        caller: callerOf(identity, 'token', undefined, access),
        lastEventId: undefined,
        addToAudit: () => undefined,
        signIn: () => undefined,
        narrowTo: () => undefined,
        signal: new AbortController().signal,
      });
    const { caller } = await mint(access);
    expect(await explain(administrator)).toMatchObject({ allowed: true, faults: [reader.headFault.message] });
    expect(await explain(caller)).toMatchObject({
      allowed: true,
      faults: ['the rules may not be those of the newest commit; an admin sees why'],
    });
  });

  it('are read also by an ephd that does not lead', async () => {
    const reader = new FakeRules();
    const { clock } = await start(await createFolder(), { reader });
    await expect.poll(() => clock.pending).toBe(2);
    expect(reader.refreshes).toBe(1);
    clock.advance(60_000);
    expect(reader.refreshes).toBe(2);
  });

  it('explain what a person may do without a token', async () => {
    const { access } = await start(await createFolder());
    expect(access.explain(ann, 'environments.change', shop)).toEqual({
      allowed: true,
      because: 'ephd.yaml:3 gives the role developer in project shop',
    });
    expect(access.explain({ ...ann, subject: '8' }, 'environments.read', shop)).toEqual({
      allowed: false,
      because: 'no rule gives a role in project shop, and this needs viewer',
    });
  });
});

describe('a stream', () => {
  it('ends when its token expires', async () => {
    const { access, clock } = await start(await createFolder());
    const { caller } = await mint(access, 90_000);
    const { signal } = access.watch(caller, (rights) => rights.decide('logs.read', shop));
    clock.advance(89_999);
    expect(signal.aborted).toBe(false);
    clock.advance(1);
    expect(signal.reason).toMatchObject({ code: 'api.unauthorized', message: expect.stringContaining('has expired') });
  });

  it('ends when its token is revoked, or all of its person', async () => {
    const { access } = await start(await createFolder());
    const [one, other] = [await mint(access, year), await mint(access, year)];
    const [first, second] = [one, other].map(
      ({ caller }) => access.watch(caller, (rights) => rights.decide('logs.read', shop)).signal,
    );
    await access.revocations.revokeToken(one.id);
    expect(first?.reason).toMatchObject({ code: 'api.unauthorized', message: expect.stringContaining('was revoked') });
    expect(second?.aborted).toBe(false);
    await access.revocations.revokePerson(ann);
    expect(second?.aborted).toBe(true);
  });

  it('ends when a rule takes the permission away, and not with other rules', async () => {
    const reader = new FakeRules();
    reader.set();
    const { access, clock } = await start(await createFolder(), { reader });
    const { caller } = await mint(access, year);
    const [logs, list] = (['logs.read', 'environments.read'] as const).map(
      (one) => access.watch(caller, (rights) => rights.decide(one, shop)).signal,
    );
    reader.set(ruleFor('viewer'));
    clock.advance(2_000);
    expect(logs?.aborted).toBe(false);
    reader.set({ ...ruleFor(undefined, 'dev/access.yaml:4'), projects: ['bank'] });
    clock.advance(2_000);
    expect([logs, list].map((signal) => signal?.aborted)).toEqual([false, false]);
    reader.set({ ...ruleFor(undefined, 'dev/access.yaml:4'), labels: ['web'] });
    clock.advance(2_000);
    expect([logs, list].map((signal) => signal?.aborted)).toEqual([true, true]);
    expect(logs?.reason).toMatchObject({
      code: 'api.forbidden',
      message: 'dev/access.yaml:4 denies everything in project shop',
    });
  });

  it('of the administrator goes on', async () => {
    const { access, clock } = await start(await createFolder());
    const { signal } = access.watch(administrator, (rights) => rights.decide('logs.read', shop));
    await access.revocations.revokePerson(ann);
    clock.advance(year);
    expect(signal.aborted).toBe(false);
  });

  it('leaves no timer behind', async () => {
    const { access, clock } = await start(await createFolder());
    access.watch((await mint(access)).caller, (rights) => rights.decide('logs.read', shop));
    await access[Symbol.asyncDispose]();
    expect(clock.pending).toBe(0);
  });
});

describeWith(postgres, 'access with PostgreSQL', () => {
  let server: RunningPostgres;
  beforeAll(async () => {
    server = await postgres.start();
  });
  afterAll(() => server.stop());

  const keys = Buffer.alloc(32, 9).toString('base64');
  const connect = (url: string): RevocationStore => {
    const store = createSqlStore({ location: { postgres: url }, clock: systemClock });
    onTestFinished(() => store[Symbol.asyncDispose]());
    return store.revocations;
  };

  it('loses no revocation and no token with a database that is lost, stopped and back', async () => {
    let connected = connect(await server.createDatabase());
    const database: RevocationStore = {
      get place() {
        return connected.place;
      },
      read: () => connected.read(),
      add: (given) => connected.add(given),
    };
    /** There is an empty one in its place. */
    const loseDatabase = async (): Promise<void> => void (connected = connect(await server.createDatabase()));
    const folder = await createFolder();
    const restart = async (): Promise<Access> => (await start(folder, { keys, database })).access;
    const access = await restart();
    const tokens = [await mint(access, year), await mint(access, year), await mint(access, year)] as const;
    const [a, b] = tokens;
    const reasons = (which: Access) => Promise.all(tokens.map(({ text }) => reasonOf(which, text)));
    expect(await access.revocations.revokeToken(a.id)).toEqual({ missing: undefined });

    await loseDatabase();
    expect(await reasons(access)).toEqual(['revoked', 'valid', 'valid']);
    expect(await reasons(await restart())).toEqual(['revoked', 'valid', 'valid']);
    expect((await database.read())?.revocations).toMatchObject([{ subject: a.id }]);

    await server.halt();
    onTestFinished(() => server.resume());
    expect((await access.revocations.revokeToken(b.id)).missing).toMatch(/PostgreSQL .* does not work/);
    expect(await reasons(await restart())).toEqual(['revoked', 'revoked', 'valid']);

    await server.resume();
    await expect
      .poll(async () => {
        await access.revocations.refresh();
        return (await database.read().catch(() => undefined))?.revocations.length;
      })
      .toBe(2);
    rmSync(join(folder, 'access'), { recursive: true });
    expect(await reasons(await restart())).toEqual(['revoked', 'revoked', 'valid']);

    await loseDatabase();
    rmSync(join(folder, 'access'), { recursive: true });
    expect(await reasons(await restart())).toEqual(['another-generation', 'another-generation', 'another-generation']);
  });

  it('shares revocations and tokens between two ephd', async () => {
    const url = await server.createDatabase();
    const [one, other] = [
      (await start(await createFolder(), { keys, database: connect(url) })).access,
      (await start(await createFolder(), { keys, database: connect(url) })).access,
    ];
    const { text, id } = await mint(one);
    expect(await reasonOf(other, text)).toBe('valid');
    await one.revocations.revokeToken(id);
    await other.revocations.refresh();
    expect(await reasonOf(other, text)).toBe('revoked');
  });

  it('refuses tokens where there is neither a file nor a database that answers', async () => {
    const url = await server.createDatabase();
    const { access } = await start(await createFolder(), { keys, database: connect(url) });
    const { text } = await mint(access);
    await server.halt();
    onTestFinished(() => server.resume());
    const { access: next } = await start(await createFolder(), { keys, database: connect(url) });
    expect(await next.tokens.verify(text)).toMatchObject({
      reason: 'not-ready',
      message: expect.stringMatching(/revocations\.json does not exist, and PostgreSQL .* tokens are refused until that answers/),
    });
    await server.resume();
    await expect
      .poll(async () => {
        await next.revocations.refresh();
        return await reasonOf(next, text);
      })
      .toBe('valid');
  });
});
