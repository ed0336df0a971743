import type { Commit } from '../git/git-network.ts';
import type { Account } from '../state/account.ts';
import type { GithubEvent } from '../state/github-event.ts';
import type { GithubState } from '../state/github-state.ts';
import type { Repository } from '../state/repository.ts';
import { accountView, organizationReference, repositoryHtmlUrl } from '../views/account-view.ts';
import { checkRunView } from '../views/commit-report-view.ts';
import { commitView } from '../views/git-view.ts';
import { commentView, issueView, labelView } from '../views/issue-view.ts';
import { describedPullView } from '../views/pull-view.ts';
import { repositoryUrl, repositoryView } from '../views/repository-view.ts';
import { iso } from '../views/text.ts';
import { reviewView } from '../views/timeline-view.ts';
import { webhookExample } from './webhook-examples.ts';

type Json = Readonly<Record<string, unknown>>;

export interface WebhookPayload {
  /** The event as `X-GitHub-Event` names it. */
  readonly name: string;
  readonly action: string | undefined;
  /** How the description calls it, for instance `pull-request-labeled`. */
  readonly described: string;
  readonly payload: Json;
}

const noCommit = '0'.repeat(40);

/** What GitHub says about an event: a real payload of its kind, in which everything that the emulator knows is replaced. */
export const webhookPayload = (github: GithubState, event: GithubEvent): WebhookPayload => {
  const action = actionOf(event);
  const name = event.kind;
  const example = webhookExample(name, action);
  const { organization: _organization, enterprise: _enterprise, installation: _installation, ...rest } = example;
  const { repository, sender } = event;
  const { owner } = repository;
  const payload: Json = {
    ...rest,
    ...details(github, event, example),
    repository: shownRepository(github, event, example['repository']),
    sender: accountView(github, sender),
    ...(owner.type === 'Organization' ? { organization: organizationReference(github, owner) } : {}),
  };
  const described = [name.replaceAll('_', '-'), ...(action === undefined ? [] : [action.replaceAll('_', '-')])].join('-');
  return { name, action, described, payload };
};

const actionOf = (event: GithubEvent): string | undefined => {
  if (event.kind === 'pull_request') return event.change.action;
  if (event.kind === 'pull_request_review') return 'submitted';
  return 'action' in event ? event.action : undefined;
};

const details = (github: GithubState, event: GithubEvent, example: Json): Json => {
  switch (event.kind) {
    case 'pull_request':
      return pullDetails(github, event, example);
    case 'pull_request_review': {
      const review = { ...reviewView(github, event.pull, event.review), state: event.review.state.toLowerCase() };
      return {
        review: over(example['review'], review),
        pull_request: over(example['pull_request'], reviewedPull(github, event)),
      };
    }
    case 'issue_comment':
      return {
        issue: over(withoutPull(example['issue']), issueView(github, event.issue)),
        comment: over(example['comment'], commentView(github, event.comment)),
        ...(event.action === 'edited' ? { changes: { body: { from: event.previousBody } } } : {}),
      };
    case 'push':
      return pushDetails(github, event);
    case 'create':
    case 'delete':
      return {
        ref: event.name,
        ref_type: event.refType,
        pusher_type: 'user',
        ...(event.kind === 'create' ? { master_branch: event.repository.defaultBranch, description: null } : {}),
      };
    case 'status':
      return statusDetails(github, event);
    case 'check_run':
      return { check_run: over(example['check_run'], checkRunView(github, event.repository, event.run)) };
    case 'repository':
      return event.before === undefined ? {} : { changes: moveDetails(github, event.action, event.before) };
    case 'ping':
      return { hook_id: event.hook.id };
  }
};

const pullDetails = (github: GithubState, event: Extract<GithubEvent, { kind: 'pull_request' }>, example: Json): Json => {
  const { pull, change } = event;
  const shared = { number: pull.number, pull_request: over(example['pull_request'], describedPullView(github, pull)) };
  if ('label' in change) return { ...shared, label: labelView(github, pull.repository, change.label) };
  if (change.action === 'synchronize') return { ...shared, before: change.before, after: change.after };
  return change.action === 'edited' ? { ...shared, changes: change.changes } : shared;
};

/** A review shows its pull request without the counts. */
const reviewedPull = (github: GithubState, { pull }: Extract<GithubEvent, { kind: 'pull_request_review' }>): Json => {
  const { mergeable: _, rebaseable: __, merged_by: ___, ...shown } = describedPullView(github, pull);
  return shown;
};

const pushDetails = (github: GithubState, event: Extract<GithubEvent, { kind: 'push' }>): Json => {
  const { repository, ref, before, after, forced, sender } = event;
  const { network } = repository;
  const head = after === undefined ? undefined : network.commits.get(network.tagged(after) ?? after);
  const known = before === undefined ? repository.refs.get(`refs/heads/${repository.defaultBranch}`) : before;
  const pushed = head === undefined ? [] : known === undefined ? [head] : [...network.between(known, head.sha)].toReversed();
  const show = (commit: Commit): Json => pushedCommit(github, repository, commit);
  return {
    ref,
    before: before ?? noCommit,
    after: after ?? noCommit,
    created: before === undefined,
    deleted: after === undefined,
    forced,
    base_ref: null,
    compare: `${repositoryHtmlUrl(github, repository)}/compare/${(before ?? noCommit).slice(0, 12)}...${(after ?? noCommit).slice(0, 12)}`,
    commits: pushed.map(show),
    head_commit: head === undefined ? null : show(head),
    pusher: { name: sender.login, email: `${sender.login}@users.noreply.github.com` },
  };
};

const pushedCommit = (github: GithubState, repository: Repository, commit: Commit): Json => {
  const before = commit.parents[0] === undefined ? undefined : repository.network.commits.get(commit.parents[0])?.snapshot;
  const paths = [...new Set([...commit.snapshot.keys(), ...(before?.keys() ?? [])])];
  const changed = paths.filter((path) => before?.get(path)?.sha !== commit.snapshot.get(path)?.sha);
  const person = { name: commit.author.name, email: commit.author.email, username: commit.author.name };
  return {
    id: commit.sha,
    tree_id: commit.tree,
    distinct: true,
    message: commit.message,
    timestamp: iso(commit.author.atMs),
    url: `${repositoryHtmlUrl(github, repository)}/commit/${commit.sha}`,
    author: person,
    committer: person,
    added: changed.filter((path) => before?.has(path) !== true),
    removed: changed.filter((path) => !commit.snapshot.has(path)),
    modified: changed.filter((path) => before?.has(path) === true && commit.snapshot.has(path)),
  };
};

const moveDetails = (
  github: GithubState,
  action: string,
  { owner, name }: { readonly owner: Account; readonly name: string },
): Json => {
  if (action === 'renamed') return { repository: { name: { from: name } } };
  const isOrganization = owner.type === 'Organization';
  const from = isOrganization ? { organization: organizationReference(github, owner) } : { user: accountView(github, owner) };
  return { owner: { from } };
};

const statusDetails = (github: GithubState, event: Extract<GithubEvent, { kind: 'status' }>): Json => {
  const { repository, status } = event;
  const commit = repository.network.find(status.sha);
  const url = repositoryUrl(github, repository);
  return {
    id: status.id,
    sha: status.sha,
    name: `${repository.owner.login}/${repository.name}`,
    target_url: status.targetUrl,
    context: status.context,
    description: status.description,
    state: status.state,
    commit: commitView(github, repository, { ...commit, committer: commit.author }),
    branches: [...repository.refs]
      .filter(([ref, sha]) => ref.startsWith('refs/heads/') && sha === status.sha)
      .map(([ref, sha]) => ({
        name: ref.slice('refs/heads/'.length),
        commit: { sha, url: `${url}/commits/${sha}` },
        protected: false,
      })),
    created_at: iso(status.at),
    updated_at: iso(status.at),
  };
};

/** A push counts its times in seconds. */
const shownRepository = (github: GithubState, event: GithubEvent, example: unknown): Json => {
  const { repository } = event;
  const shown = over(example, repositoryView(github, repository));
  if (event.kind !== 'push') return shown;
  const seconds = (ms: number): number => Math.floor(ms / 1000);
  return {
    ...shown,
    created_at: seconds(repository.createdAt),
    pushed_at: seconds(repository.pushedAt),
    owner: { ...accountView(github, repository.owner), name: repository.owner.login, email: null },
    master_branch: repository.defaultBranch,
  };
};

const withoutPull = (example: unknown): Json => {
  const { pull_request: _, draft: __, ...rest } = asObject(example);
  return rest;
};

const over = (example: unknown, known: object): Json => ({ ...asObject(example), ...known });

const asObject = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});
