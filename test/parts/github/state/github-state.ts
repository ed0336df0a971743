import { GitNetwork } from '../git/git-network.ts';
import { GitStore } from '../git/git-store.ts';
import type { Account } from './account.ts';
import type { App, Installation } from './app.ts';
import type { GithubEvent } from './github-event.ts';
import { fullName, type Repository } from './repository.ts';

export interface Urls {
  /** With the base path of Enterprise, without a slash at the end. */
  readonly api: string;
  readonly web: string;
}

/** Everything the emulator knows. Only the functions in the `-mutations` files change it. */
export class GithubState {
  readonly urls: Urls;
  readonly now: () => number;
  readonly store = new GitStore();
  readonly repositories = new Map<number, Repository>();
  readonly apps = new Map<number, App>();
  readonly installations = new Map<number, Installation>();
  /** Grows with every change of anything. */
  version = 0;
  readonly #accounts = new Map<string, Account>();
  readonly #byName = new Map<string, Repository>();
  readonly #moved = new Map<string, number>();
  readonly #listeners: ((event: GithubEvent) => void)[] = [];
  #lastId = 1000;

  constructor(urls: Urls, now: () => number) {
    this.urls = urls;
    this.now = now;
  }

  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  account(login: string): Account | undefined {
    return this.#accounts.get(login.toLowerCase());
  }

  addAccount(login: string, type: Account['type']): Account {
    if (this.account(login) !== undefined) throw new Error(`There is an account ${login} already.`);
    const account: Account = { id: this.nextId(), login, type, createdAt: this.now(), members: new Map() };
    this.#accounts.set(login.toLowerCase(), account);
    this.version += 1;
    return account;
  }

  /** The App that acts as this bot. */
  appOf(bot: Account): App | undefined {
    return bot.type === 'Bot' ? [...this.apps.values()].find((app) => app.bot === bot) : undefined;
  }

  newNetwork(): GitNetwork {
    return new GitNetwork(this.store);
  }

  /** By its present name. */
  repository(owner: string, name: string): Repository | undefined {
    return this.#byName.get(`${owner}/${name}`.toLowerCase());
  }

  /** The repository that had this name once. */
  movedRepository(owner: string, name: string): Repository | undefined {
    const id = this.#moved.get(`${owner}/${name}`.toLowerCase());
    return id === undefined ? undefined : this.repositories.get(id);
  }

  repositoriesOf(owner: Account): readonly Repository[] {
    return [...this.repositories.values()].filter((repository) => repository.owner === owner);
  }

  addRepository(repository: Repository): void {
    const name = fullName(repository).toLowerCase();
    if (this.#byName.has(name)) throw new Error(`There is a repository ${name} already.`);
    this.repositories.set(repository.id, repository);
    this.#byName.set(name, repository);
    this.#moved.delete(name);
    this.touch(repository);
  }

  /** Renames or transfers it; the old name redirects here from now on. */
  moveRepository(repository: Repository, owner: Account, name: string): void {
    const before = fullName(repository).toLowerCase();
    this.#byName.delete(before);
    this.#moved.set(before, repository.id);
    repository.owner = owner;
    repository.name = name;
    this.#byName.set(fullName(repository).toLowerCase(), repository);
    this.touch(repository);
  }

  removeRepository(repository: Repository): void {
    this.touch(repository);
    this.repositories.delete(repository.id);
    this.#byName.delete(fullName(repository).toLowerCase());
  }

  /** Call after every change under this repository. Answers about forks include their parent, pull requests their fork. */
  touch(repository: Repository): void {
    this.version += 1;
    for (const related of [repository, repository.parent, ...repository.forks])
      if (related !== undefined) related.version = this.version;
  }

  onEvent(listener: (event: GithubEvent) => void): void {
    this.#listeners.push(listener);
  }

  emit(event: GithubEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}
