import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { GiteaApi, type GiteaUser } from './gitea-api.ts';
import { type FileChanges, GiteaRepository } from './gitea-repository.ts';
import type { RunningPart } from './part.ts';
import type { PartProcess } from './part-process.ts';

export interface GiteaInstance extends GiteaAddress {
  readonly process: PartProcess;
  startAgain(): Promise<PartProcess>;
}

/** Where a Gitea is, and who administers it. */
export interface GiteaAddress {
  readonly folder: string;
  readonly port: number;
  readonly admin: GiteaUser;
}

/** A running Gitea with the credentials of its administrator. */
export class GiteaAccess {
  readonly folder: string;
  readonly port: number;
  readonly url: string;
  /** With the credentials of the administrator. */
  readonly api: GiteaApi;

  constructor({ folder, port, admin }: GiteaAddress) {
    this.folder = folder;
    this.port = port;
    this.url = `http://127.0.0.1:${port}`;
    this.api = new GiteaApi(this.url, admin);
  }

  get admin(): GiteaUser {
    return this.api.user;
  }

  async createUser(name: string): Promise<GiteaUser> {
    const password = randomBytes(16).toString('hex');
    const account = { username: name, email: `${name}@example.com`, password, must_change_password: false };
    await this.api.send('POST', '/admin/users', account);
    return createFirstToken(this.url, name, password);
  }

  /** Owned by the administrator. */
  async createOrganisation(name: string): Promise<void> {
    await this.api.send('POST', '/orgs', { username: name });
  }

  /** The owner is a user or an organisation; the files are the first commit of the branch main. */
  async createRepository(
    owner: string,
    name: string,
    files: FileChanges = { 'README.md': `# ${name}\n` },
  ): Promise<GiteaRepository> {
    await this.api.send('POST', `/admin/users/${owner}/repos`, { name, default_branch: 'main' });
    const repository = this.repository(owner, name);
    await repository.pushFiles('main', files);
    return repository;
  }

  /** An existing repository, with the credentials of the administrator. */
  repository(owner: string, name: string): GiteaRepository {
    return new GiteaRepository(this.api, owner, name, join(this.folder, 'copies'));
  }
}

/** A Gitea of one's own, that has only an administrator. */
export class GiteaServer extends GiteaAccess implements RunningPart {
  readonly #instance: GiteaInstance;
  #process: PartProcess | undefined;

  constructor(instance: GiteaInstance) {
    super(instance);
    this.#instance = instance;
    this.#process = instance.process;
  }

  /** Stops the server and keeps its data and port for `resume`. */
  async halt(): Promise<void> {
    await this.#process?.stop();
    this.#process = undefined;
  }

  async resume(): Promise<void> {
    this.#process ??= await this.#instance.startAgain();
  }

  async stop(): Promise<void> {
    await this.halt();
    await rm(this.folder, { recursive: true, force: true });
  }
}

export const createFirstToken = async (url: string, name: string, password: string): Promise<GiteaUser> => {
  const token = await new GiteaApi(url, { name, password, token: '' }).createToken('first');
  return { name, password, token };
};
