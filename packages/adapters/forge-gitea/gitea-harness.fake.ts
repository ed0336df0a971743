import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { projectId, silentLog } from '@eph/contract';
import { gitea } from '../../../test/parts/gitea.ts';
import type { GiteaUser } from '../../../test/parts/gitea-api.ts';
import type { GiteaRepository } from '../../../test/parts/gitea-repository.ts';
import type { GiteaServer } from '../../../test/parts/gitea-server.ts';
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

/** A real Gitea with users. */
export class GiteaHarness {
  readonly server: GiteaServer;
  /** May write. */
  readonly alice: GiteaUser;
  /** May write. */
  readonly bob: GiteaUser;
  /** May only read. */
  readonly mallory: GiteaUser;
  /** Eph's account: an administrator of every repository, with only the documented scopes. */
  readonly bot: GiteaUser;
  #repositories = 0;

  private constructor(server: GiteaServer, people: readonly [GiteaUser, GiteaUser, GiteaUser, GiteaUser]) {
    this.server = server;
    [this.alice, this.bob, this.mallory, this.bot] = people;
  }

  static async start(): Promise<GiteaHarness> {
    const server = await gitea.start();
    try {
      const [alice, bob, mallory, bot] = [
        await server.createUser('alice'),
        await server.createUser('bob'),
        await server.createUser('mallory'),
        await server.createUser('eph-bot'),
      ];
      const token = await server.api.as(bot).createToken('narrow', scopes);
      await server.createOrganisation('acme');
      return new GiteaHarness(server, [alice, bob, mallory, { ...bot, token }]);
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    await this.server.stop();
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
  setUpdated({ owner, name }: GiteaRepository, at: Date): void {
    const database = new DatabaseSync(join(this.server.folder, 'gitea.db'), { timeout: 60_000 });
    try {
      const repository = 'SELECT id FROM repository WHERE owner_name = ? AND name = ?';
      const update = database.prepare(`UPDATE issue SET updated_unix = ? WHERE repo_id = (${repository})`);
      update.run(Math.floor(at.getTime() / 1_000), owner, name);
    } finally {
      database.close();
    }
  }

  async #createRepository(name: string, isEmpty: boolean): Promise<GiteaRepository> {
    if (!isEmpty) return await this.server.createRepository('acme', name);
    await this.server.api.send('POST', '/admin/users/acme/repos', { name, default_branch: 'main' });
    return this.server.repository('acme', name);
  }
}

export interface FixtureOptions
  extends Partial<Pick<TokenServerOptions, 'token' | 'now'>>,
    Partial<Pick<ConnectOptions, 'shared'>> {
  readonly isEmpty?: boolean;
}
