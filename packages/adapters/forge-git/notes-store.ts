import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { CommitSha } from '@eph/contract';
import type { ObjectReader } from './object-reader.ts';

/** Where the notes of a project are kept and how they are changed; the text in them is the reporter's business. */
export interface NotesStore {
  readonly objects: ObjectReader;
  /** The newest notes commit; `undefined` when nothing was ever noted. */
  readTip(signal: AbortSignal): Promise<string | undefined>;
  /** Whether a note on this commit would be seen by anybody. */
  hasCommit(commit: CommitSha, signal: AbortSignal): Promise<boolean>;
  /** Puts one notes commit on top of `tip`. False when the tip is no longer that one: read again and repeat. */
  write(changes: readonly NoteChange[], tip: string | undefined, signal: AbortSignal): Promise<boolean>;
}

/** A file of the notes tree with its new content; `undefined` removes it. */
export interface NoteChange {
  readonly path: string;
  readonly content: Buffer | undefined;
}

export const notesRef = 'refs/notes/eph';

/**
 * The changes as input for `git fast-import`: one process whatever their number, which moves the ref only if the new commit builds
 * on what the ref then holds.
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

export const notesImportArgs = (gitFolder: string): readonly string[] => [
  `--git-dir=${gitFolder}`,
  'fast-import',
  '--quiet',
  '--done',
  '--date-format=raw',
];

/** A failed import leaves a report about itself in the repository, which is not ours to litter. */
export const removeCrashReport = async (gitFolder: string, stderr: string): Promise<void> => {
  const name = /fast_import_crash_\d+/.exec(stderr)?.[0];
  if (name !== undefined) await rm(join(gitFolder, name), { force: true });
};

/** What `git fast-import` says when another writer moved the ref, or is just doing so. */
export const isImportConflict = (stderr: string): boolean =>
  /Not updating|cannot lock ref|Unable to create '[^']*\.lock'/.test(stderr);
