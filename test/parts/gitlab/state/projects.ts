import { accessLevels, type Group, type Membership, type Project, type Role, type User, type Visibility } from './entities.ts';
import { conflict, invalid } from './refusal.ts';
import type { GitlabState } from './state.ts';

export const addUser = (state: GitlabState, username: string, { bot = false, name = username } = {}): User => {
  const user: User = {
    kind: 'user',
    id: state.nextId(),
    username,
    name,
    email: `${username}@example.com`,
    bot,
    createdAt: state.now(),
  };
  state.users.set(user.id, user);
  state.touch();
  return user;
};

const ownedBy = (state: GitlabState, owner: User): Map<number, Membership> =>
  new Map([[owner.id, { user: owner, level: accessLevels.owner, createdAt: state.now() }]]);

/** A group with everything above it: `a/b/c` also makes `a` and `a/b`. */
export const ensureGroup = (state: GitlabState, owner: User, path: string, visibility: Visibility): Group => {
  const known = state.findGroup(path);
  if (known !== undefined) return known;
  const parts = path.split('/');
  const parent = parts.length > 1 ? ensureGroup(state, owner, parts.slice(0, -1).join('/'), visibility) : undefined;
  const group: Group = {
    kind: 'group',
    id: state.nextId(),
    name: parts.at(-1) ?? path,
    parent,
    fullPath: path,
    visibility,
    createdAt: state.now(),
    members: ownedBy(state, owner),
    labels: new Map(),
  };
  state.addGroup(group);
  return group;
};

/** In the group of that path, or in the person's own namespace. */
export const createProject = (
  state: GitlabState,
  creator: User,
  path: string,
  visibility: Visibility,
  forkedFrom?: Project,
): Project => {
  const { namespace, name } = locate(state, creator, path, visibility);
  if (state.findProject(path) !== undefined) throw invalid({ path: ['has already been taken'] });
  const now = state.now();
  const project: Project = {
    id: state.nextId(),
    creator,
    createdAt: now,
    lastActivityAt: now,
    forkedFrom,
    namespace,
    path: name,
    name,
    visibility,
    defaultBranch: forkedFrom?.defaultBranch ?? 'main',
    archived: false,
    markedForDeletionAt: undefined,
    repository: undefined,
    empty: forkedFrom?.empty ?? true,
    members: ownedBy(state, creator),
    labels: new Map(),
    mergeRequests: new Map(),
    pipelines: [],
    statuses: [],
    environments: new Map(),
    deployments: new Map(),
    hooks: [],
  };
  state.addProject(project);
  return project;
};

const locate = (
  state: GitlabState,
  actor: User,
  path: string,
  visibility: Visibility,
): { readonly namespace: Group | User; readonly name: string } => {
  const parts = path.split('/');
  const name = parts.at(-1) ?? path;
  const folder = parts.slice(0, -1).join('/');
  return { namespace: folder === actor.username ? actor : ensureGroup(state, actor, folder, visibility), name };
};

/** Renamed, transferred or both. The former path redirects until another project takes it. */
export const moveProject = (state: GitlabState, actor: User, project: Project, path: string): void => {
  if (state.findProject(path) !== undefined) throw conflict('path has already been taken');
  const { namespace, name } = locate(state, actor, path, project.visibility);
  project.name = name;
  state.moveProject(project, namespace, name);
};

/** Deletes it immediately. Merge requests from it stay, without a source. */
export const deleteProject = (state: GitlabState, project: Project): void => {
  state.removeProject(project);
  for (const { mergeRequests } of state.projects.values()) {
    for (const merge of mergeRequests.values()) if (merge.source === project) merge.source = undefined;
  }
};

export const addMember = (state: GitlabState, where: Project | Group, user: User, role: Role): void => {
  where.members.set(user.id, { user, level: accessLevels[role], createdAt: state.now() });
  state.touch();
};

export const removeMember = (state: GitlabState, where: Project | Group, user: User): void => {
  where.members.delete(user.id);
  state.touch();
};
