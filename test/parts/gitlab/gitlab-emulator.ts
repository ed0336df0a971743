import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Failures } from '../emulation/failures.ts';
import { LoopbackServer } from '../emulation/loopback-server.ts';
import { RequestLog } from '../emulation/request-log.ts';
import { WebhookDelivery } from '../emulation/webhook-delivery.ts';
import { HookSender } from './hook-sender.ts';
import { GitlabApi } from './http/api.ts';
import { GitHttp } from './http/git-http.ts';
import { RateLimit, type RateLimitOptions } from './http/rate-limit.ts';
import { type MergeRequestAt, Person } from './person.ts';
import { Reader } from './reader.ts';
import { deliveryEndpoints } from './routes/delivery-endpoints.ts';
import { mergeRequestEndpoints } from './routes/merge-request-endpoints.ts';
import { noteEndpoints } from './routes/note-endpoints.ts';
import { projectEndpoints } from './routes/project-endpoints.ts';
import type { Scope, Token } from './state/access.ts';
import type { Group, Project, Role, User } from './state/entities.ts';
import { addMergeRequest } from './state/merge-requests.ts';
import { addMember, addUser } from './state/projects.ts';
import { GitlabState } from './state/state.ts';

export interface GitlabOptions {
  /** Decides which requests fail when failures come by chance. */
  readonly seed?: number;
  readonly now?: () => number;
  /** None if left out. */
  readonly rateLimit?: RateLimitOptions;
}

export interface TokenOptions {
  readonly scopes?: readonly Scope[];
  readonly expiresAt?: number;
}

/** A merge request for tests with thousands of them: without a push and without webhooks. */
export interface MadeUpMergeRequest {
  readonly author: Person;
  readonly sha: string;
  readonly title?: string;
  readonly labels?: readonly string[];
}

/**
 * A GitLab on loopback: its REST API as documented, real Git repositories behind it and over HTTP, real webhooks and injected
 * failures. If either side deviates from the documentation, `await using` fails at the end.
 */
export class GitlabEmulator implements AsyncDisposable {
  readonly failures: Failures;
  readonly requests = new RequestLog();
  /** Pending and delivered webhooks. */
  readonly webhooks = new WebhookDelivery();
  readonly read: Reader;
  readonly rateLimit: RateLimit;
  readonly #state: GitlabState;
  readonly #hooks: HookSender;
  readonly #tokens = new Map<string, Token>();
  readonly #mistakes: string[] = [];
  readonly #persons = new Map<string, Person>();
  #server: LoopbackServer | undefined;

  private constructor(folder: string, { seed = 1, now = Date.now, rateLimit }: GitlabOptions) {
    this.failures = new Failures(seed);
    this.rateLimit = new RateLimit(rateLimit, now);
    this.#state = new GitlabState(folder, now);
    this.read = new Reader(this.#state);
    this.#hooks = new HookSender(this.#state, this.webhooks, this.#mistakes);
    this.#state.announce = (happened) => this.#hooks.announce(happened);
  }

  static async start(options: GitlabOptions = {}): Promise<GitlabEmulator> {
    const emulator = new GitlabEmulator(await mkdtemp(join(tmpdir(), 'eph-gitlab-')), options);
    const api = new GitlabApi({
      state: emulator.#state,
      tokens: emulator.#tokens,
      git: new GitHttp(emulator.#state, emulator.#tokens),
      endpoints: [...projectEndpoints, ...mergeRequestEndpoints, ...noteEndpoints, ...deliveryEndpoints],
      failures: emulator.failures,
      requests: emulator.requests,
      rateLimit: emulator.rateLimit,
      mistakes: emulator.#mistakes,
    });
    emulator.#server = await LoopbackServer.start((request) => api.answer(request));
    emulator.#state.url = emulator.#server.url;
    return emulator;
  }

  /** The base URL for clients. */
  get url(): string {
    return this.#state.url;
  }

  /** The same person each time. */
  person(username: string): Person {
    const known = this.#persons.get(username);
    if (known !== undefined) return known;
    const person = new Person(this.#state, addUser(this.#state, username));
    this.#persons.set(username, person);
    return person;
  }

  /** https://docs.gitlab.com/user/profile/personal_access_tokens/ */
  personalToken(person: Person, options: TokenOptions = {}): string {
    return this.#issue(person.user, 'glpat', options);
  }

  /** https://docs.gitlab.com/user/project/settings/project_access_tokens/: a bot that is a member of the project */
  projectToken(project: string, role: Role = 'developer', options: TokenOptions = {}): string {
    return this.#issueBot('project', this.#project(project), role, options);
  }

  /** https://docs.gitlab.com/user/group/settings/group_access_tokens/: a bot that is a member of the group and all below it */
  groupToken(group: string, role: Role = 'developer', options: TokenOptions = {}): string {
    const found = this.#state.findGroup(group);
    if (found === undefined) throw new Error(`there is no group ${group}`);
    return this.#issueBot('group', found, role, options);
  }

  revoke(token: string): void {
    const found = this.#tokens.get(token);
    if (found !== undefined) found.revoked = true;
  }

  /** The id of the user behind a token. */
  userOf(token: string): number {
    const found = this.#tokens.get(token);
    if (found === undefined) throw new Error('no such token was issued');
    return found.user.id;
  }

  addMergeRequest(project: string, { author, sha, title = 'Made up', labels }: MadeUpMergeRequest): MergeRequestAt {
    const target = this.#project(project);
    const number = target.mergeRequests.size + 1;
    const wanted = {
      source: target,
      sourceBranch: `topic-${number}`,
      targetBranch: target.defaultBranch,
      title,
      labels,
      sha,
      baseSha: sha,
    };
    return { project, iid: addMergeRequest(this.#state, author.user, target, wanted).iid };
  }

  /** Resolves once all webhooks have been sent, except those held back. */
  async webhooksSettled(): Promise<void> {
    await this.#hooks.settled();
  }

  /** The deviations from the documentation since the last call; they no longer fail the test. */
  takeMistakes(): readonly string[] {
    return this.#mistakes.splice(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.webhooks[Symbol.asyncDispose]();
    await this.#server?.[Symbol.asyncDispose]();
    await rm(this.#state.folder, { recursive: true, force: true });
    const mistakes = this.takeMistakes();
    if (mistakes.length > 0) throw new Error(`not as GitLab documents it:\n${mistakes.join('\n')}`);
  }

  #project(path: string): Project {
    const project = this.#state.findProject(path);
    if (project === undefined) throw new Error(`there is no project ${path}`);
    return project;
  }

  #issueBot(kind: 'project' | 'group', where: Project | Group, role: Role, options: TokenOptions): string {
    const bot = addUser(this.#state, `${kind}_${where.id}_bot_${randomBytes(16).toString('hex')}`, {
      bot: true,
      name: `${kind} bot`,
    });
    addMember(this.#state, where, bot, role);
    return this.#issue(bot, 'glpat', options);
  }

  #issue(user: User, prefix: string, { scopes = ['api'], expiresAt }: TokenOptions): string {
    const value = `${prefix}-${randomBytes(15).toString('base64url')}`;
    this.#tokens.set(value, { user, scopes, expiresAt, revoked: false });
    return value;
  }
}
