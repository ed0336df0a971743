import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { projectId, silentLog } from '@eph/contract';
import { gitea } from '../../../test/parts/gitea.ts';
import type { GiteaUser } from '../../../test/parts/gitea-api.ts';
import type { GiteaRepository } from '../../../test/parts/gitea-repository.ts';
import type { GiteaServer } from '../../../test/parts/gitea-server.ts';
import { createGiteaForge, type GiteaForge, type GiteaForgeOptions } from './gitea-forge.ts';
import { GiteaProxy } from './gitea-proxy.fake.ts';

/** What Eph tells people to give to the token of its account. */
const scopes = ['write:repository', 'write:issue', 'read:user'];

/** A repository of its own for one test, the people around it, and what Eph sees of it. */
export interface RepositoryFixture extends AsyncDisposable {
  /** As the administrator of the server sees it. */
  readonly repository: GiteaRepository;
  readonly forge: GiteaForge;
  readonly proxy: GiteaProxy;
  readonly folder: string;
}

/** A real Gitea with the people that tests need. */
export class GiteaHarness {
  readonly server: GiteaServer;
  /** May write. */
  readonly alice: GiteaUser;
  /** May write. */
  readonly bob: GiteaUser;
  /** May only read. */
  readonly mallory: GiteaUser;
  /** Eph's own account, an administrator of every repository, with no more scopes than it needs. */
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
  async createFixture({ isEmpty = false, ...options }: FixtureOptions = {}): Promise<RepositoryFixture> {
    this.#repositories += 1;
    const repository = await this.#createRepository(`shop-${this.#repositories}`, isEmpty);
    await repository.addCollaborator(this.alice, 'write');
    await repository.addCollaborator(this.bob, 'write');
    await repository.addCollaborator(this.bot, 'admin');
    const proxy = await GiteaProxy.start(this.server.port);
    const folder = await mkdtemp(join(tmpdir(), 'eph-forge-gitea-'));
    const forge = createGiteaForge({
      project: projectId('shop'),
      baseUrl: proxy.url,
      owner: repository.owner,
      repository: repository.name,
      token: this.bot.token,
      folder: join(folder, 'data'),
      now: Date.now,
      random: Math.random,
      log: silentLog,
      ...options,
    });
    return {
      repository,
      forge,
      proxy,
      folder,
      async [Symbol.asyncDispose]() {
        await forge[Symbol.asyncDispose]();
        await proxy[Symbol.asyncDispose]();
        await rm(folder, { recursive: true, force: true });
      },
    };
  }

  /** As if all pull requests of a repository had last changed at that time. Gitea lets nobody say so, and nobody wants to wait. */
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

export interface FixtureOptions extends Partial<GiteaForgeOptions> {
  readonly isEmpty?: boolean;
}
