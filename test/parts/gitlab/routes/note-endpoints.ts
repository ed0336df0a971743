import { type Call, endpoint } from '../http/endpoint.ts';
import { paginate } from '../http/pagination.ts';
import { parameters } from '../shapes/parameters.ts';
import { shapes } from '../shapes/shapes.ts';
import { findMergeRequest, findProject, requireCode, requireUser } from '../state/access.ts';
import type { MergeRequest, Note } from '../state/entities.ts';
import { addNote, deleteNote, editNote, findNote } from '../state/notes.ts';
import { conflict } from '../state/refusal.ts';
import { representNote } from '../views/represent-merge-request.ts';

const notesPath = '/projects/:id/merge_requests/:merge_request_iid/notes';

const mergeOf = (call: Call<unknown>): MergeRequest => {
  const project = findProject(call.state, call.user, call.path('id'), call);
  requireCode(call.user, project);
  return findMergeRequest(project, call.path('merge_request_iid'));
};
const noteOf = (call: Call<unknown>): Note => findNote(mergeOf(call), call.path('note_id'));

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
  endpoint(`GET ${notesPath}/:note_id`, parameters.none, shapes.note, (call) => ({
    body: representNote(call.state, noteOf(call)),
  })),
  endpoint(`POST ${notesPath}`, parameters.newNote, shapes.note, (call) => {
    const merge = mergeOf(call);
    const { body, internal, merge_request_diff_head_sha: head } = call.parameters;
    if (head !== undefined && head !== merge.sha) throw conflict('SHA does not match HEAD of source branch');
    return { status: 201, body: representNote(call.state, addNote(call.state, requireUser(call.user), merge, body, internal)) };
  }),
  endpoint(`PUT ${notesPath}/:note_id`, parameters.noteUpdate, shapes.note, (call) => {
    const note = noteOf(call);
    editNote(call.state, requireUser(call.user), note, call.parameters.body);
    return { body: representNote(call.state, note) };
  }),
  endpoint(`DELETE ${notesPath}/:note_id`, parameters.none, undefined, (call) => {
    deleteNote(call.state, requireUser(call.user), noteOf(call));
    return { status: 204 };
  }),
];
