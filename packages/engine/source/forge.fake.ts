import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  type CommitSha,
  commitSha,
  completeReading,
  EphError,
  incompleteReading,
  isNotesName,
  markSources,
  noteLimitBytes,
  type ProjectId,
  type Reading,
  type Source,
  type SourceRef,
  sourceKey,
  toFailure,
} from '@eph/contract';
import type { Forge, SourceAnswer } from './forge.ts';
import { createFakePulls, FakePullRequests } from './pulls.fake.ts';
import type { Pulls } from './pulls.ts';

/** A repository in memory. It outlives the forge that reads it. */
export class FakeRepository {
  readonly project: ProjectId;
  /** Branches, tags and open pull requests. */
  readonly refs = new Map<string, Source>();
  readonly commits = new Map<CommitSha, ReadonlyMap<string, string>>();
  readonly committedAt = new Map<CommitSha, string>();
  /** By name and commit. */
  readonly notes = new Map<string, ReadonlyMap<CommitSha, string>>();
  readonly pullRequests: FakePullRequests;
  readonly now: () => number;
  readonly #forks = new Map<string, CommitSha>();
  #sequence = 0;

  /** Without a clock, every commit takes a second. */
  constructor(project: ProjectId, now?: () => number) {
    this.project = project;
    this.now = now ?? (() => this.#sequence * 1000);
    this.pullRequests = new FakePullRequests(this);
  }

  push(ref: SourceRef, files: { readonly [path: string]: string }): CommitSha {
    const commit = this.#commit(files);
    this.point(ref, commit);
    return commit;
  }

  /** A new commit on a branch of a fork. Only a pull request shows it here. */
  pushToFork(fork: string, branch: string, files: { readonly [path: string]: string }): CommitSha {
    const commit = this.#commit(files);
    this.#forks.set(`${fork}:${branch}`, commit);
    this.pullRequests.branchMoved(branch, fork);
    return commit;
  }

  point(ref: SourceRef, commit: CommitSha): void {
    this.refs.set(sourceKey(ref), { project: this.project, ref, commit });
    if (ref.kind === 'branch') this.pullRequests.branchMoved(ref.name, null);
  }

  delete(ref: SourceRef): void {
    if (ref.kind === 'pr') return this.pullRequests.close(ref);
    this.refs.delete(sourceKey(ref));
    if (ref.kind === 'branch') this.pullRequests.branchMoved(ref.name, null);
  }

  headOf(branch: string, fork: string | null): CommitSha | undefined {
    return fork === null
      ? this.refs.get(sourceKey({ kind: 'branch', name: branch }))?.commit
      : this.#forks.get(`${fork}:${branch}`);
  }

  #commit(files: { readonly [path: string]: string }): CommitSha {
    this.#sequence += 1;
    const commit = commitSha(
      createHash('sha1')
        .update(`${this.#sequence}\0${JSON.stringify(files)}`)
        .digest('hex'),
    );
    this.commits.set(commit, new Map(Object.entries(files)));
    this.committedAt.set(commit, new Date(this.now()).toISOString());
    return commit;
  }
}

type FakeOperation = 'sources' | 'source' | 'readFile' | 'exportTree' | 'committedAt' | 'readNote' | 'pulls';

export interface FakeForgeOptions {
  /** Awaited before every operation; may delay it or throw. */
  readonly disturb?: (operation: FakeOperation) => Promise<void>;
  /** Drops part of a listing. The reading is then incomplete, unless the forge does not admit it. */
  readonly lose?: (sources: readonly Source[]) => { readonly sources: readonly Source[]; readonly admitted: boolean };
}

/** A forge over a repository in memory. */
export class FakeForge implements Forge {
  readonly project: ProjectId;
  readonly pulls: Pulls;
  readonly #repository: FakeRepository;
  readonly #options: FakeForgeOptions;
  readonly #watchers = new Set<() => void>();

  constructor(project: ProjectId, repository: FakeRepository, options: FakeForgeOptions = {}) {
    this.project = project;
    this.#repository = repository;
    this.#options = options;
    this.pulls = createFakePulls(repository.pullRequests, async () => await options.disturb?.('pulls'));
  }

  async sources(): Promise<Reading<Source>> {
    try {
      await this.#options.disturb?.('sources');
      const all = [...this.#repository.refs.values()];
      const { sources, admitted } = this.#options.lose?.(all) ?? { sources: all, admitted: true };
      return sources.length === all.length || !admitted
        ? completeReading(sources, markSources(sources))
        : incompleteReading(sources);
    } catch (error) {
      return incompleteReading([], toFailure(error));
    }
  }

  async source(ref: SourceRef): Promise<SourceAnswer> {
    try {
      await this.#options.disturb?.('source');
    } catch (error) {
      return { state: 'unknown', fault: toFailure(error) };
    }
    const source = this.#repository.refs.get(sourceKey(ref));
    return source === undefined ? { state: 'gone' } : { state: 'present', source };
  }

  async readFile(commit: CommitSha, path: string, limitBytes: number): Promise<Uint8Array | undefined> {
    await this.#options.disturb?.('readFile');
    const content = this.#filesAt(commit).get(path);
    if (content === undefined) return undefined;
    const bytes = new TextEncoder().encode(content);
    if (bytes.byteLength > limitBytes)
      throw new EphError('spec.invalid', `${path} has ${bytes.byteLength} bytes; at most ${limitBytes} are read`);
    return bytes;
  }

  async exportTree(commit: CommitSha, folder: string): Promise<void> {
    await this.#options.disturb?.('exportTree');
    const files = this.#filesAt(commit);
    await mkdir(folder);
    for (const [path, content] of files) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), content);
    }
  }

  async committedAt(commit: CommitSha): Promise<string> {
    await this.#options.disturb?.('committedAt');
    const at = this.#repository.committedAt.get(commit);
    if (at === undefined) throw missing(commit);
    return at;
  }

  async readNote(commit: CommitSha, notes: string): Promise<string | undefined> {
    if (!isNotesName(notes)) throw new EphError('spec.invalid', `${JSON.stringify(notes)} is not a name of notes`);
    await this.#options.disturb?.('readNote');
    const text = this.#repository.notes.get(notes)?.get(commit);
    if (text !== undefined && Buffer.byteLength(text) > noteLimitBytes)
      throw new EphError('spec.invalid', `the note on ${commit} is larger than ${noteLimitBytes} bytes`);
    return text;
  }

  watch(wake: () => void, signal: AbortSignal): void {
    this.#watchers.add(wake);
    signal.addEventListener('abort', () => this.#watchers.delete(wake), { once: true });
  }

  /** As a webhook or a file watch does. */
  nudge(): void {
    for (const wake of this.#watchers) wake();
  }

  #filesAt(commit: CommitSha): ReadonlyMap<string, string> {
    const files = this.#repository.commits.get(commit);
    if (files === undefined) throw missing(commit);
    return files;
  }
}

const missing = (commit: CommitSha): EphError => new EphError('source.commit_missing', `commit ${commit} is not there`);
