import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { CommitSha } from '@eph/contract';
import type { ObjectReader } from './object-reader.ts';

export interface NotesStore {
  readonly objects: ObjectReader;
  readTip(signal: AbortSignal): Promise<string | undefined>;
  /** Whether a note on this commit would be visible to anybody. */
  hasCommit(commit: CommitSha, signal: AbortSignal): Promise<boolean>;
  /** Adds a notes commit on top of `tip`. False if the tip has moved: read again and repeat. */
  write(changes: readonly NoteChange[], tip: string | undefined, signal: AbortSignal): Promise<boolean>;
}

/** A file of the notes tree; `undefined` removes it. */
export interface NoteChange {
  readonly path: string;
  readonly content: Buffer | undefined;
}

export const notesRef = 'refs/notes/eph';

/**
 * Input for `git fast-import`: one process for all changes, which moves the ref only if the new commit is based on its
 * current value.
 */
export const computeNotesImport = (changes: readonly NoteChange[], tip: string | undefined, nowMs: number): Buffer => {
  const message = 'Notes written by Eph\n';
  const head = [
    `commit ${notesRef}`,
    `committer Eph <eph@localhost> ${Math.floor(nowMs / 1000)} +0000`,
    `data ${message.length}`,
    message + (tip === undefined ? '' : `from ${tip}\n`),
  ].join('\n');
  const files = changes.flatMap(({ path, content }) => {
    if (content === undefined) return [Buffer.from(`D ${path}\n`)];
    return [Buffer.from(`M 100644 inline ${path}\ndata ${content.length}\n`), content, Buffer.from('\n')];
  });
  return Buffer.concat([Buffer.from(head), ...files, Buffer.from('done\n')]);
};

export const notesImportArgs = ['fast-import', '--quiet', '--done', '--date-format=raw'] as const;

/** A failed import leaves a crash report in the repository. */
export const removeCrashReport = async (gitFolder: string, stderr: string): Promise<void> => {
  const name = /fast_import_crash_\d+/.exec(stderr)?.[0];
  if (name !== undefined) await rm(join(gitFolder, name), { force: true });
};

export const isImportConflict = (stderr: string): boolean =>
  /Not updating|cannot lock ref|Unable to create '[^']*\.lock'/.test(stderr);
