import type { Account } from './account.ts';
import type { App, AppPermissions, Installation, PermissionLevel, Token } from './app.ts';
import type { Repository, Role } from './repository.ts';

/** The authenticated client of a request. */
export type Viewer =
  | { readonly kind: 'anonymous' }
  | { readonly kind: 'app'; readonly app: App }
  | { readonly kind: 'user'; readonly user: Account; readonly token: Token }
  | {
      readonly kind: 'installation';
      readonly installation: Installation;
      readonly permissions: AppPermissions;
      readonly repositories: ReadonlySet<number> | undefined;
    };

/** The key of the rate limit: all tokens of one user share it, and so do those of one installation. */
export const budgetOf = (viewer: Viewer): string => {
  switch (viewer.kind) {
    case 'anonymous':
      return 'anonymous';
    case 'app':
      return `app:${viewer.app.id}`;
    case 'user':
      return `user:${viewer.user.id}`;
    case 'installation':
      return `installation:${viewer.installation.id}`;
  }
};

/** The author of a change. */
export const actorOf = (viewer: Viewer): Account | undefined => {
  if (viewer.kind === 'user') return viewer.user;
  return viewer.kind === 'installation' ? viewer.installation.app.bot : undefined;
};

/** The role of a user in a repository, from any source. */
export const roleOf = (user: Account, repository: Repository): Role | undefined => {
  if (repository.owner === user || repository.owner.members.get(user.id) === 'admin') return 'admin';
  const granted = repository.collaborators.get(user.id);
  if (granted !== undefined) return granted;
  return repository.owner.members.has(user.id) || !repository.private ? 'read' : undefined;
};

/** Whether an installation, narrowed by its token, reaches a repository. */
export const reaches = (viewer: Extract<Viewer, { kind: 'installation' }>, repository: Repository): boolean => {
  const { installation, repositories } = viewer;
  if (repository.owner !== installation.account) return false;
  if (installation.selected !== undefined && !installation.selected.has(repository.id)) return false;
  return repositories === undefined || repositories.has(repository.id);
};

export const maySee = (viewer: Viewer, repository: Repository): boolean => {
  if (!repository.private) return true;
  if (viewer.kind === 'user') return hasScope(viewer.token, 'repo') && roleOf(viewer.user, repository) !== undefined;
  return viewer.kind === 'installation' && reaches(viewer, repository);
};

const hasScope = (token: Token, scope: string): boolean => token.kind === 'personal' && token.scopes.includes(scope);

export const permits = (permissions: AppPermissions, name: string, level: PermissionLevel): boolean =>
  permissions[name] === 'write' || permissions[name] === level;
