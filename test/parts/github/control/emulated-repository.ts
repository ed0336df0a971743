import { writeGitFolder } from '../git/git-folder.ts';
import type { FileContent } from '../git/git-objects.ts';
import { signatureOf } from '../state/account.ts';
import type { CheckConclusion, CheckOutput, DeploymentState, StatusState } from '../state/commit-report.ts';
import { addCheckRun, addStatus, deploymentState, latestStatuses } from '../state/commit-report-mutations.ts';
import type { GithubState } from '../state/github-state.ts';
import { openIssue, openPullRequest } from '../state/issue-mutations.ts';
import { updateRef } from '../state/ref-mutations.ts';
import { branchRef, fullName, pullRequests, type Repository, type Role } from '../state/repository.ts';
import { deleteRepository, forkRepository, moveRepository, setVisibility } from '../state/repository-mutations.ts';
import type { EmulatedApp } from './emulated-app.ts';
import { EmulatedPullRequest } from './emulated-pull-request.ts';
import { type By, person } from './person.ts';

export interface PushOptions extends By {
  /** The branch or commit that a new branch starts from, or that the push replaces the branch with. */
  readonly from?: string;
  readonly message?: string;
}

export interface PullRequestOptions extends By {
  /** A branch of this repository, or `owner:branch` of a fork. */
  readonly head: string;
  /** The default branch if left out. */
  readonly base?: string;
  readonly title?: string;
  readonly body?: string;
  readonly draft?: boolean;
  readonly labels?: readonly string[];
}

export interface StatusOptions extends By {
  readonly context?: string;
  readonly description?: string | null;
}

export interface SeenStatus {
  readonly context: string;
  readonly state: StatusState;
  readonly description: string | null;
  readonly targetUrl: string | null;
}

export interface SeenDeployment {
  readonly id: number;
  readonly environment: string;
  readonly ref: string;
  readonly sha: string;
  readonly transient: boolean;
  readonly production: boolean;
  /** The latest status; `undefined` if there is none. */
  readonly state: DeploymentState | undefined;
  readonly environmentUrl: string | undefined;
}

/** A repository as its users see and change it. */
export class EmulatedRepository {
  readonly id: number;
  readonly #github: GithubState;
  readonly #repository: Repository;

  constructor(github: GithubState, repository: Repository) {
    this.id = repository.id;
    this.#github = github;
    this.#repository = repository;
  }

  get fullName(): string {
    return fullName(this.#repository);
  }

  get refs(): ReadonlyMap<string, string> {
    return this.#repository.refs;
  }

  /** Writes files over a branch as one commit and returns it. */
  push(branch: string, files: Readonly<Record<string, FileContent>>, options: PushOptions = {}): string {
    const by = person(this.#github, options.by);
    const start = this.#startOf(branch, options.from);
    const { sha } = this.#repository.network.commit({
      parents: start === undefined ? [] : [start],
      files,
      author: signatureOf(by, this.#github.now()),
      message: options.message ?? `Change ${Object.keys(files).join(', ')}`,
    });
    updateRef(this.#github, this.#repository, branchRef(branch), sha, by);
    return sha;
  }

  /** Returns the commit that was tagged. An annotated tag points to an object of its own. */
  pushTag(name: string, options: By & { readonly at?: string; readonly annotated?: boolean } = {}): string {
    const by = person(this.#github, options.by);
    const commit = this.#startOf(this.#repository.defaultBranch, options.at);
    if (commit === undefined) throw new Error(`There is nothing to tag in ${this.fullName}.`);
    const tagger = signatureOf(by, this.#github.now());
    const sha = options.annotated === true ? this.#repository.network.tag({ name, commit, tagger, message: name }) : commit;
    updateRef(this.#github, this.#repository, `refs/tags/${name}`, sha, by);
    return commit;
  }

  deleteBranch(name: string, { by }: By = {}): void {
    updateRef(this.#github, this.#repository, branchRef(name), undefined, person(this.#github, by));
  }

  deleteTag(name: string, { by }: By = {}): void {
    updateRef(this.#github, this.#repository, `refs/tags/${name}`, undefined, person(this.#github, by));
  }

  openPullRequest(options: PullRequestOptions): EmulatedPullRequest {
    const [branch = '', owner] = options.head.split(':').toReversed();
    const pull = openPullRequest(this.#github, this.#repository, {
      headRepository: owner === undefined ? this.#repository : this.#networkMember(owner),
      headRef: branch,
      baseRef: options.base ?? this.#repository.defaultBranch,
      title: options.title ?? `Merge ${branch}`,
      body: options.body ?? null,
      draft: options.draft ?? false,
      author: person(this.#github, options.by),
    });
    const opened = new EmulatedPullRequest(this.#github, pull);
    for (const label of options.labels ?? []) opened.label(label, { by: options.by });
    return opened;
  }

  /** Returns its number. Issues share their numbers, labels and comments with pull requests. */
  openIssue(title: string, { by }: By = {}): number {
    return openIssue(this.#github, this.#repository, { title, body: null, author: person(this.#github, by) }).number;
  }

  pullRequest(number: number): EmulatedPullRequest {
    const issue = this.#repository.issues.get(number);
    if (issue?.kind !== 'pull') throw new Error(`${this.fullName} has no pull request ${number}.`);
    return new EmulatedPullRequest(this.#github, issue);
  }

  pullRequests(): readonly EmulatedPullRequest[] {
    return pullRequests(this.#repository).map((pull) => new EmulatedPullRequest(this.#github, pull));
  }

  fork(owner: string, name: string = this.#repository.name): EmulatedRepository {
    const fork = forkRepository(this.#github, this.#repository, person(this.#github, owner), name);
    return new EmulatedRepository(this.#github, fork);
  }

  /** Grants a role to a user, or revokes it. */
  grant(login: string, role: Role | 'none'): void {
    const user = person(this.#github, login);
    if (role === 'none') this.#repository.collaborators.delete(user.id);
    else this.#repository.collaborators.set(user.id, role);
    this.#github.touch(this.#repository);
  }

  makePrivate({ by }: By = {}): void {
    setVisibility(this.#github, this.#repository, true, person(this.#github, by));
  }

  makePublic({ by }: By = {}): void {
    setVisibility(this.#github, this.#repository, false, person(this.#github, by));
  }

  archive(): void {
    this.#repository.archived = true;
    this.#github.touch(this.#repository);
  }

  rename(name: string, { by }: By = {}): void {
    moveRepository(this.#github, this.#repository, this.#repository.owner, name, person(this.#github, by));
  }

  transfer(owner: string, { by }: By = {}): void {
    moveRepository(this.#github, this.#repository, person(this.#github, owner), this.#repository.name, person(this.#github, by));
  }

  delete({ by }: By = {}): void {
    deleteRepository(this.#github, this.#repository, person(this.#github, by));
  }

  /** A commit status set by another program. */
  setStatus(sha: string, state: StatusState, { by, context = 'ci', description = null }: StatusOptions = {}): void {
    const creator = person(this.#github, by);
    addStatus(this.#github, this.#repository, { sha, state, context, description, targetUrl: null, creator });
  }

  /** A check run of another program, which runs without a conclusion. */
  addCheckRun(
    { id }: EmulatedApp,
    sha: string,
    name: string,
    conclusion: CheckConclusion | null = null,
    { summary = null, text = null }: Partial<CheckOutput> = {},
  ): void {
    const app = this.#github.apps.get(id);
    if (app === undefined) throw new Error(`There is no App ${id}.`);
    addCheckRun(this.#github, this.#repository, { sha, app, name, conclusion, output: { summary, text } });
  }

  /** Replaces `refs/notes/<name>` with a commit of these files, or deletes it. GitHub announces that to nobody. */
  pushNotes(name: string, files: Readonly<Record<string, FileContent>> | undefined, { by }: By = {}): void {
    const ref = `refs/notes/${name}`;
    if (files === undefined) return void this.#repository.refs.delete(ref);
    const author = signatureOf(person(this.#github, by), this.#github.now());
    this.#repository.refs.set(ref, this.#repository.network.commit({ parents: [], files, author, message: 'Notes' }).sha);
  }

  /** Delays the listing of branch activities from now on; `Infinity` for never. */
  delayActivities(ms: number): void {
    this.#repository.activityDelayMs = ms;
  }

  /** Registers a webhook, as an administrator does on the settings page. */
  addHook(url: string, { secret, events = ['*'] }: { readonly secret?: string; readonly events?: readonly string[] } = {}): void {
    const target = { type: 'repository', id: this.id } as const;
    const hook = { id: this.#github.nextId(), target, url, secret, events };
    this.#repository.hooks.set(hook.id, hook);
    this.#github.emit({ kind: 'ping', hook, repository: this.#repository, sender: person(this.#github) });
  }

  /** A bare repository with the refs of this moment, for real Git to clone from. */
  gitFolder(): string {
    return writeGitFolder(this.#repository);
  }

  /** The latest status of every context. */
  statuses(sha: string): readonly SeenStatus[] {
    return latestStatuses(this.#repository, sha).map(({ context, state, description, targetUrl }) => ({
      context,
      state,
      description,
      targetUrl,
    }));
  }

  deployments(): readonly SeenDeployment[] {
    return [...this.#repository.deployments.values()].map((one) => ({
      id: one.id,
      environment: one.environment,
      ref: one.ref,
      sha: one.sha,
      transient: one.transient,
      production: one.production,
      state: deploymentState(one),
      environmentUrl: one.statuses.at(-1)?.environmentUrl,
    }));
  }

  environments(): readonly string[] {
    return [...this.#repository.environments];
  }

  #startOf(branch: string, from: string | undefined): string | undefined {
    const { refs, network, defaultBranch } = this.#repository;
    const wanted = from ?? (refs.has(branchRef(branch)) ? branch : defaultBranch);
    const found = refs.get(branchRef(wanted)) ?? (network.commits.has(wanted) ? wanted : undefined);
    if (found === undefined && from !== undefined) throw new Error(`${this.fullName} has no branch or commit ${from}.`);
    return found;
  }

  #networkMember(owner: string): Repository {
    const members = [this.#repository, ...this.#repository.forks];
    const member = members.find((one) => one.owner.login.toLowerCase() === owner.toLowerCase());
    if (member === undefined) throw new Error(`${owner} has no fork of ${this.fullName}.`);
    return member;
  }
}
