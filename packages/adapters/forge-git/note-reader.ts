import { type CommitSha, commitSha, EphError, isEphError, isNotesName, noteLimitBytes } from '@eph/contract';
import type { Forge } from '@eph/engine/source/forge';
import { createBatchQueue } from './batch-queue.ts';
import { printable } from './git-errors.ts';
import type { ObjectReader } from './object-reader.ts';
import { type NotesRefs, notesFolder } from './refs.ts';
import type { Repository } from './repository.ts';
import { Damaged, damaged, NotACommit, readRootTree, readTree } from './trees.ts';

interface Wanted {
  readonly commit: CommitSha;
  readonly notes: string;
  readonly asOf: number | undefined;
}

/** One ref of notes at one tip. */
interface OpenNotes {
  readonly tip: CommitSha;
  /** The blobs of the notes on the commits that were asked about; `undefined` without a note. */
  readonly blobs: Map<CommitSha, string | undefined>;
  /** Set if these are no notes, or damaged. To find that out, a mirror is fetched again. */
  fault: { readonly error: unknown; readonly until: number } | undefined;
}

/** What is remembered of a ref that does not move is dropped beyond this number. */
const keptCommits = 10_000;
const faultMs = 10 * 60_000;
/** How often it looks, if a ref has moved and the server no longer has what it showed before. */
const attempts = 3;
/** About 60,000 notes. Git itself spreads so many over folders. */
const folderLimitBytes = 4 * 1024 * 1024;

/**
 * As `Forge.readNote`. Whoever asks at the same time shares one look at the refs. When a ref has moved, only the folders
 * on the way to the commits in question are read.
 */
export const createNoteReader = (
  repository: Pick<Repository, 'readNotesRefs' | 'withCommit'>,
  now: () => number,
): Forge['readNote'] => {
  let last: { readonly at: number; readonly refs: NotesRefs } | undefined;
  const open = new Map<string, OpenNotes>();

  const look = async (signal: AbortSignal): Promise<NotesRefs> => {
    const at = now();
    const refs = await repository.readNotesRefs(signal);
    last = { at, refs };
    for (const [notes, { tip }] of open) if (refs.tips.get(notes) !== tip) open.delete(notes);
    return refs;
  };

  const lookAsOf = async (times: readonly (number | undefined)[], signal: AbortSignal): Promise<NotesRefs> => {
    const at = last?.at ?? Number.NaN;
    // A look in the future was made before the clock was set back.
    const isEnough = at <= now() && times.every((asOf) => asOf !== undefined && asOf <= at);
    return isEnough && last !== undefined ? last.refs : await look(signal);
  };

  const openNotes = (notes: string, { tips, faults }: NotesRefs): OpenNotes | undefined => {
    const tip = tips.get(notes);
    const [fault] = faults;
    if (tip === undefined && fault !== undefined) throw new EphError(fault.code, fault.message);
    if (tip === undefined) return undefined;
    const known = open.get(notes);
    if (known !== undefined && known.blobs.size < keptCommits) return known;
    const opened = { tip: commitSha(tip), blobs: new Map(), fault: undefined };
    open.set(notes, opened);
    return opened;
  };

  const find = async (
    notes: string,
    commits: readonly CommitSha[],
    refs: NotesRefs,
    signal: AbortSignal,
    attempt = 1,
  ): Promise<OpenNotes | undefined> => {
    const opened = openNotes(notes, refs);
    if (opened === undefined) return undefined;
    const { tip, blobs, fault } = opened;
    if (fault !== undefined && now() < fault.until) throw fault.error;
    const wanted = commits.filter((commit) => !blobs.has(commit));
    if (wanted.length === 0) return opened;
    try {
      const found = await repository.withCommit(tip, ({ objects }) => findBlobs(objects, tip, wanted, signal), signal);
      for (const commit of wanted) blobs.set(commit, found.get(commit));
      return opened;
    } catch (error) {
      if (!isMissing(error)) throw toNotesError(notes, error);
      const next = await look(signal);
      if (next.tips.get(notes) !== tip && attempt < attempts) return await find(notes, commits, next, signal, attempt + 1);
      const reason = toNotesError(notes, error);
      if (error instanceof Damaged || error instanceof NotACommit) opened.fault = { error: reason, until: now() + faultMs };
      throw reason;
    }
  };

  const findTogether = createBatchQueue(async (asked: readonly Wanted[], signal) => {
    const refs = await lookAsOf(
      asked.map(({ asOf }) => asOf),
      signal,
    );
    const groups = [...Map.groupBy(asked, ({ notes }) => notes)];
    const results = await Promise.allSettled(
      groups.map(([notes, group]) => find(notes, [...new Set(group.map(({ commit }) => commit))], refs, signal)),
    );
    return new Map(groups.map(([notes], index) => [notes, results[index]]));
  });

  return async (commit, notes, signal, asOf) => {
    if (!isNotesName(notes)) throw illegalName(notes);
    const result = (await findTogether({ commit, notes, asOf }, signal)).get(notes);
    if (result?.status === 'rejected') throw result.reason;
    const opened = result?.value;
    const blob = opened?.blobs.get(commit);
    if (opened === undefined || blob === undefined) return undefined;
    try {
      return await repository.withCommit(opened.tip, ({ objects }) => readText(objects, blob, commit, signal), signal);
    } catch (error) {
      throw toNotesError(notes, error);
    }
  };
};

/** Git names the note on a commit after it, with a slash after any pair of the first digits. */
const findBlobs = async (
  objects: ObjectReader,
  tip: CommitSha,
  wanted: readonly CommitSha[],
  signal: AbortSignal,
): Promise<ReadonlyMap<CommitSha, string>> => {
  const found = new Map<CommitSha, string>();
  const search = async (tree: string, digits: number, commits: readonly CommitSha[]): Promise<void> => {
    const listed = await readTree(objects, tree, signal, folderLimitBytes);
    const entries = new Map(listed.map((entry) => [entry.name.toString('latin1'), entry]));
    const others: CommitSha[] = [];
    for (const commit of commits) {
      const entry = entries.get(commit.slice(digits));
      if (entry?.kind === 'file' || entry?.kind === 'executable') found.set(commit, entry.id);
      else others.push(commit);
    }
    for (const [folder, inside] of Map.groupBy(others, (commit) => commit.slice(digits, digits + 2))) {
      const entry = entries.get(folder);
      if (folder.length === 2 && entry?.kind === 'folder') await search(entry.id, digits + 2, inside);
    }
  };
  await search(await readRootTree(objects, tip, signal), 0, wanted);
  return found;
};

const readText = async (objects: ObjectReader, blob: string, commit: CommitSha, signal: AbortSignal): Promise<string> => {
  const object = await objects.read(blob, noteLimitBytes, signal);
  if (object === undefined) throw damaged(`the note on commit ${commit} is missing; the repository is incomplete.`);
  if (object.type !== 'blob') throw new EphError('spec.invalid', `the note on commit ${commit} is a ${object.type}.`);
  if (object.content !== undefined) return object.content.toString('utf8');
  const size = `${object.size} bytes; at most ${noteLimitBytes} are read`;
  throw new EphError('spec.invalid', `the note on commit ${commit} has ${size}. Write a shorter one.`);
};

const isMissing = (error: unknown): boolean => isEphError(error) && error.code === 'source.commit_missing';

const illegalName = (notes: string): EphError =>
  new EphError(
    'spec.invalid',
    `"${printable(notes)}" is not a name of Git notes. Use the part after "${notesFolder}" of a legal ref, such as "commits".`,
  );

/** In terms of the notes. That a commit of notes is missing does not mean that the commit with the note is. */
const toNotesError = (notes: string, error: unknown): unknown => {
  if (!isEphError(error)) return error;
  const say = (code: EphError['code'], message: string) =>
    new EphError(code, `${notesFolder}${printable(notes)}: ${message}`, { cause: error });
  if (error instanceof NotACommit) return say('spec.invalid', `it holds no notes, because ${error.message}`);
  if (error.code === 'checkout.refused')
    return say('spec.invalid', `there are too many notes in one folder. Write them with "git notes", which uses several.`);
  if (error.code === 'spec.invalid') return say('spec.invalid', error.message);
  return isMissing(error) ? say('forge.incomplete', error.message) : error;
};
