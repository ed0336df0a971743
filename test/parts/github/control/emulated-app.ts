import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { App, AppPermissions, Installation } from '../state/app.ts';
import type { GithubState } from '../state/github-state.ts';
import { person } from './person.ts';

export interface AppOptions {
  readonly slug?: string;
  /** In GitHub's terms; the permissions that Eph needs if left out. */
  readonly permissions?: AppPermissions;
  readonly webhook?: { readonly url: string; readonly secret?: string };
  readonly events?: readonly string[];
}

const usualPermissions: AppPermissions = {
  metadata: 'read',
  contents: 'write',
  pull_requests: 'write',
  issues: 'write',
  statuses: 'write',
  checks: 'write',
  deployments: 'write',
};

let keys: { readonly publicKey: KeyObject; readonly privateKey: string } | undefined;

/** A GitHub App as its owner sees it. */
export class EmulatedApp {
  readonly id: number;
  readonly clientId: string;
  readonly slug: string;
  /** As GitHub hands it out. */
  readonly privateKey: string;
  readonly #github: GithubState;
  readonly #app: App;

  private constructor(github: GithubState, app: App, privateKey: string) {
    this.id = app.id;
    this.clientId = app.clientId;
    this.slug = app.slug;
    this.privateKey = privateKey;
    this.#github = github;
    this.#app = app;
  }

  static create(github: GithubState, options: AppOptions): EmulatedApp {
    keys ??= generateKeys();
    const slug = options.slug ?? 'eph';
    const id = github.nextId();
    const events = options.events ?? ['*'];
    const { webhook } = options;
    const target = { type: 'integration', id } as const;
    const hook = { id: github.nextId(), target, events };
    const app: App = {
      id,
      clientId: `Iv23li${id}`,
      slug,
      owner: person(github),
      bot: github.addAccount(`${slug}[bot]`, 'Bot'),
      publicKey: keys.publicKey,
      permissions: { metadata: 'read', ...(options.permissions ?? usualPermissions) },
      events,
      createdAt: github.now(),
      hook: webhook === undefined ? undefined : { ...hook, url: webhook.url, secret: webhook.secret },
    };
    github.apps.set(id, app);
    return new EmulatedApp(github, app, keys.privateKey);
  }

  /** The login of its bot account. */
  get login(): string {
    return this.#app.bot.login;
  }

  /** On all repositories of an account, or on those named. */
  install(owner: string, repositories?: readonly string[]): EmulatedInstallation {
    const account = this.#github.account(owner);
    if (account === undefined) throw new Error(`There is no account ${owner} to install the App on.`);
    const ids = repositories?.map((name) => this.#idOf(owner, name));
    const installation: Installation = {
      id: this.#github.nextId(),
      app: this.#app,
      account,
      selected: ids === undefined ? undefined : new Set(ids),
      createdAt: this.#github.now(),
      suspendedAt: undefined,
    };
    this.#github.installations.set(installation.id, installation);
    this.#github.version += 1;
    return new EmulatedInstallation(this.#github, installation);
  }

  #idOf(owner: string, name: string): number {
    const repository = this.#github.repository(owner, name);
    if (repository === undefined) throw new Error(`There is no repository ${owner}/${name}.`);
    return repository.id;
  }
}

export class EmulatedInstallation {
  readonly id: number;
  readonly #github: GithubState;
  readonly #installation: Installation;

  constructor(github: GithubState, installation: Installation) {
    this.id = installation.id;
    this.#github = github;
    this.#installation = installation;
  }

  suspend(): void {
    this.#installation.suspendedAt = this.#github.now();
    this.#github.version += 1;
  }

  unsuspend(): void {
    this.#installation.suspendedAt = undefined;
    this.#github.version += 1;
  }

  /** Removes one repository from a selected list. */
  removeRepository(id: number): void {
    this.#installation.selected?.delete(id);
    this.#github.version += 1;
  }

  uninstall(): void {
    this.#github.installations.delete(this.id);
    this.#github.version += 1;
  }
}

/** Key generation is slow, and no test needs two keys. */
const generateKeys = (): NonNullable<typeof keys> => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { publicKey, privateKey: privateKey.export({ type: 'pkcs1', format: 'pem' }).toString() };
};
