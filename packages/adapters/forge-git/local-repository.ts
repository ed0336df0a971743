import {
  type CommitSha,
  commitSha,
  EphError,
  type Failure,
  failure,
  isEphError,
  type Log,
  type SourceRef,
  sourceKey,
} from '@eph/contract';
import { writeBlobTo } from './blob-file.ts';
import type { Git } from './git-command.ts';
import { gitError, gitMessage, printable } from './git-errors.ts';
import type { PathLocation } from './location.ts';
import {
  computeNotesImport,
  isImportConflict,
  type NotesStore,
  notesImportArgs,
  notesRef,
  removeCrashReport,
} from './notes-store.ts';
import { createObjectReader, type ObjectReader } from './object-reader.ts';
import { watchRefs } from './ref-watch.ts';
import { createLocalChange } from './ref-writer.ts';
import {
  type CommitRef,
  forEachRefFormat,
  fullName,
  isPossibleName,
  type ListedRef,
  notesFolder,
  parseForEachRef,
  parseNotesRefs,
  type RefReading,
} from './refs.ts';
import { readRefsMark } from './refs-mark.ts';
import type { Repository } from './repository.ts';
import { checkRefFolders, type Layout, readLayout } from './repository-layout.ts';

export interface LocalRepositoryOptions {
  readonly git: Git;
  readonly location: PathLocation;
  readonly now: () => number;
  readonly log: Log;
}

const faultLimit = 20;

const sourceFolders = ['refs/heads', 'refs/tags'];

const tagLimitBytes = 1024 * 1024;
const maxTagDepth = 10;

/** A local repository, read in place without a mirror. */
export const createLocalRepository = ({ git, location, now, log }: LocalRepositoryOptions): Repository => {
  const { path, shown } = location;
  const objects = createLocalReader(git, location);
  /** Peeled objects; `null` if not a commit. They never change. Holds those of the last full reading. */
  let peeled: ReadonlyMap<string, CommitSha | null> = new Map();
  /** The last full reading, where the refs can be seen to be as they were then. */
  let last: { readonly mark: string; readonly reading: RefReading } | undefined;

  const listRefs = async (folders: readonly string[], patterns: readonly string[], signal: AbortSignal) => {
    const layout = await readLayout(path);
    await checkRefFolders(layout, folders, shown);
    const output = await git.run([`--git-dir=${layout.gitFolder}`, 'for-each-ref', forEachRefFormat, ...patterns], { signal });
    if (output.exitCode !== 0) throw gitError(output, shown);
    await checkUnchanged(path, layout);
    return { output: output.stdout, faults: parseWarnings(output.stderr, shown) };
  };

  /** Null only if the object was read and is not a commit; a missing object makes the reading incomplete. */
  const peel = async (object: string, signal: AbortSignal, depth = 0): Promise<CommitSha | null> => {
    const found = await objects.read(object, tagLimitBytes, signal);
    if (found === undefined)
      throw new EphError('forge.incomplete', `it points to ${object}, which is not in the repository (yet)`);
    if (found.type === 'commit') return commitSha(found.id);
    if (found.type !== 'tag') return null;
    const target = /^object ([0-9a-f]+)\n/.exec(found.content?.toString('latin1', 0, 80) ?? '')?.[1];
    if (target === undefined || depth === maxTagDepth)
      throw new EphError('forge.incomplete', `its tag ${object} cannot be followed`);
    return await peel(target, signal, depth + 1);
  };

  const readRefs = async (signal: AbortSignal): Promise<RefReading> => {
    const before = await markRefs();
    if (before !== undefined && before === last?.mark) return last.reading;
    const reading = await listSources(signal);
    const after = reading.faults.length === 0 ? await markRefs() : undefined;
    last = after !== undefined && after === before ? { mark: after, reading } : undefined;
    return reading;
  };

  /** What cannot be looked at is left to Git. */
  const markRefs = async (): Promise<string | undefined> => {
    try {
      return await readRefsMark(await readLayout(path), sourceFolders, now());
    } catch {
      return undefined;
    }
  };

  const listSources = async (signal: AbortSignal): Promise<RefReading> => {
    const listing = await listRefs(sourceFolders, sourceFolders, signal);
    const listed = parseForEachRef(listing.output);
    const faults = [...listing.faults];
    const next = new Map<string, CommitSha | null>();
    const peelListed = async ({ ref, object }: ListedRef): Promise<void> => {
      try {
        const known = peeled.get(object);
        next.set(object, known === undefined ? await peel(object, signal) : known);
      } catch (error) {
        if (!isEphError(error)) throw error;
        faults.push(refFault(ref, error, shown));
      }
    };
    await Promise.all(listed.map(peelListed));
    peeled = next;
    return {
      refs: listed.flatMap(({ ref, object }) => toCommitRef(ref, next.get(object))),
      faults: faults.slice(0, faultLimit),
    };
  };

  const readRef = async (ref: SourceRef, signal: AbortSignal): Promise<CommitRef | undefined> => {
    // An invalid name exists nowhere, but the repository must still answer.
    const patterns = isPossibleName(ref.name) ? [fullName(ref)] : ['--count=1'];
    const { output, faults } = await listRefs(sourceFolders, patterns, signal);
    const listed = parseForEachRef(output).find((candidate) => sourceKey(candidate.ref) === sourceKey(ref));
    if (listed !== undefined) return toCommitRef(ref, await peel(listed.object, signal))[0];
    const [fault] = faults;
    if (fault !== undefined) throw new EphError(fault.code, fault.message);
    return undefined;
  };

  const notes: NotesStore = {
    objects,
    readTip: async (signal) => (await objects.read(`${notesRef}^{commit}`, 0, signal))?.id,
    hasCommit: async (commit, signal) => (await objects.read(`${commit}^{commit}`, 0, signal)) !== undefined,
    async write(changes, tip, signal) {
      const { gitFolder } = await readLayout(path);
      const input = computeNotesImport(changes, tip, now());
      const output = await git.run([`--git-dir=${gitFolder}`, ...notesImportArgs], { input, signal, changesRefsOf: gitFolder });
      if (output.exitCode === 0) return true;
      await removeCrashReport(gitFolder, output.stderr);
      if (isImportConflict(output.stderr)) return false;
      throw new EphError('report.failed', `The notes of ${shown} could not be written: ${gitMessage(output)}`);
    },
  };

  return {
    readRefs,
    readRef,
    async readNotesRefs(signal) {
      const { output, faults } = await listRefs([notesFolder], [notesFolder], signal);
      return { tips: parseNotesRefs(output, ' ').tips, faults };
    },
    withCommit: async (_commit, use) =>
      await use({
        objects,
        async writeBlob(id, file, signal) {
          const { gitFolder } = await readLayout(path);
          await writeBlobTo(git, gitFolder, id, file, shown, signal);
        },
      }),
    watch: (wake, signal) => watchRefs({ readLayout: () => readLayout(path), wake, signal, log }),
    notes,
    changeBranch: createLocalChange(git, location),
    [Symbol.asyncDispose]: () => objects[Symbol.asyncDispose](),
  };
};

/** If another repository was put in the same place, a missing object is read again with a new process. */
const createLocalReader = (git: Git, { path, shown }: PathLocation): ObjectReader => {
  let identity: string | undefined;
  const gitFolder = async (): Promise<string> => {
    const layout = await readLayout(path);
    identity = layout.identity;
    return layout.gitFolder;
  };
  const reader = createObjectReader({ git, gitFolder, shown });
  return {
    ...reader,
    async read(expression, limitBytes, signal) {
      const object = await reader.read(expression, limitBytes, signal);
      if (object !== undefined || (await readLayout(path)).identity === identity) return object;
      reader.restart();
      return await reader.read(expression, limitBytes, signal);
    },
  };
};

/** A repository that is being deleted loses refs one by one, so the list may be incomplete. */
const checkUnchanged = async (path: string, before: Layout): Promise<void> => {
  const after = await readLayout(path);
  if (after.identity === before.identity) return;
  throw new EphError('forge.incomplete', `The repository at ${path} was replaced while it was being read.`);
};

/** Git lists what it can read and warns about the rest. A dangling symbolic ref is not a fault. */
const parseWarnings = (stderr: string, shown: string): readonly Failure[] =>
  stderr
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.includes('dangling symref'))
    .map((line) => failure('forge.incomplete', `The refs of ${shown} cannot all be read: git says "${printable(line)}".`));

const refFault = (ref: SourceRef, error: EphError, shown: string): Failure =>
  failure(
    error.code,
    `The ${ref.kind} "${printable(ref.name)}" of ${shown} cannot be read: ${error.message.replace(/\.$/, '')}.`,
  );

const toCommitRef = (ref: SourceRef, commit: CommitSha | null | undefined): readonly CommitRef[] =>
  commit === null || commit === undefined ? [] : [{ ref, commit }];
