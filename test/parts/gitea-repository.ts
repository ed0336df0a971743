import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { basicAuthorization, type GiteaApi, type GiteaUser } from './gitea-api.ts';

const execute = promisify(execFile);

/** The new content of a file; undefined deletes it. */
export type FileChanges = Readonly<Record<string, string | undefined>>;

export interface PushOptions {
  /** The commit to build on, a force push if the branch is elsewhere. Otherwise the branch itself, or the default branch if it is new. */
  readonly onto?: string;
  readonly message?: string;
}

export interface GiteaPullRequest {
  readonly number: number;
  readonly state: 'open' | 'closed';
  readonly title: string;
  readonly draft: boolean;
  readonly merged: boolean;
  readonly user: { readonly login: string };
  readonly labels: readonly { readonly id: number; readonly name: string }[];
  readonly head: GiteaBranchEnd;
  readonly base: GiteaBranchEnd;
}

export interface GiteaBranchEnd {
  readonly ref: string;
  readonly sha: string;
  /** Missing once a fork is deleted. */
  readonly repo: { readonly full_name: string; readonly fork: boolean } | null;
}

export interface GiteaComment {
  readonly id: number;
  readonly body: string;
  readonly user: { readonly login: string };
}

export type StatusState = 'pending' | 'success' | 'error' | 'failure' | 'warning';
export type ReviewEvent = 'APPROVED' | 'REQUEST_CHANGES' | 'COMMENT';

/** A repository on a server, with the credentials of one user. Branches and labels may have any name that Gitea accepts. */
export class GiteaRepository {
  readonly owner: string;
  readonly name: string;
  readonly #api: GiteaApi;
  readonly #workFolder: string;

  /** `workFolder` holds the clones for pushes. */
  constructor(api: GiteaApi, owner: string, name: string, workFolder: string) {
    this.#api = api;
    this.owner = owner;
    this.name = name;
    this.#workFolder = workFolder;
  }

  get cloneUrl(): string {
    return `${this.#api.url}/${this.owner}/${this.name}.git`;
  }

  as(user: GiteaUser): GiteaRepository {
    return new GiteaRepository(this.#api.as(user), this.owner, this.name, this.#workFolder);
  }

  /** The path begins after `/repos/{owner}/{name}`. */
  send<T = unknown>(method: string, path: string, body?: unknown): Promise<T> {
    return this.#api.send<T>(method, `/repos/${this.owner}/${this.name}${path}`, body);
  }

  /** Adds a commit with Git over HTTP, and returns it. The head of a pull request follows a moment later. */
  async pushFiles(branch: string, files: FileChanges, options: PushOptions = {}): Promise<string> {
    await mkdir(this.#workFolder, { recursive: true });
    // One per push, so that pushes can run concurrently.
    const copy = await mkdtemp(join(this.#workFolder, 'push-'));
    try {
      return await this.#push(copy, branch, files, options);
    } finally {
      await rm(copy, { recursive: true });
    }
  }

  async createBranch(name: string, from = 'main'): Promise<void> {
    await this.send('POST', '/branches', { new_branch_name: name, old_ref_name: from });
  }

  async deleteBranch(name: string): Promise<void> {
    await this.send('DELETE', `/branches/${encodeURIComponent(name)}`);
  }

  async createTag(name: string, target = 'main'): Promise<void> {
    await this.send('POST', '/tags', { tag_name: name, target });
  }

  /** The head is a branch, or `owner:branch` of a fork. A title that begins with `WIP:` makes a draft. */
  async deleteTag(name: string): Promise<void> {
    await this.send('DELETE', `/tags/${encodeURIComponent(name)}`);
  }

  openPullRequest(head: string, title = head, base = 'main'): Promise<GiteaPullRequest> {
    return this.send('POST', '/pulls', { head, base, title });
  }

  readPullRequest(number: number): Promise<GiteaPullRequest> {
    return this.send('GET', `/pulls/${number}`);
  }

  /** For example its `title`, `body`, `base` or `state`. */
  editPullRequest(number: number, changes: Readonly<Record<string, unknown>>): Promise<GiteaPullRequest> {
    return this.send('PATCH', `/pulls/${number}`, changes);
  }

  closePullRequest(number: number): Promise<GiteaPullRequest> {
    return this.editPullRequest(number, { state: 'closed' });
  }

  reopenPullRequest(number: number): Promise<GiteaPullRequest> {
    return this.editPullRequest(number, { state: 'open' });
  }

  async createLabel(name: string): Promise<void> {
    await this.send('POST', '/labels', { name, color: '#00aabb' });
  }

  /** Gitea ignores names that are not labels of the repository. */
  async addLabels(number: number, ...names: readonly string[]): Promise<void> {
    await this.send('POST', `/issues/${number}/labels`, { labels: names });
  }

  async setLabels(number: number, ...names: readonly string[]): Promise<void> {
    await this.send('PUT', `/issues/${number}/labels`, { labels: names });
  }

  async removeLabel(number: number, name: string): Promise<void> {
    const { labels } = await this.readPullRequest(number);
    const label = labels.find((each) => each.name === name);
    if (label === undefined) throw new Error(`pull request ${number} has no label ${JSON.stringify(name)}`);
    await this.send('DELETE', `/issues/${number}/labels/${label.id}`);
  }

  addComment(number: number, body: string): Promise<GiteaComment> {
    return this.send('POST', `/issues/${number}/comments`, { body });
  }

  readComments(number: number): Promise<GiteaComment[]> {
    return this.send('GET', `/issues/${number}/comments`);
  }

  async deleteComment(id: number): Promise<void> {
    await this.send('DELETE', `/issues/comments/${id}`);
  }

  async setStatus(commit: string, state: StatusState, context: string, description = ''): Promise<void> {
    await this.send('POST', `/statuses/${commit}`, { state, context, description });
  }

  /** Authors cannot approve their own pull requests. */
  async addReview(number: number, event: ReviewEvent, body = ''): Promise<void> {
    await this.send('POST', `/pulls/${number}/reviews`, { event, body });
  }

  /** Owned by the user who creates it. */
  async fork(): Promise<GiteaRepository> {
    await this.send('POST', '/forks', {});
    return new GiteaRepository(this.#api, this.#api.user.name, this.name, this.#workFolder);
  }

  async addCollaborator(user: GiteaUser, permission: 'read' | 'write' | 'admin'): Promise<void> {
    await this.send('PUT', `/collaborators/${user.name}`, { permission });
  }

  async addWebhook(url: string, secret: string, events: readonly string[]): Promise<void> {
    const config = { url, secret, content_type: 'json' };
    await this.send('POST', '/hooks', { type: 'gitea', active: true, config, events });
  }

  async delete(): Promise<void> {
    await this.send('DELETE', '');
  }

  async #push(copy: string, branch: string, files: FileChanges, { onto, message }: PushOptions): Promise<string> {
    const wanted = ['+refs/heads/*:refs/heads/*', ...(onto === undefined ? [] : [onto])];
    await this.#git(copy, ['init', '--quiet', '--bare']);
    await this.#git(copy, ['fetch', '--quiet', this.cloneUrl, ...wanted]);
    const parent = onto ?? (await this.#readHead(copy, branch)) ?? (await this.#readHead(copy, 'main'));
    const { name } = this.#api.user;
    const commit = [
      'commit refs/made',
      'mark :1',
      `committer ${name} <${name}@example.com> ${Math.floor(Date.now() / 1000)} +0000`,
      data(message ?? 'Change files'),
      ...(parent === undefined ? [] : [`from ${parent}`]),
      ...Object.entries(files).map(([path, content]) => importChange(path, content)),
      '',
      'get-mark :1',
      'done\n',
    ].join('\n');
    const made = (await this.#git(copy, ['fast-import', '--quiet', '--done'], commit)).trim();
    await this.#git(copy, ['push', '--quiet', '--force', this.cloneUrl, `${made}:refs/heads/${branch}`]);
    return made;
  }

  async #readHead(folder: string, branch: string): Promise<string | undefined> {
    const head = await this.#git(folder, ['for-each-ref', '--format=%(objectname)', `refs/heads/${branch}`]);
    return head.split('\n')[0] || undefined;
  }

  /** Isolated from the configuration of the developer. */
  async #git(folder: string, args: readonly string[], input = ''): Promise<string> {
    const env = {
      PATH: process.env['PATH'],
      HOME: folder,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_TERMINAL_PROMPT: '0',
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'http.extraHeader',
      GIT_CONFIG_VALUE_0: `Authorization: ${basicAuthorization(this.#api.user.name, this.#api.user.token)}`,
    };
    const running = execute('git', [`--git-dir=${folder}`, ...args], { env });
    // If Git exits early, its exit status carries the error.
    running.child.stdin?.on('error', () => undefined).end(input);
    return (await running).stdout;
  }
}

const data = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}`;

const importChange = (path: string, content: string | undefined): string =>
  content === undefined ? `D ${JSON.stringify(path)}` : `M 100644 inline ${JSON.stringify(path)}\n${data(content)}`;
