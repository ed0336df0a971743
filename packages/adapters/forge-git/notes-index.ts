import { type CommitSha, type EnvironmentId, EphError } from '@eph/contract';
import { parseEnvironments } from './note-text.ts';
import { notesRef } from './notes-store.ts';
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

/** Whoever may push may write notes, and a few small objects can stand for millions of them. */
export interface NotesLimits {
  /** Git needs a third level for sixteen million notes. */
  readonly depth: number;
  readonly entries: number;
  readonly totalBytes: number;
}

const notesLimits: NotesLimits = { depth: 4, entries: 100_000, totalBytes: 256 * 1024 ** 2 };

/** Reads the notes at `tip`, and opens only those that changed since `previous`. Throws `report.failed` beyond a limit. */
export const readNotesIndex = async (
  objects: ObjectReader,
  tip: CommitSha,
  previous: NotesIndex,
  signal: AbortSignal,
  limits: NotesLimits = notesLimits,
): Promise<NotesIndex> => {
  const found: Note[] = [];
  /** A folder of notes is nowhere twice: its notes would be about other commits there. */
  const visited = new Set<string>();
  const texts = new Map<string, Promise<readonly EnvironmentId[]>>();
  const used = { entries: 0, totalBytes: 0 };
  const spend = (what: keyof typeof used, amount: number): void => {
    used[what] += amount;
    if (used[what] <= limits[what]) return;
    const unit = what === 'entries' ? 'entries' : 'bytes';
    throw new EphError('report.failed', `${notesRef} has more than ${limits[what]} ${unit}; delete it, Eph writes it again.`);
  };
  const readFolder = async (tree: string, path: string, depth: number): Promise<void> => {
    if (visited.has(tree) || depth > limits.depth) return;
    visited.add(tree);
    const entries = await readTree(objects, tree, signal);
    spend('entries', entries.length);
    const inner: Promise<void>[] = [];
    for (const { name, kind, id } of entries) {
      const entryPath = path + name.toString('latin1');
      if (kind === 'folder' && /^[0-9a-f]{2}$/.test(name.toString('latin1')))
        inner.push(readFolder(id, `${entryPath}/`, depth + 1));
      if (kind === 'file') inner.push(readNote(entryPath, id));
    }
    await Promise.all(inner);
  };
  const readText = async (blob: string): Promise<readonly EnvironmentId[]> => {
    const content = (await objects.read(blob, noteLimitBytes, signal))?.content;
    spend('totalBytes', content?.length ?? 0);
    return content === undefined ? [] : parseEnvironments(content);
  };
  const readNote = async (path: string, blob: string): Promise<void> => {
    const commit = path.replaceAll('/', '');
    if (!/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(commit)) return;
    const old = previous.notes.get(commit);
    if (old?.blob === blob && old.path === path) found.push(old);
    else {
      const environments = texts.get(blob) ?? readText(blob);
      texts.set(blob, environments);
      found.push({ commit, path, blob, environments: await environments });
    }
  };
  await readFolder(await readRootTree(objects, tip, signal), '', 0);
  return buildIndex(found);
};

const buildIndex = (notes: readonly Note[]): NotesIndex => {
  const entries = notes.flatMap((note) => note.environments.map((environment) => ({ environment, note })));
  const groups = Map.groupBy(entries, ({ environment }) => environment);
  return {
    notes: new Map(notes.map((note) => [note.commit, note])),
    byEnvironment: new Map(Array.from(groups, ([environment, group]) => [environment, group.map(({ note }) => note)])),
  };
};
