import type { CommitSha, EnvironmentId } from '@eph/contract';
import { parseEnvironments } from './note-text.ts';
import type { ObjectReader } from './object-reader.ts';
import { readRootTree, readTree } from './trees.ts';

export interface Note {
  readonly commit: string;
  /** Git spreads notes over folders named after the first digits, at any depth. */
  readonly path: string;
  readonly blob: string;
  readonly environments: readonly EnvironmentId[];
}

export interface NotesIndex {
  readonly notes: ReadonlyMap<string, Note>;
  readonly byEnvironment: ReadonlyMap<EnvironmentId, readonly Note[]>;
}

export const emptyIndex: NotesIndex = { notes: new Map(), byEnvironment: new Map() };

/** Larger notes are not ours and are ignored. */
export const noteLimitBytes = 1024 * 1024;

/** Reads the notes at `tip`, and opens only those that changed since `previous`. */
export const readNotesIndex = async (
  objects: ObjectReader,
  tip: CommitSha,
  previous: NotesIndex,
  signal: AbortSignal,
): Promise<NotesIndex> => {
  const found: Note[] = [];
  const readFolder = async (tree: string, path: string): Promise<void> => {
    const inner: Promise<void>[] = [];
    for (const { name, kind, id } of await readTree(objects, tree, signal)) {
      const entryPath = path + name.toString('latin1');
      if (kind === 'folder' && /^[0-9a-f]{2}$/.test(name.toString('latin1'))) inner.push(readFolder(id, `${entryPath}/`));
      if (kind === 'file') inner.push(readNote(entryPath, id));
    }
    await Promise.all(inner);
  };
  const readNote = async (path: string, blob: string): Promise<void> => {
    const commit = path.replaceAll('/', '');
    if (!/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(commit)) return;
    const old = previous.notes.get(commit);
    if (old?.blob === blob && old.path === path) found.push(old);
    else found.push({ commit, path, blob, environments: await readEnvironments(objects, blob, signal) });
  };
  await readFolder(await readRootTree(objects, tip, signal), '');
  return buildIndex(found);
};

const readEnvironments = async (objects: ObjectReader, blob: string, signal: AbortSignal): Promise<readonly EnvironmentId[]> => {
  const content = (await objects.read(blob, noteLimitBytes, signal))?.content;
  return content === undefined ? [] : parseEnvironments(content);
};

const buildIndex = (notes: readonly Note[]): NotesIndex => {
  const entries = notes.flatMap((note) => note.environments.map((environment) => ({ environment, note })));
  const groups = Map.groupBy(entries, ({ environment }) => environment);
  return {
    notes: new Map(notes.map((note) => [note.commit, note])),
    byEnvironment: new Map(Array.from(groups, ([environment, group]) => [environment, group.map(({ note }) => note)])),
  };
};
