import { levelOf } from './access.ts';
import { accessLevels, type MergeRequest, type Note, type User } from './entities.ts';
import { forbidden, invalid, noRecord } from './refusal.ts';
import type { GitlabState } from './state.ts';

const put = (
  state: GitlabState,
  author: User,
  mergeRequest: MergeRequest,
  body: string,
  about: { readonly system: boolean; readonly internal: boolean },
): Note => {
  const now = state.now();
  const note = {
    id: state.nextId(),
    mergeRequest,
    author,
    body,
    createdAt: now,
    updatedAt: now,
    awards: [],
    ...about,
  };
  mergeRequest.notes.set(note.id, note);
  state.touch();
  return note;
};

/** https://docs.gitlab.com/api/notes/#create-new-merge-request-note. A new note also makes the merge request newer. */
export const addNote = (state: GitlabState, author: User, mergeRequest: MergeRequest, body: string, internal = false): Note => {
  if (body.trim() === '') throw invalid({ note: ["can't be blank"] });
  if (body.length > 1_000_000) throw invalid({ note: ['is too long (maximum is 1000000 characters)'] });
  const note = put(state, author, mergeRequest, body, { system: false, internal });
  mergeRequest.updatedAt = note.createdAt;
  state.announce({ kind: 'note', note, actor: author, action: 'create' });
  return note;
};

/** A system note. */
export const addSystemNote = (state: GitlabState, author: User, mergeRequest: MergeRequest, body: string): void => {
  put(state, author, mergeRequest, body, { system: true, internal: false });
};

export const findNote = (mergeRequest: MergeRequest, id: string): Note => {
  const note = mergeRequest.notes.get(Number(id));
  if (note === undefined) throw noRecord();
  return note;
};

/** Only the author edits a note; maintainers may delete it. https://docs.gitlab.com/user/discussions/#edit-a-comment */
export const editNote = (state: GitlabState, actor: User, note: Note, body: string): void => {
  if (note.system || (note.author !== actor && levelOf(actor, note.mergeRequest.target) < accessLevels.maintainer))
    throw forbidden();
  if (body.trim() === '') throw invalid({ note: ["can't be blank"] });
  if (note.body === body) return;
  note.body = body;
  note.updatedAt = state.now();
  state.touch();
  state.announce({ kind: 'note', note, actor, action: 'update' });
};

export const deleteNote = (state: GitlabState, actor: User, note: Note): void => {
  if (note.author !== actor && levelOf(actor, note.mergeRequest.target) < accessLevels.maintainer) throw forbidden();
  note.mergeRequest.notes.delete(note.id);
  state.touch();
};
