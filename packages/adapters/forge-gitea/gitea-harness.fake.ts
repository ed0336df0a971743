import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { projectId, silentLog } from '@eph/contract';
import type { GiteaUser } from '../../../test/parts/gitea-api.ts';
import type { GiteaRepository } from '../../../test/parts/gitea-repository.ts';
import type { GiteaAccess } from '../../../test/parts/gitea-server.ts';
import { findSharedGitea, ownName } from '../../../test/parts/shared-gitea.ts';
import { shippedComments } from '../forge-http/comments.fake.ts';
import type { TokenServerOptions } from '../forge-http/forge-http.ts';
import type { ConnectOptions } from '../forge-http/forge-server.ts';
import { GiteaProxy } from './gitea-proxy.fake.ts';
import { createGiteaServer } from './gitea-server.ts';

type Connected = ReturnType<ReturnType<typeof createGiteaServer>['connect']>;

/** The documented scopes of Eph's token. */
const scopes = ['write:repository', 'write:issue', 'read:user'];

/** One test's own repository, connected as ephd does it. */
export interface GiteaFixture extends Connected, AsyncDisposable {
  readonly repository: GiteaRepository;
  /** As after a restart. */
  connect(changes?: Partial<ConnectOptions>): Connected;
  readonly proxy: GiteaProxy;
  readonly folder: string;
}

/** An organisation and users on the real Gitea of this run. */
export class GiteaHarness {
  readonly server: GiteaAccess;
  /** The organisation that owns the repositories. */
  readonly owner = ownName('acme');
  /** May write. */
  readonly alice: GiteaUser;
  /** May write. */
  readonly bob: GiteaUser;
  /** May only read. */
  readonly mallory: GiteaUser;
  /** Eph's account: an administrator of every repository, with only the documented scopes. */
  readonly bot: GiteaUser;
  #repositories = 0;

  private constructor(server: GiteaAccess, people: readonly [GiteaUser, GiteaUser, GiteaUser, GiteaUser]) {
    this.server = server;
    [this.alice, this.bob, this.mallory, this.bot] = people;
  }

  static async start(): Promise<GiteaHarness> {
    const server = await findSharedGitea();
    const create = (name: string): Promise<GiteaUser> => server.createUser(ownName(name));
    const [alice, bob, mallory, bot] = [
      await create('alice'),
      await create('bob'),
      await create('mallory'),
      await create('eph-bot'),
    ];
    const token = await server.api.as(bot).createToken('narrow', scopes);
    const harness = new GiteaHarness(server, [alice, bob, mallory, { ...bot, token }]);
    await server.createOrganisation(harness.owner);
    return harness;
  }

  /** Empty, or with a branch `main` that holds `README.md`. */
  async createFixture({ isEmpty = false, now = Date.now, ...options }: FixtureOptions = {}): Promise<GiteaFixture> {
    this.#repositories += 1;
    const repository = await this.#createRepository(`shop-${this.#repositories}`, isEmpty);
    await repository.addCollaborator(this.alice, 'write');
    await repository.addCollaborator(this.bob, 'write');
    await repository.addCollaborator(this.bot, 'admin');
    const proxy = await GiteaProxy.start(this.server.port);
    const folder = await mkdtemp(join(tmpdir(), 'eph-forge-gitea-'));
    const { token = this.bot.token, shared } = options;
    const connected: Connected[] = [];
    const connect = (changes: Partial<ConnectOptions> = {}): Connected => {
      const server = createGiteaServer({ baseUrl: proxy.url, token, now, random: Math.random, log: silentLog });
      const made = server.connect({
        ...shippedComments,
        project: projectId('shop'),
        location: `${repository.owner}/${repository.name}`,
        folder: join(folder, String(connected.length)),
        shared,
        ...changes,
      });
      connected.push(made);
      return made;
    };
    return {
      ...connect(),
      repository,
      connect,
      proxy,
      folder,
      async [Symbol.asyncDispose]() {
        for (const { forge } of connected) await forge[Symbol.asyncDispose]();
        await proxy[Symbol.asyncDispose]();
        await rm(folder, { recursive: true, force: true });
      },
    };
  }

  /** Sets the time of the last change of all pull requests, which Gitea's API cannot do. */
  setUpdated(repository: GiteaRepository, at: Date): void {
    using database = this.#openDatabase();
    const update = database.prepare('UPDATE issue SET updated_unix = ? WHERE repo_id = ?');
    update.run(Math.floor(at.getTime() / 1_000), idOf(database, repository));
  }

  /** As many pull requests in all, each with the branches of the first. By its API Gitea needs half a second for each. */
  multiplyFirstPull(repository: GiteaRepository, count: number): void {
    using database = this.#openDatabase();
    const id = idOf(database, repository);
    const copy = (table: string, changes: Readonly<Record<string, string>>, where: string): string => {
      const columns = database.prepare('SELECT name FROM pragma_table_info(?)').all(table);
      const names = columns.map(({ name }) => String(name)).filter((name) => name !== 'id');
      const list = (values: readonly string[]): string => values.join(', ');
      const values = names.map((name) => changes[name] ?? `"${name}"`);
      return `INSERT INTO ${table} (${list(names.map((name) => `"${name}"`))}) SELECT ${list(values)} FROM ${table} WHERE ${where}`;
    };
    const number = '$number';
    const issue = database.prepare(copy('issue', { index: number }, 'repo_id = $id AND "index" = 1'));
    const pull = database.prepare(
      copy('pull_request', { index: number, issue_id: '$issue' }, 'base_repo_id = $id AND "index" = 1'),
    );
    database.exec('BEGIN');
    for (let index = 2; index <= count; index += 1) {
      const { lastInsertRowid } = issue.run({ id, number: index });
      pull.run({ id, number: index, issue: lastInsertRowid });
    }
    database.prepare('UPDATE repository SET num_pulls = $count WHERE id = $id').run({ id, count });
    database.prepare('UPDATE issue_index SET max_index = $count WHERE group_id = $id').run({ id, count });
    database.exec('COMMIT');
  }

  #openDatabase(): DatabaseSync {
    return new DatabaseSync(join(this.server.folder, 'gitea.db'), { timeout: 60_000 });
  }

  async #createRepository(name: string, isEmpty: boolean): Promise<GiteaRepository> {
    if (!isEmpty) return await this.server.createRepository(this.owner, name);
    await this.server.api.send('POST', `/admin/users/${this.owner}/repos`, { name, default_branch: 'main' });
    return this.server.repository(this.owner, name);
  }
}

const idOf = (database: DatabaseSync, { owner, name }: GiteaRepository): number =>
  Number(database.prepare('SELECT id FROM repository WHERE owner_name = ? AND name = ?').get(owner, name)?.['id']);

export interface FixtureOptions
  extends Partial<Pick<TokenServerOptions, 'token' | 'now'>>,
    Partial<Pick<ConnectOptions, 'shared'>> {
  readonly isEmpty?: boolean;
}
