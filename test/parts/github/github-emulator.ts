import { randomBytes } from 'node:crypto';
import { seededRandom } from '../../chaos/seeded-random.ts';
import { Failures } from '../emulation/failures.ts';
import { RequestLog } from '../emulation/request-log.ts';
import { type AppOptions, EmulatedApp } from './control/emulated-app.ts';
import { EmulatedRepository } from './control/emulated-repository.ts';
import { type By, person } from './control/person.ts';
import { type Population, populate } from './control/population.ts';
import type { FileContent } from './git/git-objects.ts';
import { GithubApi } from './http/api.ts';
import type { Failure } from './http/failures.ts';
import { GitHttp } from './http/git-http.ts';
import { githubRateLimits, type RateLimitOptions, RateLimits } from './http/rate-limits.ts';
import { Router } from './http/router.ts';
import { type SecondaryLimitOptions, SecondaryLimits } from './http/secondary-limits.ts';
import { ApiServer, Listener } from './http/server.ts';
import { Conformance, describeViolation, type Violation } from './openapi/conformance.ts';
import { Description, type Flavour } from './openapi/description.ts';
import { allRoutes } from './routes/all-routes.ts';
import { Credentials } from './state/credentials.ts';
import { GithubState } from './state/github-state.ts';
import { createRepository } from './state/repository-mutations.ts';
import { Webhooks } from './webhooks/webhooks.ts';

export interface EmulatorOptions {
  /** Enterprise lives under `/api/v3`, has its own description and no rate limit unless one is given. */
  readonly flavour?: Flavour;
  readonly seed?: number;
  /** The clock of GitHub, in milliseconds. */
  readonly now?: () => number;
  readonly rateLimit?: Partial<RateLimitOptions>;
  /** Off unless given; `githubSecondaryLimits` are the real ones. */
  readonly secondaryLimits?: SecondaryLimitOptions;
  readonly installationTokenLifeMs?: number;
}

export interface RepositoryOptions extends By {
  readonly private?: boolean;
  readonly defaultBranch?: string;
  /** Of the first commit; `null` leaves the repository empty. */
  readonly files?: Readonly<Record<string, FileContent>> | null;
}

const hourMs = 3_600_000;

/**
 * GitHub on loopback. Every request and every answer is compared with GitHub's published OpenAPI description; what does not fit
 * fails the test when the emulator is disposed of, unless the test took it with `takeViolations`.
 */
export class GithubEmulator implements AsyncDisposable {
  /** The base address for octokit, without a slash at the end. */
  readonly url: string;
  readonly failures: Failures<Failure>;
  readonly requests: RequestLog;
  readonly rateLimits: RateLimits;
  readonly webhooks: Webhooks;
  readonly #github: GithubState;
  readonly #credentials: Credentials;
  readonly #conformance: Conformance;
  readonly #server: ApiServer;
  readonly #listener: Listener;
  #stopped = false;

  private constructor(listener: Listener, options: EmulatorOptions) {
    const flavour = options.flavour ?? 'github.com';
    const enterprise = flavour === 'enterprise';
    const now = options.now ?? Date.now;
    const web = `http://127.0.0.1:${listener.port}`;
    this.url = enterprise ? `${web}/api/v3` : web;
    this.#listener = listener;
    this.#github = new GithubState({ api: this.url, web }, now);
    this.#credentials = new Credentials(this.#github);
    const description = Description.load(flavour);
    this.#conformance = new Conformance(description);
    const seed = options.seed ?? 1;
    this.failures = new Failures<Failure>(seed);
    this.requests = new RequestLog();
    const limit = enterprise && options.rateLimit === undefined ? undefined : { ...githubRateLimits, ...options.rateLimit };
    this.rateLimits = new RateLimits(limit, now);
    this.webhooks = new Webhooks(this.#github, this.#conformance, seededRandom(seed + 1));
    const life = options.installationTokenLifeMs ?? hourMs;
    const routes = allRoutes(life, () => newToken('ghs'));
    const api = new GithubApi({
      github: this.#github,
      credentials: this.#credentials,
      conformance: this.#conformance,
      router: new Router(description, routes),
      limits: this.rateLimits,
      secondaryLimits: new SecondaryLimits(options.secondaryLimits, now),
      enterprise,
    });
    this.#server = new ApiServer({
      github: this.#github,
      api,
      git: new GitHttp(this.#github, this.#credentials),
      failures: this.failures,
      log: this.requests,
      nextRequestId: requestIds(seededRandom(seed + 2)),
    });
  }

  static async start(options: EmulatorOptions = {}): Promise<GithubEmulator> {
    const listener = await Listener.bind();
    try {
      const emulator = new GithubEmulator(listener, options);
      listener.serve((request, response) => emulator.#watch(emulator.#server.serve(request, response)));
      return emulator;
    } catch (error) {
      await listener.close();
      throw error;
    }
  }

  createOrganization(login: string, { owners = [], members = [] }: { owners?: string[]; members?: string[] } = {}): void {
    const organization = this.#github.addAccount(login, 'Organization');
    for (const name of owners) organization.members.set(person(this.#github, name).id, 'admin');
    for (const name of members) organization.members.set(person(this.#github, name).id, 'member');
  }

  /** Changes the role of a user in an organisation. */
  setMember(organization: string, login: string, role: 'admin' | 'member' | 'none'): void {
    const account = this.#github.account(organization);
    if (account?.type !== 'Organization') throw new Error(`There is no organisation ${organization}.`);
    const { id } = person(this.#github, login);
    if (role === 'none') account.members.delete(id);
    else account.members.set(id, role);
    for (const repository of this.#github.repositoriesOf(account)) this.#github.touch(repository);
  }

  createUser(login: string): void {
    this.#github.addAccount(login, 'User');
  }

  /** `acme/shop`; the owner becomes an organisation if there is no such account yet. */
  createRepository(name: string, options: RepositoryOptions = {}): EmulatedRepository {
    const [owner = '', repository = ''] = name.split('/');
    const made = createRepository(this.#github, {
      owner: this.#github.account(owner) ?? this.#github.addAccount(owner, 'Organization'),
      name: repository,
      private: options.private ?? false,
      defaultBranch: options.defaultBranch ?? 'main',
      files: options.files === null ? undefined : (options.files ?? { 'README.md': `# ${repository}\n` }),
      by: person(this.#github, options.by),
    });
    return new EmulatedRepository(this.#github, made);
  }

  repository(name: string): EmulatedRepository {
    const [owner = '', repository = ''] = name.split('/');
    const found = this.#github.repository(owner, repository);
    if (found === undefined) throw new Error(`There is no repository ${name}.`);
    return new EmulatedRepository(this.#github, found);
  }

  /** Thousands of repositories and pull requests at once. */
  populate(population: Population): void {
    populate(this.#github, population);
  }

  createApp(options: AppOptions = {}): EmulatedApp {
    return EmulatedApp.create(this.#github, options);
  }

  /** A personal access token. */
  createToken({ by, scopes = ['repo'], lifeMs }: By & { scopes?: readonly string[]; lifeMs?: number } = {}): string {
    const text = newToken('ghp');
    const user = person(this.#github, by);
    const expiresAt = lifeMs === undefined ? undefined : this.#github.now() + lifeMs;
    this.#credentials.add({ kind: 'personal', text, user, scopes, expiresAt, revoked: false });
    return text;
  }

  revokeToken(text: string): void {
    const token = this.#credentials.find(text);
    if (token === undefined) throw new Error('There is no such token.');
    token.revoked = true;
  }

  /** Revokes every installation token; Apps have to request new ones. */
  revokeInstallationTokens(): void {
    for (const token of this.#credentials.all) if (token.kind === 'installation') token.revoked = true;
  }

  /** The violations of GitHub's description since the last call; they no longer fail the test. */
  takeViolations(): readonly Violation[] {
    return this.#conformance.take();
  }

  /** Stops it and removes its files; throws if anything violated GitHub's description. */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#server.stop();
    await this.webhooks.stop();
    await this.#listener.close();
    this.#github.store.close();
    const violations = this.takeViolations();
    if (violations.length > 0) throw new Error(violations.map(describeViolation).join('\n'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #watch(serving: Promise<void>): void {
    serving.catch((error: unknown) => {
      // A client that disconnects during its own request is not a fault of the emulator.
      if (this.#stopped || isHangUp(error)) return;
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#conformance.refuse({ kind: 'answer', where: 'the server', faults: [text] });
    });
  }
}

const isHangUp = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ECONNRESET';

const newToken = (prefix: string): string => `${prefix}_${randomBytes(18).toString('hex')}`;

/** Unique, in the format of GitHub. */
const requestIds = (random: () => number): (() => string) => {
  const part = (digits: number): string =>
    Math.floor(random() * 16 ** digits)
      .toString(16)
      .toUpperCase()
      .padStart(digits, '0');
  let count = 0;
  return () => {
    count += 1;
    return `${part(4)}:${part(6)}:${part(7)}:${part(7)}:${count.toString(16).toUpperCase().padStart(8, '0')}`;
  };
};
