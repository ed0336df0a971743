import { type Call, endpoint } from '../http/endpoint.ts';
import { paginate } from '../http/pagination.ts';
import { parameters } from '../shapes/parameters.ts';
import { shapes } from '../shapes/shapes.ts';
import { findMergeRequest, findProject, requireCode, requireUser } from '../state/access.ts';
import { addAward } from '../state/awards.ts';
import type { MergeRequest } from '../state/entities.ts';
import { addNote, editNote, findNote } from '../state/notes.ts';
import { conflict } from '../state/refusal.ts';
import { representAward, representNote } from '../views/represent-merge-request.ts';

const notesPath = '/projects/:id/merge_requests/:merge_request_iid/notes';

const mergeOf = (call: Call<unknown>): MergeRequest => {
  const project = findProject(call.state, call.user, call.path('id'), call);
  requireCode(call.user, project);
  return findMergeRequest(project, call.path('merge_request_iid'));
};

export const noteEndpoints = [
  endpoint(`GET ${notesPath}`, parameters.notes, shapes.notes, (call) => {
    const { order_by: order = 'created_at', sort = 'desc', activity_filter: filter = 'all_notes' } = call.parameters;
    const key = order === 'created_at' ? 'createdAt' : 'updatedAt';
    const chosen = [...mergeOf(call).notes.values()].filter(
      ({ system }) => filter === 'all_notes' || system === (filter === 'only_activity'),
    );
    const ascending = chosen.toSorted((a, b) => a[key] - b[key] || a.id - b.id);
    return paginate(call, sort === 'asc' ? ascending : ascending.toReversed(), (note) => representNote(call.state, note));
  }),
  endpoint(`POST ${notesPath}`, parameters.newNote, shapes.note, (call) => {
    const merge = mergeOf(call);
    const { body, internal, merge_request_diff_head_sha: head } = call.parameters;
    if (head !== undefined && head !== merge.sha) throw conflict('SHA does not match HEAD of source branch');
    return { status: 201, body: representNote(call.state, addNote(call.state, requireUser(call.user), merge, body, internal)) };
  }),
  endpoint(`PUT ${notesPath}/:note_id`, parameters.noteUpdate, shapes.note, (call) => {
    const note = findNote(mergeOf(call), call.path('note_id'));
    editNote(call.state, requireUser(call.user), note, call.parameters.body);
    return { body: representNote(call.state, note) };
  }),
  endpoint(`POST ${notesPath}/:note_id/award_emoji`, parameters.newAward, shapes.award, (call) => {
    const note = findNote(mergeOf(call), call.path('note_id'));
    const award = addAward(call.state, requireUser(call.user), note, call.parameters.name);
    return { status: 201, body: representAward(call.state, note, award) };
  }),
];
