import { join } from 'node:path';
import {
  completeReading,
  EphError,
  failure,
  incompleteReading,
  type Log,
  markSources,
  type ProjectId,
  silentLog,
} from '@eph/contract';
import type { Forge } from '@eph/engine/source/forge';
import type { RefWriter } from '@eph/engine/source/ref-writer';
import { createGit } from './git-command.ts';
import { readingFault } from './git-errors.ts';
import { createLocalRepository } from './local-repository.ts';
import { type Authorization, parseLocation } from './location.ts';
import { createNoteReader } from './note-reader.ts';
import type { NotesStore } from './notes-store.ts';
import { createRefWriter } from './ref-writer.ts';
import { createRemoteRepository } from './remote-repository.ts';
import type { Repository } from './repository.ts';
import { exportLimits, exportTree } from './tree-export.ts';
import { readCommittedAt, readFileAt } from './trees.ts';

export interface GitForgeOptions {
  readonly project: ProjectId;
  /** A local path, or a URL that Git understands. */
  readonly location: string;
  /** For a URL without credentials. */
  readonly authorization?: Authorization;
  /** For this forge alone: the mirror of a remote, and an empty home for Git. Safe to delete while ephd is down. */
  readonly folder: string;
  /** The process environment; proxies, certificates and the SSH agent are passed on to Git. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly now?: () => number;
  readonly log?: Log;
}

export interface GitForge extends Forge, AsyncDisposable {
  readonly notes: NotesStore;
  readonly refs: RefWriter;
}

/** The prefix of every branch that Eph creates; the default triggers match it. */
const previewPrefix = 'preview/';

/** Any Git server or path, without a forge API. Throws `config.invalid` for an invalid location. */
export const createGitForge = (options: GitForgeOptions): GitForge => {
  const { project } = options;
  const closing = new AbortController();
  const repository = createRepository(options, closing.signal);
  const readNote = createNoteReader(repository, options.now ?? Date.now);
  const exporting = new Set<string>();

  return {
    project,
    notes: repository.notes,
    refs: createRefWriter(previewPrefix, repository),

    async sources(signal) {
      try {
        const { refs, faults } = await repository.readRefs(signal);
        const sources = refs.map(({ ref, commit }) => ({ project, ref, commit }));
        return faults.length === 0 ? completeReading(sources, markSources(sources)) : incompleteReading(sources, ...faults);
      } catch (error) {
        return incompleteReading([], readingFault(error, signal));
      }
    },

    async source(ref, signal) {
      // It was probably created by a forge with pull requests; Git cannot say whether it is still open.
      if (ref.kind === 'pr') return { state: 'unknown', fault: failure('forge.refused', 'plain Git has no pull requests') };
      try {
        const found = await repository.readRef(ref, signal);
        return found === undefined ? { state: 'gone' } : { state: 'present', source: { project, ...found } };
      } catch (error) {
        return { state: 'unknown', fault: readingFault(error, signal) };
      }
    },

    readFile: async (commit, path, limitBytes, signal) =>
      await repository.withCommit(commit, ({ objects }) => readFileAt(objects, commit, path, limitBytes, signal), signal),

    async exportTree(commit, folder, signal) {
      if (exporting.has(folder)) throw new EphError('checkout.failed', `${folder} is being written already.`);
      exporting.add(folder);
      try {
        await repository.withCommit(commit, (source) => exportTree(source, commit, folder, exportLimits, signal), signal);
      } finally {
        exporting.delete(folder);
      }
    },

    committedAt: async (commit, signal) =>
      await repository.withCommit(commit, ({ objects }) => readCommittedAt(objects, commit, signal), signal),

    readNote,

    watch: (wake, signal) => repository.watch(wake, AbortSignal.any([signal, closing.signal])),

    async [Symbol.asyncDispose]() {
      closing.abort(new EphError('forge.unreachable', 'The forge was closed.'));
      await repository[Symbol.asyncDispose]();
    },
  };
};

const createRepository = (options: GitForgeOptions, lifetime: AbortSignal): Repository => {
  const { folder, environment = { PATH: process.env.PATH }, now = Date.now, log = silentLog } = options;
  const { authorization } = options;
  const location = { ...parseLocation(options.location), ...(authorization === undefined ? {} : { authorization }) };
  const git = createGit({ home: join(folder, 'home'), location, environment, lifetime });
  return location.kind === 'path'
    ? createLocalRepository({ git, location, now, log })
    : createRemoteRepository({ git, location, environment, folder, lifetime, now, log });
};
