import { type CommitSha, EphError, type Failure, failure, isEphError, type Log, type SourceRef, sourceKey } from '@eph/contract';
import { createBatchQueue } from './batch-queue.ts';
import { writeBlobTo } from './blob-file.ts';
import type { Git } from './git-command.ts';
import { gitError, printable } from './git-errors.ts';
import type { UrlLocation } from './location.ts';
import { createMirror, type ObjectFormat } from './mirror.ts';
import { createRemoteChange } from './ref-writer.ts';
import { type CommitRef, type NotesRefs, notesFolder, parseLsRemote, parseNotesRefs, type RefReading } from './refs.ts';
import { createRemoteNotes } from './remote-notes.ts';
import type { Repository } from './repository.ts';
import { createSmartHttp } from './smart-http.ts';
import type { TreeSource } from './tree-export.ts';
import { NotACommit } from './trees.ts';

export interface RemoteRepositoryOptions {
  readonly git: Git;
  readonly location: UrlLocation;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly folder: string;
  readonly lifetime: AbortSignal;
  readonly now: () => number;
  readonly log: Log;
}

/** Other tips fetched along with a commit: a cold start takes a few fetches, not one per branch. */
const maxExtraTips = 1_000;

/** A remote repository: refs as its server lists them, objects through a mirror. */
export const createRemoteRepository = (options: RemoteRepositoryOptions): Repository => {
  const { git, location, folder, lifetime, now, log } = options;
  const { url, shown } = location;
  const listBySmartHttp = createSmartHttp(options);
  let tips: ReadonlySet<CommitSha> = new Set();
  let notesTips: ReadonlySet<string> = new Set();
  let format: ObjectFormat = 'sha1';
  /** Tagged objects that are not commits. The list of refs does not show that. */
  const nonCommits = new Set<string>();
  let extraTipLimit = maxExtraTips;
  const mirror = createMirror({ git, folder, url, shown, log, format: () => format });

  const listByGit = async (options: readonly string[], patterns: readonly string[], signal: AbortSignal): Promise<Buffer> => {
    const args = ['ls-remote', ...(await git.serverArgs('upload-pack')), ...options, '--', url, ...patterns];
    const output = await git.run(args, { signal, network: true });
    if (output.exitCode !== 0) throw gitError(output, shown);
    return output.stdout;
  };

  /** Full listings, shared by all concurrent callers: filtering on the server is not cheaper. */
  const list = createBatchQueue<null, RefReading>(async (_items, signal) => {
    const output = await listBySmartHttp(['refs/heads/', 'refs/tags/'], signal);
    const { refs, broken } = parseLsRemote(output ?? (await listByGit(['--heads', '--tags'], [], signal)));
    const sources = refs.filter(({ commit }) => !nonCommits.has(commit));
    tips = new Set(sources.map(({ commit }) => commit));
    const [tip] = tips;
    if (tip !== undefined) format = tip.length === 64 ? 'sha256' : 'sha1';
    return { refs: sources, faults: broken.map(({ kind, name }) => brokenRef(`${kind} "${printable(name)}"`)) };
  });

  const brokenRef = (ref: string): Failure => failure('forge.incomplete', `The ${ref} of ${shown} cannot be read by its server.`);

  const readNotesRefs = async (signal: AbortSignal): Promise<NotesRefs> => {
    const output = await listBySmartHttp([notesFolder], signal);
    const { tips: found, broken } = parseNotesRefs(output ?? (await listByGit([], [`${notesFolder}*`], signal)), '\t');
    notesTips = new Set(found.values());
    return { tips: found, faults: broken.map((name) => brokenRef(`ref "${printable(name)}"`)) };
  };

  const fetchBatch = createBatchQueue<CommitSha, ReadonlySet<string>>(async (asked, signal) => {
    const wanted = [...new Set(asked)].filter((commit) => !mirror.has(commit));
    if (wanted.length === 0) return new Set();
    const extraTips = [...tips].filter((tip) => !mirror.has(tip) && !wanted.includes(tip)).slice(0, extraTipLimit);
    if (extraTips.length === 0) return await mirror.fetch(wanted, signal);
    try {
      return await mirror.fetch([...wanted, ...extraTips], signal);
    } catch (error) {
      signal.throwIfAborted();
      const missing = await mirror.fetch(wanted, signal);
      // It works without the extra tips: one of them is the cause, so the next fetch takes fewer.
      extraTipLimit = Math.floor(extraTipLimit / 2);
      log.warn(
        { project: shown, reason: isEphError(error) ? error.message : String(error) },
        'tips could not be fetched together with a commit',
      );
      return missing;
    }
  });

  /** The mirror needs the object format of the remote, which a listing shows. */
  const ensureFormat = async (signal: AbortSignal): Promise<void> => {
    if (tips.size === 0) await list(null, signal);
  };

  const ensureCommit = async (commit: CommitSha, signal: AbortSignal): Promise<void> => {
    await ensureFormat(signal);
    await mirror.open();
    if (mirror.has(commit)) return;
    const missing = await fetchBatch(commit, signal);
    if (missing.has(commit)) throw new EphError('source.commit_missing', `${shown} has no commit ${commit} (yet).`);
  };

  const source: TreeSource = {
    objects: mirror.objects,
    writeBlob: async (id, file, signal) => await writeBlobTo(git, await mirror.open(), id, file, shown, signal),
  };

  const withCommit = async <T>(commit: CommitSha, use: (source: TreeSource) => Promise<T>, signal: AbortSignal): Promise<T> => {
    await ensureCommit(commit, signal);
    const generation = mirror.generation();
    try {
      return await use(source);
    } catch (error) {
      if (error instanceof NotACommit) nonCommits.add(commit);
      if (error instanceof NotACommit || !isDamage(error)) throw error;
      // The remote has the commit, so the mirror is damaged, unless the commit was pruned meanwhile.
      if (mirror.has(commit)) await mirror.discard(generation);
      await ensureCommit(commit, signal);
      return await use(source);
    }
  };

  const prune = async (current: ReadonlySet<string>) => {
    try {
      await mirror.prune(current, lifetime);
    } catch (error) {
      if (!lifetime.aborted) log.warn({ project: shown, reason: String(error) }, 'a mirror could not be pruned');
    }
  };

  return {
    async readRefs(signal) {
      const reading = await list(null, signal);
      if (reading.faults.length === 0) void prune(new Set([...tips, ...notesTips]));
      return reading;
    },
    async readRef(ref: SourceRef, signal: AbortSignal): Promise<CommitRef | undefined> {
      const { refs, faults } = await list(null, signal);
      const found = refs.find((candidate) => sourceKey(candidate.ref) === sourceKey(ref));
      const [fault] = faults;
      if (found === undefined && fault !== undefined) throw new EphError(fault.code, fault.message);
      return found;
    },
    readNotesRefs,
    withCommit,
    /** Nothing to watch: the loop polls, and `POST /hooks/git` wakes the project. */
    watch: () => undefined,
    notes: createRemoteNotes({ mirror, shown, now, prepare: ensureFormat }),
    changeBranch: createRemoteChange(mirror, shown, ensureCommit),
    [Symbol.asyncDispose]: () => mirror[Symbol.asyncDispose](),
  };
};

/** The codes that `trees.ts` and the object reader use for a damaged repository. */
const isDamage = (error: unknown): boolean =>
  isEphError(error) && (error.code === 'source.commit_missing' || error.code === 'forge.unreachable');
