import type { Account } from './account.ts';
import type { PullRequestChange } from './github-event.ts';
import type { GithubState } from './github-state.ts';
import type { IssueEvent, Review, ReviewState } from './issue.ts';
import { branchRef, type Issue, type PlainIssue, type PullRequest, type Repository } from './repository.ts';

export interface NewPullRequest {
  readonly headRepository: Repository;
  readonly headRef: string;
  readonly baseRef: string;
  readonly title: string;
  readonly body: string | null;
  readonly draft: boolean;
  readonly author: Account;
}

export const openIssue = (
  github: GithubState,
  repository: Repository,
  spec: { readonly title: string; readonly body: string | null; readonly author: Account },
): Issue => add(github, repository, { ...blankIssue(github, repository, spec), kind: 'issue' });

export const openPullRequest = (github: GithubState, repository: Repository, spec: NewPullRequest): PullRequest => {
  const pull: PullRequest = {
    ...blankIssue(github, repository, spec),
    kind: 'pull',
    pullId: github.nextId(),
    headRepository: spec.headRepository,
    headOwner: spec.headRepository.owner,
    headRef: spec.headRef,
    headSha: branchHead(spec.headRepository, spec.headRef),
    baseRef: spec.baseRef,
    baseSha: branchHead(repository, spec.baseRef),
    draft: spec.draft,
    merged: undefined,
    reviews: [],
  };
  add(github, repository, pull);
  emitPull(github, pull, { action: 'opened' }, spec.author);
  return pull;
};

export const branchHead = (repository: Repository, name: string): string => {
  const sha = repository.refs.get(branchRef(name));
  if (sha === undefined) throw new Error(`The repository ${repository.owner.login}/${repository.name} has no branch ${name}.`);
  return sha;
};

const add = <T extends Issue>(github: GithubState, repository: Repository, issue: T): T => {
  repository.issues.set(issue.number, issue);
  github.touch(repository);
  return issue;
};

const blankIssue = (
  github: GithubState,
  repository: Repository,
  { title, body, author }: { readonly title: string; readonly body: string | null; readonly author: Account },
): Omit<PlainIssue, 'kind'> => {
  repository.lastNumber += 1;
  return {
    id: github.nextId(),
    number: repository.lastNumber,
    repository,
    author,
    title,
    body,
    state: 'open',
    labels: [],
    comments: [],
    events: [],
    createdAt: github.now(),
    updatedAt: github.now(),
    closedAt: undefined,
    closedBy: undefined,
  };
};

type Recorded<T> = T extends unknown ? Omit<T, 'id' | 'at'> : never;

export const recordEvent = (github: GithubState, issue: Issue, event: Recorded<IssueEvent>): void => {
  issue.events.push({ ...event, id: github.nextId(), at: github.now() });
};

export const touchIssue = (github: GithubState, issue: Issue): void => {
  issue.updatedAt = github.now();
  github.touch(issue.repository);
};

export const emitPull = (github: GithubState, issue: Issue, change: PullRequestChange, sender: Account): void => {
  if (issue.kind === 'pull') github.emit({ kind: 'pull_request', pull: issue, change, repository: issue.repository, sender });
};

export const closeIssue = (github: GithubState, issue: Issue, by: Account): void => {
  if (issue.state === 'closed') return;
  issue.state = 'closed';
  issue.closedAt = github.now();
  issue.closedBy = by;
  recordEvent(github, issue, { event: 'closed', actor: by });
  touchIssue(github, issue);
  emitPull(github, issue, { action: 'closed' }, by);
};

/** Refused for a pull request that was merged or has lost its branch. */
export const reopenIssue = (github: GithubState, issue: Issue, by: Account): boolean => {
  if (issue.state === 'open') return true;
  if (issue.kind === 'pull') {
    const head = issue.headRepository?.refs.get(branchRef(issue.headRef));
    if (issue.merged !== undefined || head === undefined) return false;
    issue.headSha = head;
  }
  issue.state = 'open';
  issue.closedAt = undefined;
  issue.closedBy = undefined;
  recordEvent(github, issue, { event: 'reopened', actor: by });
  touchIssue(github, issue);
  emitPull(github, issue, { action: 'reopened' }, by);
  return true;
};

export const editIssue = (
  github: GithubState,
  issue: Issue,
  edit: { readonly title?: string | undefined; readonly body?: string | null | undefined; readonly base?: string | undefined },
  by: Account,
): void => {
  const changes: Record<string, unknown> = {};
  if (edit.title !== undefined && edit.title !== issue.title) {
    changes['title'] = { from: issue.title };
    recordEvent(github, issue, { event: 'renamed', from: issue.title, to: edit.title, actor: by });
    issue.title = edit.title;
  }
  if (edit.body !== undefined && edit.body !== issue.body) {
    changes['body'] = { from: issue.body ?? '' };
    issue.body = edit.body;
  }
  if (issue.kind === 'pull' && edit.base !== undefined && edit.base !== issue.baseRef) {
    changes['base'] = { ref: { from: issue.baseRef }, sha: { from: issue.baseSha } };
    issue.baseSha = branchHead(issue.repository, edit.base);
    issue.baseRef = edit.base;
    recordEvent(github, issue, { event: 'base_ref_changed', actor: by });
  }
  if (Object.keys(changes).length === 0) return;
  touchIssue(github, issue);
  emitPull(github, issue, { action: 'edited', changes }, by);
};

export const setDraft = (github: GithubState, pull: PullRequest, draft: boolean, by: Account): void => {
  if (pull.draft === draft) return;
  pull.draft = draft;
  recordEvent(github, pull, { event: draft ? 'convert_to_draft' : 'ready_for_review', actor: by });
  touchIssue(github, pull);
  emitPull(github, pull, { action: draft ? 'converted_to_draft' : 'ready_for_review' }, by);
};

export const reviewPull = (github: GithubState, pull: PullRequest, state: ReviewState, body: string, author: Account): Review => {
  const review = { id: github.nextId(), author, state, body, commit: pull.headSha, at: github.now() };
  pull.reviews.push(review);
  touchIssue(github, pull);
  github.emit({ kind: 'pull_request_review', pull, review, repository: pull.repository, sender: author });
  return review;
};
