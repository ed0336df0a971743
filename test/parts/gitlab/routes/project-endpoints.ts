import { type Call, endpoint, type Reply } from '../http/endpoint.ts';
import { paginate, paginateByKey, refuseFarOffset } from '../http/pagination.ts';
import { parameters } from '../shapes/parameters.ts';
import { shapes } from '../shapes/shapes.ts';
import {
  canSee,
  findGroup,
  findProject,
  levelOf,
  membershipOf,
  membershipsOf,
  projectsIn,
  requireRole,
  requireUser,
} from '../state/access.ts';
import { accessLevels, type Group, type Project } from '../state/entities.ts';
import { availableLabels, createLabel } from '../state/labels.ts';
import { badParameter, noRecord, notFound } from '../state/refusal.ts';
import {
  representCurrentUser,
  representGroup,
  representLabel,
  representMember,
  representProject,
  representProjectBasic,
  representToken,
  representUser,
} from '../views/represent.ts';

const projectOf = (call: Call<unknown>): Project => findProject(call.state, call.user, call.path('id'), call);
const groupOf = (call: Call<unknown>): Group => findGroup(call.state, call.user, call.path('id'));

interface ProjectFilters {
  readonly page?: number | undefined;
  readonly per_page?: number | undefined;
  readonly archived?: boolean | undefined;
  readonly visibility?: string | undefined;
  readonly search?: string | undefined;
  readonly simple?: boolean | undefined;
  readonly min_access_level?: number | undefined;
  readonly owned?: boolean | undefined;
  readonly order_by?: 'id' | 'name' | 'path' | 'created_at' | 'updated_at' | 'last_activity_at' | undefined;
  readonly sort?: 'asc' | 'desc' | undefined;
}

const select = (call: Call<ProjectFilters>, projects: readonly Project[]): readonly Project[] => {
  const {
    archived,
    visibility,
    search,
    min_access_level: minimum = 0,
    owned,
    order_by: order = 'created_at',
    sort = 'desc',
  } = call.parameters;
  const level = owned === true ? accessLevels.owner : minimum;
  const chosen = projects.filter(
    (project) =>
      canSee(call.user, project) &&
      (archived === undefined || project.archived === archived) &&
      (visibility === undefined || project.visibility === visibility) &&
      (search === undefined || project.name.toLowerCase().includes(search.toLowerCase())) &&
      levelOf(call.user, project) >= level,
  );
  const keys = {
    id: 'id',
    name: 'name',
    path: 'path',
    created_at: 'createdAt',
    updated_at: 'lastActivityAt',
    last_activity_at: 'lastActivityAt',
  } as const;
  const key = keys[order];
  const ascending = chosen.toSorted((a, b) => (a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : a.id - b.id));
  return sort === 'asc' ? ascending : ascending.toReversed();
};

const presenter = (call: Call<ProjectFilters>) => (project: Project) =>
  call.parameters.simple === true
    ? representProjectBasic(call.state, call.user, project)
    : representProject(call.state, call.user, project);

const listProjects = (
  call: Call<ProjectFilters & { readonly membership?: boolean | undefined; readonly pagination?: 'keyset' | undefined }>,
): Reply => {
  const { membership, pagination, order_by: order } = call.parameters;
  const mine = [...call.state.projects.values()].filter((project) => membership !== true || levelOf(call.user, project) > 0);
  if (pagination === 'keyset') {
    if (order !== 'id') throw badParameter('Keyset pagination is not yet available for this type of request');
    return paginateByKey(call, select(call, mine), presenter(call));
  }
  refuseFarOffset(call.parameters, 'Project');
  return paginate(call, select(call, mine), presenter(call));
};

export const projectEndpoints = [
  endpoint('GET /version', parameters.none, shapes.version, (call) => {
    requireUser(call.user);
    return { body: { version: '18.5.0', revision: '0123456789a' } };
  }),
  endpoint('GET /user', parameters.none, shapes.currentUser, (call) => ({
    body: representCurrentUser(call.state, requireUser(call.user)),
  })),
  endpoint('GET /users', parameters.users, shapes.users, (call) => {
    const { username } = call.parameters;
    const found = [...call.state.users.values()].filter(
      (user) => username === undefined || user.username === username.toLowerCase(),
    );
    return paginate(call, found, (user) => representUser(call.state, user));
  }),
  endpoint('GET /users/:user_id/projects', parameters.userProjects, shapes.projects, (call) => {
    const name = call.path('user_id').toLowerCase();
    const owner = [...call.state.users.values()].find(({ id, username }) => String(id) === name || username === name);
    if (owner === undefined) throw notFound('User');
    const projects = [...call.state.projects.values()].filter(({ namespace }) => namespace === owner);
    return paginate(call, select(call, projects), presenter(call));
  }),
  endpoint('GET /personal_access_tokens/self', parameters.none, shapes.token, (call) => {
    requireUser(call.user);
    if (call.token === undefined) throw noRecord();
    return { body: representToken(call.token) };
  }),
  endpoint('GET /projects', parameters.projects, shapes.projects, listProjects),
  endpoint('GET /projects/:id', parameters.project, shapes.project, (call) => ({
    body: representProject(call.state, call.user, projectOf(call)),
  })),
  endpoint('GET /groups/:id', parameters.group, shapes.group, (call) => ({ body: representGroup(call.state, groupOf(call)) })),
  endpoint('GET /groups/:id/projects', parameters.groupProjects, shapes.projects, (call) => {
    const projects = projectsIn(call.state, groupOf(call), call.parameters.include_subgroups === true);
    return paginate(call, select(call, projects), presenter(call));
  }),

  ...(['projects', 'groups'] as const).flatMap((kind) => {
    const whereOf = (call: Call<unknown>): Project | Group => (kind === 'projects' ? projectOf(call) : groupOf(call));
    return [
      endpoint(`GET /${kind}/:id/members/all`, parameters.members, shapes.members, (call) => {
        const { query = '', user_ids: ids } = call.parameters;
        const members = membershipsOf(whereOf(call)).filter(
          ({ user }) => user.username.includes(query) && (ids === undefined || ids.includes(user.id)),
        );
        return paginate(call, members, (member) => representMember(call.state, member));
      }),
      endpoint(`GET /${kind}/:id/members/all/:user_id`, parameters.none, shapes.member, (call) => {
        const user = call.state.users.get(Number(call.path('user_id')));
        const member = user === undefined ? undefined : membershipOf(user, whereOf(call));
        if (member === undefined) throw noRecord();
        return { body: representMember(call.state, member) };
      }),
      endpoint(`GET /${kind}/:id/members/:user_id`, parameters.none, shapes.member, (call) => {
        const member = whereOf(call).members.get(Number(call.path('user_id')));
        if (member === undefined) throw noRecord();
        return { body: representMember(call.state, member) };
      }),
    ];
  }),

  endpoint('GET /projects/:id/labels', parameters.labels, shapes.labels, (call) => {
    const { search = '' } = call.parameters;
    const labels = availableLabels(projectOf(call)).filter(({ title }) => title.toLowerCase().includes(search.toLowerCase()));
    return paginate(
      call,
      labels.toSorted((a, b) => a.title.localeCompare(b.title, 'en')),
      representLabel,
    );
  }),
  endpoint('POST /projects/:id/labels', parameters.newLabel, shapes.label, (call) => {
    const project = projectOf(call);
    requireRole(call.user, project, 'planner');
    const { name, color, description } = call.parameters;
    return { status: 201, body: representLabel(createLabel(call.state, project, name, color, description)) };
  }),
];
