import {
  accessLevels,
  type Group,
  lineage,
  type Membership,
  type MergeRequest,
  type Project,
  type Role,
  type User,
} from './entities.ts';
import { forbidden, insufficientScope, invalidToken, noRecord, notAllowed, notFound, Refusal, unauthorized } from './refusal.ts';
import type { GitlabState } from './state.ts';

/** https://docs.gitlab.com/user/profile/personal_access_tokens/#personal-access-token-scopes */
export type Scope = 'api' | 'read_api' | 'read_user' | 'read_repository' | 'write_repository';

/** A personal, project or group access token: the same thing but for the user behind it. */
export interface Token {
  readonly user: User;
  readonly scopes: readonly Scope[];
  readonly expiresAt: number | undefined;
  revoked: boolean;
}

/** The token of a request, in either of the two documented headers. https://docs.gitlab.com/api/rest/authentication/ */
export const readToken = (headers: Readonly<Record<string, string>>): string | undefined =>
  headers['private-token'] ?? /^Bearer (.+)$/iu.exec(headers['authorization'] ?? '')?.[1];

/** The password of Git over HTTP, which is a token. https://docs.gitlab.com/topics/git/clone/#clone-using-a-token */
export const readPassword = (headers: Readonly<Record<string, string>>): string | undefined => {
  const encoded = /^Basic (.+)$/iu.exec(headers['authorization'] ?? '')?.[1];
  return encoded === undefined ? undefined : /^[^:]+:(.*)$/u.exec(Buffer.from(encoded, 'base64').toString())?.[1];
};

export const isLive = (token: Token | undefined, now: number): boolean =>
  token !== undefined && !token.revoked && (token.expiresAt === undefined || token.expiresAt > now);

/** The user of a token that may do this; throws what GitLab answers to any other. */
export const authenticate = (token: Token | undefined, needed: readonly Scope[], now: number): User => {
  if (token === undefined) throw unauthorized();
  if (token.revoked) throw invalidToken('Token was revoked. You have to re-authorize from the user.');
  if (token.expiresAt !== undefined && token.expiresAt <= now) {
    throw invalidToken('Token is expired. You can either do re-authorization or token refresh.');
  }
  if (!needed.some((scope) => token.scopes.includes(scope))) throw insufficientScope(needed.join(' '));
  return token.user;
};

/** The highest membership of the user here or in a group above. https://docs.gitlab.com/user/project/members/#membership-types */
export const membershipOf = (user: User, where: Project | Group): Membership | undefined => {
  const memberships = withAncestors(where).flatMap(({ members }) => members.get(user.id) ?? []);
  return memberships.toSorted((a, b) => b.level - a.level)[0];
};

const isGroup = (where: Project | Group): where is Group => 'kind' in where;

const withAncestors = (where: Project | Group): readonly (Project | Group)[] => {
  if (isGroup(where)) return lineage(where);
  return where.namespace.kind === 'group' ? [where, ...lineage(where.namespace)] : [where];
};

export const levelOf = (user: User | undefined, where: Project | Group): number => {
  if (user === undefined) return 0;
  if (!isGroup(where) && where.namespace === user) return accessLevels.owner;
  return membershipOf(user, where)?.level ?? 0;
};

export const canSee = (user: User | undefined, where: Project | Group): boolean =>
  where.visibility === 'public' || (where.visibility === 'internal' && user !== undefined) || levelOf(user, where) > 0;

/** Guests of a private project do not see its code. */
export const canReadCode = (user: User | undefined, project: Project): boolean =>
  canSee(user, project) && (project.visibility !== 'private' || levelOf(user, project) >= accessLevels.reporter);

/** https://docs.gitlab.com/user/project/repository/branches/protected/: the default branch, for maintainers, out of the box */
export const canPushTo = (user: User | undefined, project: Project, branch: string): boolean =>
  levelOf(user, project) >= (branch === project.defaultBranch ? accessLevels.maintainer : accessLevels.developer);

/** The project of a path parameter. A hidden project gives the same answer as a missing one. */
export const findProject = (
  state: GitlabState,
  user: User | undefined,
  idOrPath: string,
  request: { readonly method: string; readonly target: string },
): Project => {
  const project = state.findProject(idOrPath);
  if (project !== undefined && canSee(user, project)) return project;
  const moved = project === undefined ? state.findMovedProject(idOrPath) : undefined;
  if (moved === undefined || !canSee(user, moved)) throw notFound('Project');
  if (request.method !== 'GET') throw notAllowed('Non GET methods are not allowed for moved projects');
  throw movedPermanently(state, moved, request.target);
};

/** https://docs.gitlab.com/api/rest/#redirects */
const movedPermanently = (state: GitlabState, project: Project, target: string): Refusal => {
  const location = `${state.url}${target.replace(/\/projects\/[^/?]+/u, `/projects/${project.id}`)}`;
  return new Refusal(301, `This resource has been moved permanently to ${location}`, { location });
};

export const findGroup = (state: GitlabState, user: User | undefined, idOrPath: string): Group => {
  const group = state.findGroup(idOrPath);
  if (group === undefined || !(canSee(user, group) || belongsInside(state, user, group))) throw notFound('Group');
  return group;
};

/** Members of a project see the private group around it. */
const belongsInside = (state: GitlabState, user: User | undefined, group: Group): boolean =>
  user !== undefined && projectsIn(state, group, true).some((project) => project.members.has(user.id));

export const projectsIn = (state: GitlabState, group: Group, withSubgroups: boolean): readonly Project[] =>
  [...state.projects.values()].filter(
    ({ namespace }) => namespace === group || (withSubgroups && namespace.kind === 'group' && lineage(namespace).includes(group)),
  );

export const findMergeRequest = (project: Project, iid: string): MergeRequest => {
  const found = project.mergeRequests.get(Number(iid));
  if (found === undefined) throw noRecord();
  return found;
};

export const requireUser = (user: User | undefined): User => {
  if (user === undefined) throw unauthorized();
  return user;
};

export const requireRole = (user: User | undefined, project: Project, role: Role): User => {
  const known = requireUser(user);
  if (levelOf(known, project) < accessLevels[role]) throw forbidden();
  return known;
};

export const requireCode = (user: User | undefined, project: Project): void => {
  if (!canReadCode(user, project)) throw forbidden();
};
