import type { z } from 'zod';
import type { shapes } from '../shapes/shapes.ts';
import { canReadCode, levelOf, membershipOf } from '../state/access.ts';
import { fullPath, type Group, type Label, type Membership, namespacePath, type Project, type User } from '../state/entities.ts';
import type { GitlabState } from '../state/state.ts';

export type Json<Name extends keyof typeof shapes> = z.input<(typeof shapes)[Name]>;

export const instant = (ms: number): string => new Date(ms).toISOString();
export const instantOrNull = (ms: number | undefined): string | null => (ms === undefined ? null : instant(ms));
const day = (ms: number): string => instant(ms).slice(0, 10);

export const representUser = (state: GitlabState, { id, username, name }: User): Json<'user'> => ({
  id,
  username,
  name,
  state: 'active',
  locked: false,
  avatar_url: null,
  web_url: `${state.url}/${encodeURIComponent(username)}`,
});

export const representCurrentUser = (state: GitlabState, user: User): Json<'currentUser'> => ({
  ...representUser(state, user),
  created_at: instant(user.createdAt),
  bio: '',
  location: null,
  public_email: null,
  bot: user.bot,
  email: user.email,
  commit_email: user.email,
  can_create_group: !user.bot,
  can_create_project: !user.bot,
  two_factor_enabled: false,
  external: false,
  private_profile: false,
});

const lastPart = (path: string): string => path.split('/').at(-1) ?? path;

const representNamespace = (state: GitlabState, namespace: Group | User): Json<'project'>['namespace'] => {
  const path = namespacePath(namespace);
  return {
    id: namespace.id,
    name: namespace.name,
    path: lastPart(path),
    kind: namespace.kind,
    full_path: path,
    parent_id: namespace.kind === 'group' ? (namespace.parent?.id ?? null) : null,
    avatar_url: null,
    web_url: namespace.kind === 'group' ? `${state.url}/groups/${path}` : `${state.url}/${encodeURIComponent(path)}`,
  };
};

const displayPath = (namespace: Group | User): string =>
  namespace.kind === 'group' && namespace.parent !== undefined
    ? `${displayPath(namespace.parent)} / ${namespace.name}`
    : namespace.name;

export const projectUrl = (state: GitlabState, project: Project): string => `${state.url}/${fullPath(project)}`;

export const representProjectBasic = (state: GitlabState, viewer: User | undefined, project: Project) => ({
  id: project.id,
  description: null,
  name: project.name,
  name_with_namespace: `${displayPath(project.namespace)} / ${project.name}`,
  path: project.path,
  path_with_namespace: fullPath(project),
  created_at: instant(project.createdAt),
  ...(canReadCode(viewer, project)
    ? { default_branch: project.defaultBranch, readme_url: null, forks_count: countForks(state, project) }
    : {}),
  tag_list: [],
  topics: [],
  ssh_url_to_repo: `git@127.0.0.1:${fullPath(project)}.git`,
  http_url_to_repo: `${projectUrl(state, project)}.git`,
  web_url: projectUrl(state, project),
  avatar_url: null,
  star_count: 0,
  last_activity_at: instant(project.lastActivityAt),
  visibility: project.visibility,
  namespace: representNamespace(state, project.namespace),
});

const countForks = (state: GitlabState, project: Project): number =>
  [...state.projects.values()].filter(({ forkedFrom }) => forkedFrom === project).length;

const representAccess = (level: number) => (level === 0 ? null : { access_level: level, notification_level: 3 });

export const representProject = (state: GitlabState, viewer: User | undefined, project: Project): Json<'project'> => {
  const api = `${state.url}/api/v4/projects/${project.id}`;
  const direct = viewer === undefined ? 0 : (project.members.get(viewer.id)?.level ?? 0);
  const inherited =
    viewer === undefined || project.namespace.kind === 'user' ? 0 : (membershipOf(viewer, project.namespace)?.level ?? 0);
  return {
    ...representProjectBasic(state, viewer, project),
    _links: {
      self: api,
      merge_requests: `${api}/merge_requests`,
      repo_branches: `${api}/repository/branches`,
      labels: `${api}/labels`,
      events: `${api}/events`,
      members: `${api}/members`,
    },
    empty_repo: project.empty,
    archived: project.archived,
    creator_id: project.creator.id,
    ...(project.forkedFrom !== undefined && state.projects.has(project.forkedFrom.id)
      ? { forked_from_project: representProjectBasic(state, viewer, project.forkedFrom) }
      : {}),
    merge_requests_enabled: true,
    jobs_enabled: true,
    merge_method: 'merge',
    marked_for_deletion_on: project.markedForDeletionAt === undefined ? null : day(project.markedForDeletionAt),
    ...(levelOf(viewer, project) === 0
      ? {}
      : { permissions: { project_access: representAccess(direct), group_access: representAccess(inherited) } }),
  };
};

export const representMember = (state: GitlabState, { user, level, createdAt }: Membership): Json<'member'> => ({
  ...representUser(state, user),
  access_level: level,
  created_at: instant(createdAt),
  expires_at: null,
});

export const representLabelBasic = ({ id, title, color, description }: Label) => ({
  id,
  name: title,
  color,
  text_color: '#FFFFFF',
  description,
  description_html: description ?? '',
});
