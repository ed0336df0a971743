import { type Call, endpoint } from '../http/endpoint.ts';
import { paginate } from '../http/pagination.ts';
import { parameters } from '../shapes/parameters.ts';
import { shapes } from '../shapes/shapes.ts';
import { canSee, findGroup, findProject, levelOf, membershipOf, projectsIn, requireUser } from '../state/access.ts';
import { accessLevels, type Project } from '../state/entities.ts';
import { noRecord, notFound } from '../state/refusal.ts';
import { representCurrentUser, representMember, representProject, representProjectBasic } from '../views/represent.ts';

const projectOf = (call: Call<unknown>): Project => findProject(call.state, call.user, call.path('id'), call);

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

export const projectEndpoints = [
  endpoint('GET /user', parameters.none, shapes.currentUser, (call) => ({
    body: representCurrentUser(call.state, requireUser(call.user)),
  })),
  endpoint('GET /users/:user_id/projects', parameters.userProjects, shapes.projects, (call) => {
    const name = call.path('user_id').toLowerCase();
    const owner = [...call.state.users.values()].find(({ id, username }) => String(id) === name || username === name);
    if (owner === undefined) throw notFound('User');
    const projects = [...call.state.projects.values()].filter(({ namespace }) => namespace === owner);
    return paginate(call, select(call, projects), presenter(call));
  }),
  endpoint('GET /projects/:id', parameters.project, shapes.project, (call) => ({
    body: representProject(call.state, call.user, projectOf(call)),
  })),
  endpoint('GET /groups/:id/projects', parameters.groupProjects, shapes.projects, (call) => {
    const projects = projectsIn(
      call.state,
      findGroup(call.state, call.user, call.path('id')),
      call.parameters.include_subgroups === true,
    );
    return paginate(call, select(call, projects), presenter(call));
  }),

  endpoint('GET /projects/:id/members/all/:user_id', parameters.none, shapes.member, (call) => {
    const user = call.state.users.get(Number(call.path('user_id')));
    const member = user === undefined ? undefined : membershipOf(user, projectOf(call));
    if (member === undefined) throw noRecord();
    return { body: representMember(call.state, member) };
  }),
];
