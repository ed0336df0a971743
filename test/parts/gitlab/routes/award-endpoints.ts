import { type Call, type Endpoint, endpoint } from '../http/endpoint.ts';
import { paginate } from '../http/pagination.ts';
import { parameters } from '../shapes/parameters.ts';
import { shapes } from '../shapes/shapes.ts';
import { findMergeRequest, findProject, requireCode, requireUser } from '../state/access.ts';
import { type Awardable, addAward, deleteAward, findAward } from '../state/awards.ts';
import type { MergeRequest } from '../state/entities.ts';
import { findNote } from '../state/notes.ts';
import { representAward } from '../views/represent-merge-request.ts';

const mergePath = '/projects/:id/merge_requests/:merge_request_iid';

const mergeOf = (call: Call<unknown>): MergeRequest => {
  const project = findProject(call.state, call.user, call.path('id'), call);
  requireCode(call.user, project);
  return findMergeRequest(project, call.path('merge_request_iid'));
};

const endpointsOf = (path: string, find: (call: Call<unknown>) => Awardable): readonly Endpoint[] => [
  endpoint(`GET ${path}/award_emoji`, parameters.pages, shapes.awards, (call) => {
    const awardable = find(call);
    return paginate(call, [...awardable.awards.values()], (award) => representAward(call.state, awardable, award));
  }),
  endpoint(`GET ${path}/award_emoji/:award_id`, parameters.none, shapes.award, (call) => {
    const awardable = find(call);
    return { body: representAward(call.state, awardable, findAward(awardable, call.path('award_id'))) };
  }),
  endpoint(`POST ${path}/award_emoji`, parameters.newAward, shapes.award, (call) => {
    const awardable = find(call);
    const award = addAward(call.state, requireUser(call.user), awardable, call.parameters.name);
    return { status: 201, body: representAward(call.state, awardable, award) };
  }),
  endpoint(`DELETE ${path}/award_emoji/:award_id`, parameters.none, undefined, (call) => {
    deleteAward(call.state, requireUser(call.user), find(call), call.path('award_id'));
    return { status: 204 };
  }),
];

/** https://docs.gitlab.com/api/emoji_reactions/ */
export const awardEndpoints = [
  ...endpointsOf(mergePath, mergeOf),
  ...endpointsOf(`${mergePath}/notes/:note_id`, (call) => findNote(mergeOf(call), call.path('note_id'))),
];
