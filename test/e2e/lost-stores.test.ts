import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type NewToken, newTokenSchema, revocationAnswerSchema } from '@eph/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../parts/describe-with.ts';
import { postgres, type RunningPostgres } from '../parts/postgres.ts';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import type { RunningEphd } from './running-ephd.ts';
import { app, oneService } from './sample-app.ts';

const person = 'https://id.example.com#4711';

/** An ephd on a database, with a rule for one person. */
class Setup implements AsyncDisposable {
  readonly harness: EphdHarness;
  readonly #server: RunningPostgres;
  readonly #databaseUrl: string;
  readonly #keys = randomBytes(32).toString('base64');
  ephd: RunningEphd | undefined;

  private constructor(harness: EphdHarness, server: RunningPostgres, databaseUrl: string) {
    this.harness = harness;
    this.#server = server;
    this.#databaseUrl = databaseUrl;
  }

  static async create(server: RunningPostgres): Promise<Setup> {
    return new Setup(await EphdHarness.create(), server, await server.createDatabase());
  }

  async start(): Promise<void> {
    const config = join(this.harness.folder, 'ephd.yaml');
    const projects = [{ name: 'shop', location: this.harness.repository.path, trusted: true }];
    await writeFile(config, JSON.stringify({ projects, access: { rules: [{ who: { person }, role: 'developer' }] } }));
    const env = { DATABASE_URL: this.#databaseUrl, EPH_ACCESS_KEYS: this.#keys };
    this.ephd = await this.harness.start({ projects: [], args: ['--config', config], env });
    await eventually('tokens can be made', async () => (await this.#askForToken()).status === 201);
  }

  async restart(): Promise<void> {
    await this.ephd?.kill();
    await this.start();
  }

  async emptyDatabase(): Promise<void> {
    await this.#server.emptyDatabase(this.#databaseUrl);
  }

  async dropDatabase(): Promise<void> {
    await this.#server.dropDatabase(this.#databaseUrl);
  }

  async restoreDatabase(): Promise<void> {
    await this.#server.restoreDatabase(this.#databaseUrl);
  }

  dropFile(): void {
    rmSync(join(this.harness.dataFolder, 'access', 'revocations.json'));
  }

  async mint(): Promise<NewToken> {
    return newTokenSchema.parse(JSON.parse((await this.#askForToken()).body));
  }

  async revoke(id: string): Promise<string | null> {
    const { body } = await this.#ask('DELETE', `/api/v1/tokens/${id}`);
    return revocationAnswerSchema.parse(JSON.parse(body)).missing;
  }

  async try({ token }: NewToken): Promise<{ readonly status: number; readonly body: string }> {
    const { status, body } = await this.harness.anonymousApi('/api/v1/auth/status', {
      headers: { authorization: `Bearer ${token}` },
    });
    return { status, body };
  }

  #askForToken() {
    return this.#ask('POST', '/api/v1/tokens', JSON.stringify({ person, scope: 'read', for: '1h' }));
  }

  #ask(method: string, path: string, body = '') {
    return this.harness.api(path, { method, body, headers: { 'content-type': 'application/json' } });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.harness[Symbol.asyncDispose]();
  }
}

describeWith(postgres, 'tokens and the stores of what is revoked', () => {
  let server: RunningPostgres;
  beforeAll(async () => {
    server = await postgres.start();
  });
  afterAll(() => server.stop());

  it('hold when the database is emptied, while ephd runs and before it starts', { timeout: 120_000 }, async () => {
    await using setup = await Setup.create(server);
    await setup.start();
    const [valid, revoked] = [await setup.mint(), await setup.mint()];
    expect(await setup.revoke(revoked.id)).toBeNull();
    const check = async (): Promise<void> => {
      expect((await setup.try(valid)).status).toBe(200);
      expect(await setup.try(revoked)).toMatchObject({ status: 401, body: expect.stringContaining('the token was revoked') });
    };
    await check();
    await setup.emptyDatabase();
    await check();
    await setup.restart();
    await check();
    await setup.ephd?.kill();
    await setup.emptyDatabase();
    await setup.start();
    await check();
    // The database has it again: it alone is enough now.
    await setup.ephd?.kill();
    setup.dropFile();
    await setup.start();
    await check();
  });

  it('hold when the database is dropped, over a restart without it, and when there is a new one', {
    timeout: 120_000,
  }, async () => {
    await using setup = await Setup.create(server);
    await setup.start();
    const [valid, revoked, later] = [await setup.mint(), await setup.mint(), await setup.mint()];
    expect(await setup.revoke(revoked.id)).toBeNull();
    const check = async (): Promise<void> => {
      expect((await setup.try(valid)).status).toBe(200);
      expect(await setup.try(revoked)).toMatchObject({ status: 401, body: expect.stringContaining('the token was revoked') });
    };
    await setup.dropDatabase();
    await check();
    expect(await setup.revoke(later.id)).toContain('PostgreSQL');
    await setup.restart();
    await check();
    expect((await setup.try(later)).status).toBe(401);
    await setup.restoreDatabase();
    await eventually('the new database has what was revoked', async () => (await setup.revoke(later.id)) === null);
    await setup.ephd?.kill();
    setup.dropFile();
    await setup.start();
    await check();
    expect((await setup.try(later)).status).toBe(401);
  });

  it('end when both are lost, and no environment changes', { timeout: 120_000 }, async () => {
    await using setup = await Setup.create(server);
    const { harness } = setup;
    await setup.start();
    const commit = await harness.repository.push('preview/one', app(oneService));
    const before = await harness.untilReady('preview/one', commit);
    const [process] = harness.services();
    const [valid, revoked] = [await setup.mint(), await setup.mint()];
    await setup.revoke(revoked.id);
    await setup.ephd?.kill();
    await setup.emptyDatabase();
    setup.dropFile();
    await setup.start();
    for (const token of [valid, revoked])
      expect(await setup.try(token)).toMatchObject({ status: 401, body: expect.stringContaining('lost its list') });
    expect((await setup.try(await setup.mint())).status).toBe(200);
    const after = await harness.untilReady('preview/one', commit);
    expect({ id: after.id, name: after.name, createdAt: after.createdAt }).toEqual({
      id: before.id,
      name: before.name,
      createdAt: before.createdAt,
    });
    expect(harness.services().map(({ pid }) => pid)).toEqual([process?.pid]);
  });

  it('that cannot be reached get a revocation later, and its answer says so', { timeout: 120_000 }, async () => {
    await using setup = await Setup.create(server);
    await setup.start();
    const [valid, revoked] = [await setup.mint(), await setup.mint()];
    await server.halt();
    expect(await setup.revoke(revoked.id)).toContain('PostgreSQL');
    expect([(await setup.try(valid)).status, (await setup.try(revoked)).status]).toEqual([200, 401]);
    await server.resume();
    await eventually('the database has it', async () => (await setup.revoke(revoked.id)) === null);
    await setup.ephd?.kill();
    setup.dropFile();
    await setup.start();
    expect([(await setup.try(valid)).status, (await setup.try(revoked)).status]).toEqual([200, 401]);
  });

  it('keep what was answered, when ephd is killed at once', { timeout: 120_000 }, async () => {
    await using setup = await Setup.create(server);
    await setup.start();
    const tokens = await Promise.all(Array.from({ length: 8 }, () => setup.mint()));
    const answered: NewToken[] = [];
    const revoking = tokens.map(async (token) => {
      await setup.revoke(token.id);
      answered.push(token);
      if (answered.length === 4) await setup.ephd?.kill();
    });
    await Promise.allSettled(revoking);
    expect(answered.length).toBeGreaterThanOrEqual(4);
    await setup.emptyDatabase();
    await setup.start();
    for (const token of answered) expect((await setup.try(token)).status).toBe(401);
  });
});
