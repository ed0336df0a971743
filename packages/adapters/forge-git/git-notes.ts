import { setTimeout as delay } from 'node:timers/promises';
import { type CommitSha, type EnvironmentId, EphError, isEphError, sourceKey } from '@eph/contract';
import type { Report, Reporter } from '@eph/engine/report/reporter';
import { createBatchQueue } from './batch-queue.ts';
import type { GitForge } from './git-forge.ts';
import { withBlock, withoutBlock } from './note-text.ts';
import { emptyIndex, type Note, type NotesIndex, noteLimitBytes, readNotesIndex } from './notes-index.ts';
import { type NoteChange, type NotesStore, notesRef } from './notes-store.ts';

const attempts = 6;
const pauseMs = 20;

/**
 * Reports as Git notes under `refs/notes/eph`, shown by `git log --notes=eph`. An environment has one block in one note,
 * on the commit it was last reported for; with a new commit the block moves. Concurrent reports are written together.
 */
export const createGitNotesReporter = ({ forge: { notes } }: { readonly forge: GitForge }): Reporter => {
  let seen: { readonly tip: string | undefined; readonly index: NotesIndex } = { tip: undefined, index: emptyIndex };

  const readIndex = async (tip: string | undefined, signal: AbortSignal): Promise<NotesIndex> => {
    if (tip !== seen.tip) {
      const index = tip === undefined ? emptyIndex : await readNotesIndex(notes.objects, tip as CommitSha, seen.index, signal);
      seen = { tip, index };
    }
    return seen.index;
  };

  const writeBatch = async (reports: readonly Report[], signal: AbortSignal): Promise<void> => {
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const tip = await notes.readTip(signal);
      const changes = await computeChanges(notes, await readIndex(tip, signal), latest(reports), signal);
      if (changes.length === 0 || (await notes.write(changes, tip, signal))) return;
      await delay(pauseMs * attempt, undefined, { signal });
    }
    throw new EphError(
      'report.failed',
      `${notesRef} keeps changing or is locked; if no other Git process is running, delete the file ${notesRef}.lock.`,
    );
  };

  const addToBatch = createBatchQueue(writeBatch);

  return {
    async ensure(report, signal) {
      try {
        await addToBatch(report, signal);
      } catch (error) {
        signal.throwIfAborted();
        throw reportError(error);
      }
    },
  };
};

/** Only the last report about an environment counts. */
const latest = (reports: readonly Report[]): readonly Report[] => [
  ...new Map(reports.map((report) => [report.environment, report])).values(),
];

const computeChanges = async (
  notes: NotesStore,
  index: NotesIndex,
  reports: readonly Report[],
  signal: AbortSignal,
): Promise<readonly NoteChange[]> => {
  const edits = new Map<string, { readonly path: string; readonly before: Buffer; after: Buffer }>();
  const editOf = async (commit: string, note: Note | undefined) => {
    const existing = edits.get(commit);
    if (existing !== undefined) return existing;
    const before = note === undefined ? Buffer.alloc(0) : await readNote(notes, note, signal);
    const edit = { path: note?.path ?? `${commit.slice(0, 2)}/${commit.slice(2)}`, before, after: before };
    edits.set(commit, edit);
    return edit;
  };
  const removeElsewhere = async (environment: EnvironmentId, commit: string) => {
    for (const note of index.byEnvironment.get(environment) ?? []) {
      if (note.commit === commit) continue;
      const edit = await editOf(note.commit, note);
      edit.after = withoutBlock(edit.after, environment);
    }
  };
  for (const { commit, environment, source, text } of reports) {
    const note = index.notes.get(commit);
    // The commit may have been deleted with its branch; then nobody can see a note on it.
    if (note === undefined && !(await notes.hasCommit(commit, signal))) continue;
    await removeElsewhere(environment, commit);
    const edit = await editOf(commit, note);
    edit.after = withBlock(edit.after, environment, sourceKey(source), text);
  }
  return [...edits.values()]
    .filter(({ before, after }) => !before.equals(after))
    .map(({ path, after }) => ({ path, content: after.length === 0 ? undefined : after }));
};

const readNote = async (notes: NotesStore, note: Note, signal: AbortSignal): Promise<Buffer> => {
  const content = (await notes.objects.read(note.blob, noteLimitBytes, signal))?.content;
  if (content !== undefined) return Buffer.from(content);
  throw new EphError(
    'report.failed',
    `The note on commit ${note.commit} cannot be read or is larger than ${noteLimitBytes} bytes.`,
  );
};

const reportError = (error: unknown): unknown => {
  if (!isEphError(error) || error.code === 'report.failed') return error;
  return new EphError('report.failed', `The status could not be written: ${error.message}`, { cause: error });
};
