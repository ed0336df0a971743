import type { GitNetwork } from '../git/git-network.ts';
import type { Account } from './account.ts';
import type { Activity } from './activity.ts';
import type { CheckRun, CommitStatus, Deployment } from './commit-report.ts';
import type { Hook } from './hook.ts';
import type { IssueEvent, Label, Reaction, Review } from './issue.ts';

export const roles = ['read', 'triage', 'write', 'maintain', 'admin'] as const;
export type Role = (typeof roles)[number];

export interface Repository {
  readonly id: number;
  owner: Account;
  name: string;
  private: boolean;
  archived: boolean;
  defaultBranch: string;
  readonly network: GitNetwork;
  readonly parent: Repository | undefined;
  readonly forks: Set<Repository>;
  /** Full names such as `refs/heads/main`; a tag may point to a tag object. */
  readonly refs: Map<string, string>;
  /** Newest last. */
  readonly activities: Activity[];
  /** How long after it happened an activity is listed. */
  activityDelayMs: number;
  readonly issues: Map<number, Issue>;
  /** By name in lower case: GitHub ignores case here. */
  readonly labels: Map<string, Label>;
  readonly collaborators: Map<number, Role>;
  /** Newest last. */
  readonly statuses: CommitStatus[];
  readonly checkRuns: CheckRun[];
  readonly deployments: Map<number, Deployment>;
  readonly environments: Set<string>;
  readonly hooks: Map<number, Hook>;
  lastNumber: number;
  readonly createdAt: number;
  updatedAt: number;
  pushedAt: number;
  /** Grows with every change of anything that is shown under this repository. */
  version: number;
}

export interface Comment {
  readonly id: number;
  readonly issue: Issue;
  readonly author: Account;
  body: string;
  readonly createdAt: number;
  updatedAt: number;
  readonly reactions: Reaction[];
}

interface IssueBase {
  readonly id: number;
  readonly number: number;
  readonly repository: Repository;
  readonly author: Account;
  title: string;
  body: string | null;
  state: 'open' | 'closed';
  labels: readonly Label[];
  comments: Comment[];
  readonly events: IssueEvent[];
  readonly createdAt: number;
  updatedAt: number;
  closedAt: number | undefined;
  closedBy: Account | undefined;
}

export interface PlainIssue extends IssueBase {
  readonly kind: 'issue';
}

export interface PullRequest extends IssueBase {
  readonly kind: 'pull';
  readonly pullId: number;
  /** `undefined` once the fork was deleted. */
  headRepository: Repository | undefined;
  readonly headOwner: Account;
  readonly headRef: string;
  headSha: string;
  baseRef: string;
  baseSha: string;
  draft: boolean;
  merged: { readonly at: number; readonly by: Account; readonly commit: string } | undefined;
  readonly reviews: Review[];
}

export type Issue = PlainIssue | PullRequest;

export const fullName = ({ owner, name }: Repository): string => `${owner.login}/${name}`;

export const atLeast = (role: Role | undefined, wanted: Role): boolean =>
  role !== undefined && roles.indexOf(role) >= roles.indexOf(wanted);

export const pullRequests = (repository: Repository): readonly PullRequest[] =>
  [...repository.issues.values()].filter((issue) => issue.kind === 'pull');

/** `refs/heads/main` for `heads/main`, `refs/heads/main` and, where it is a branch, `main`. */
export const branchRef = (name: string): string => `refs/heads/${name}`;

/** The commit that a ref names as GitHub reads it: a full or short ref, a branch, a tag or a commit. Tags are peeled. */
export const resolveCommit = (repository: Repository, name: string): string | undefined => {
  const { network, refs } = repository;
  if (name === 'HEAD') return refs.get(branchRef(repository.defaultBranch));
  const candidates = [name, `refs/${name}`, `refs/heads/${name}`, `refs/tags/${name}`];
  const found = candidates.map((candidate) => refs.get(candidate)).find((sha) => sha !== undefined);
  if (found !== undefined) return peel(repository, found);
  if (network.commits.has(name)) return name;
  if (!/^[0-9a-f]{7,39}$/.test(name)) return undefined;
  const matching = [...network.commits.keys()].filter((sha) => sha.startsWith(name));
  return matching.length === 1 ? matching[0] : undefined;
};

const peel = (repository: Repository, sha: string): string | undefined =>
  repository.network.commits.has(sha) ? sha : repository.network.tagged(sha);

export const hasLabel = (issue: Issue, name: string): boolean =>
  issue.labels.some((label) => label.name.toLowerCase() === name.toLowerCase());
