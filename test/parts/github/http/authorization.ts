import type { Repository, Role } from '../state/repository.ts';
import { atLeast } from '../state/repository.ts';
import { permits, reaches, roleOf, type Viewer } from '../state/viewer.ts';
import { notFound, Problem } from './answer.ts';
import type { Access } from './route.ts';

/** Throws the answer of GitHub if the viewer lacks the permission. The repository must be visible to the viewer. */
export const authorize = (access: Access, viewer: Viewer, repository: Repository | undefined, isRead: boolean): void => {
  switch (access.kind) {
    case 'anybody':
      return;
    case 'somebody':
      if (viewer.kind === 'anonymous') throw requiresAuthentication();
      return;
    case 'app':
      if (viewer.kind !== 'app') throw new Problem(401, 'A JSON web token could not be decoded');
      return;
    case 'installation':
      if (viewer.kind !== 'installation') throw forbiddenToOthers();
      return;
    case 'repository':
      if (repository === undefined) throw notFound();
      if (!isRead && repository.archived) throw new Problem(403, 'Repository was archived so is read-only.');
      authorizeForRepository(access.permissions, access.role, viewer, repository, isRead);
  }
};

const authorizeForRepository = (
  permissions: readonly string[],
  role: Role,
  viewer: Viewer,
  repository: Repository,
  isRead: boolean,
): void => {
  if (viewer.kind === 'installation') {
    const isOpen = isRead && !repository.private && role === 'read';
    if (isOpen || (reaches(viewer, repository) && hasOneOf(permissions, viewer))) return;
    throw new Problem(403, 'Resource not accessible by integration');
  }
  if (viewer.kind === 'app') throw new Problem(401, 'A JSON web token could not be decoded');
  if (viewer.kind === 'anonymous') {
    if (isRead && role === 'read') return;
    throw requiresAuthentication();
  }
  if (!atLeast(roleOf(viewer.user, repository), role)) throw new Problem(403, `Must have ${role} rights to Repository.`);
};

const hasOneOf = (wanted: readonly string[], { permissions }: Extract<Viewer, { kind: 'installation' }>): boolean =>
  wanted.some((permission) => {
    const [name = '', level] = permission.split(':');
    return permits(permissions, name, level === 'write' ? 'write' : 'read');
  });

const requiresAuthentication = (): Problem => new Problem(401, 'Requires authentication');

const forbiddenToOthers = (): Problem =>
  new Problem(403, 'You must authenticate with an installation access token in order to list repositories for an installation.');
