import type { ChangedFile, RefEntry } from '../../emulation/bare-repository.ts';
import type { CommitObject } from '../../emulation/commit-object.ts';
import { canPushTo } from '../state/access.ts';
import type { Project, User } from '../state/entities.ts';
import type { GitlabState } from '../state/state.ts';
import { type Json, projectUrl } from './represent.ts';

const instantOf = (seconds: number): string => new Date(seconds * 1000).toISOString();

export const representCommit = (state: GitlabState, project: Project, commit: CommitObject): Json<'commits'>[number] => ({
  id: commit.sha,
  short_id: commit.sha.slice(0, 8),
  created_at: instantOf(commit.committer.seconds),
  parent_ids: [...commit.parents],
  title: commit.message.split('\n')[0] ?? '',
  message: commit.message,
  author_name: commit.author.name,
  author_email: commit.author.email,
  authored_date: instantOf(commit.author.seconds),
  committer_name: commit.committer.name,
  committer_email: commit.committer.email,
  committed_date: instantOf(commit.committer.seconds),
  trailers: {},
  extended_trailers: {},
  web_url: `${projectUrl(state, project)}/-/commit/${commit.sha}`,
});

export interface BranchFacts {
  readonly name: string;
  readonly commit: CommitObject;
  readonly merged: boolean;
}

export const representBranch = (
  state: GitlabState,
  viewer: User | undefined,
  project: Project,
  { name, commit, merged }: BranchFacts,
): Json<'branch'> => {
  const isDefault = name === project.defaultBranch;
  return {
    name,
    commit: representCommit(state, project, commit),
    merged,
    protected: isDefault,
    developers_can_push: false,
    developers_can_merge: false,
    can_push: canPushTo(viewer, project, name),
    default: isDefault,
    web_url: `${projectUrl(state, project)}/-/tree/${encodeURI(name)}`,
  };
};

export const representTag = (
  state: GitlabState,
  project: Project,
  { name, target, message }: RefEntry,
  commit: CommitObject,
): Json<'tag'> => ({
  name: name.slice('refs/tags/'.length),
  message: message ?? '',
  target,
  commit: representCommit(state, project, commit),
  release: null,
  protected: false,
  created_at: message === undefined ? null : instantOf(commit.committer.seconds),
});

export const representDiff = (file: ChangedFile): Json<'comparison'>['diffs'][number] => ({
  old_path: file.oldPath,
  new_path: file.newPath,
  a_mode: file.oldMode,
  b_mode: file.newMode,
  // As for a diff that is too long to be shown at once.
  diff: '',
  collapsed: true,
  too_large: false,
  new_file: file.status === 'A',
  renamed_file: file.status === 'R',
  deleted_file: file.status === 'D',
});
