import type { BareRepository } from '../../emulation/bare-repository.ts';
import type { CommitObject } from '../../emulation/commit-object.ts';

export type Visibility = 'private' | 'internal' | 'public';

/** https://docs.gitlab.com/api/members/#roles */
export const accessLevels = { guest: 10, planner: 15, reporter: 20, developer: 30, maintainer: 40, owner: 50 } as const;
export type Role = keyof typeof accessLevels;

export interface User {
  readonly kind: 'user';
  readonly id: number;
  readonly username: string;
  readonly name: string;
  readonly email: string;
  /** The user behind a project or group access token. */
  readonly bot: boolean;
  readonly createdAt: number;
}

export interface Membership {
  readonly user: User;
  readonly level: number;
  readonly createdAt: number;
}

export interface Group {
  readonly kind: 'group';
  readonly id: number;
  readonly name: string;
  readonly parent: Group | undefined;
  readonly fullPath: string;
  readonly visibility: Visibility;
  readonly createdAt: number;
  readonly members: Map<number, Membership>;
  readonly labels: Map<string, Label>;
}

export interface Label {
  readonly id: number;
  readonly title: string;
  readonly color: string;
  readonly description: string | null;
  readonly group: Group | undefined;
  readonly createdAt: number;
}

export interface Project {
  readonly id: number;
  readonly creator: User;
  readonly createdAt: number;
  readonly forkedFrom: Project | undefined;
  namespace: Group | User;
  /** The last part of its path. */
  path: string;
  name: string;
  visibility: Visibility;
  defaultBranch: string;
  archived: boolean;
  markedForDeletionAt: number | undefined;
  lastActivityAt: number;
  repository: BareRepository | undefined;
  /** Nobody pushed yet. */
  empty: boolean;
  readonly members: Map<number, Membership>;
  readonly labels: Map<string, Label>;
  readonly mergeRequests: Map<number, MergeRequest>;
  readonly pipelines: Pipeline[];
  readonly statuses: CommitStatus[];
  readonly environments: Map<number, Environment>;
  readonly deployments: Map<number, Deployment>;
  readonly hooks: Hook[];
}

export interface MergeRequest {
  readonly id: number;
  readonly iid: number;
  readonly target: Project;
  /** Undefined once the fork is deleted; the merge request stays. */
  source: Project | undefined;
  readonly sourceBranch: string;
  readonly author: User;
  readonly createdAt: number;
  targetBranch: string;
  title: string;
  description: string;
  state: 'opened' | 'closed' | 'merged';
  updatedAt: number;
  /** The head of the source branch when GitLab last checked. */
  sha: string;
  /** The commit of `sha`; none for merge requests that were added without a push. */
  head: CommitObject | undefined;
  baseSha: string;
  mergeStatus: 'unchecked' | 'can_be_merged' | 'cannot_be_merged';
  closed: { readonly by: User; readonly at: number } | undefined;
  merged: { readonly by: User; readonly at: number } | undefined;
  readonly labels: Set<Label>;
  readonly labelEvents: LabelEvent[];
  readonly notes: Map<number, Note>;
  readonly approvals: Map<number, { readonly user: User; readonly at: number }>;
  /** Oldest first; at least one. */
  readonly versions: Version[];
}

/** A diff version, recorded when the head changed. */
export interface Version {
  readonly id: number;
  readonly at: number;
  readonly headSha: string;
  readonly baseSha: string;
  /** The head of the target branch. */
  readonly startSha: string;
  readonly changedFiles: number;
}

export interface LabelEvent {
  readonly id: number;
  readonly user: User;
  readonly at: number;
  readonly label: Label;
  readonly action: 'add' | 'remove';
}

export interface Note {
  readonly id: number;
  readonly mergeRequest: MergeRequest;
  readonly author: User;
  readonly createdAt: number;
  readonly system: boolean;
  readonly internal: boolean;
  body: string;
  updatedAt: number;
  readonly awards: Award[];
}

export interface Award {
  readonly id: number;
  readonly name: string;
  readonly user: User;
  readonly at: number;
}

export type JobStatus = 'pending' | 'running' | 'success' | 'failed' | 'canceled' | 'skipped';

export interface Pipeline {
  readonly id: number;
  readonly iid: number;
  readonly sha: string;
  readonly ref: string;
  readonly user: User;
  readonly createdAt: number;
  updatedAt: number;
}

export interface CommitStatus {
  readonly id: number;
  readonly pipeline: Pipeline;
  readonly name: string;
  readonly author: User;
  readonly createdAt: number;
  status: JobStatus;
  description: string | null;
  targetUrl: string | null;
  coverage: number | null;
  startedAt: number | undefined;
  finishedAt: number | undefined;
}

export interface Environment {
  readonly id: number;
  readonly name: string;
  readonly slug: string;
  readonly createdAt: number;
  externalUrl: string | null;
  description: string | null;
  tier: string;
  state: 'available' | 'stopping' | 'stopped';
  updatedAt: number;
}

export interface Deployment {
  readonly id: number;
  readonly iid: number;
  readonly environment: Environment;
  readonly sha: string;
  readonly ref: string;
  readonly tag: boolean;
  readonly user: User;
  readonly createdAt: number;
  readonly status: 'running' | 'success' | 'failed' | 'canceled';
}

export interface Hook {
  readonly url: string;
  readonly token: string | undefined;
}

/** An event for webhooks. */
export type Announcement =
  | {
      readonly kind: 'push';
      readonly project: Project;
      readonly actor: User;
      readonly ref: string;
      readonly before: string;
      readonly after: string;
    }
  | {
      readonly kind: 'merge_request';
      readonly merge: MergeRequest;
      readonly actor: User;
      readonly action: 'open' | 'close' | 'reopen' | 'update' | 'merge' | 'approved';
      /** Before and after, by attribute. */
      readonly changes: Readonly<Record<string, { readonly previous: unknown; readonly current: unknown }>>;
      /** The head before a push. */
      readonly oldrev?: string;
    }
  | { readonly kind: 'note'; readonly note: Note; readonly actor: User; readonly action: 'create' | 'update' };

export const namespacePath = (namespace: Group | User): string =>
  namespace.kind === 'group' ? namespace.fullPath : namespace.username;

export const fullPath = ({ namespace, path }: Pick<Project, 'namespace' | 'path'>): string =>
  `${namespacePath(namespace)}/${path}`;

/** https://docs.gitlab.com/user/project/merge_requests/drafts/ */
export const isDraft = (title: string): boolean => /^\s*(\[draft\]|\(draft\)|draft:)/iu.test(title);

/** As webhooks number the states of a merge request. */
export const stateIds = { opened: 1, closed: 2, merged: 3 } as const;

/** The group itself and those it is in, innermost first. */
export const lineage = (group: Group): readonly Group[] => [group, ...(group.parent === undefined ? [] : lineage(group.parent))];
