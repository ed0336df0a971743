import {
  type FileContent,
  type FileEntry,
  type GitObject,
  makeCommit,
  makeTag,
  makeTrees,
  type Signature,
  type Snapshot,
  writeFiles,
} from './git-objects.ts';
import type { GitStore, StoredObject } from './git-store.ts';

/** A commit as the emulator created it. Answers are read from Git; this is kept to build further commits. */
export interface Commit {
  readonly sha: string;
  readonly tree: string;
  readonly parents: readonly string[];
  readonly author: Signature;
  readonly message: string;
  readonly snapshot: Snapshot;
}

const treesOf = new WeakMap<Snapshot, readonly [...GitObject[], GitObject]>();
const noFiles: Snapshot = new Map();

/**
 * A repository and its forks, which share their objects as on GitHub: a commit of a fork can be read through its parent. Objects
 * stay in memory until somebody reads one.
 */
export class GitNetwork {
  readonly commits = new Map<string, Commit>();
  readonly #store: GitStore;
  readonly #objects = new Set<string>();
  readonly #tags = new Map<string, string>();
  readonly #unwritten = new Map<string, GitObject>();

  constructor(store: GitStore) {
    this.#store = store;
  }

  has(sha: string): boolean {
    return this.#objects.has(sha);
  }

  /** A commit that writes files over its first parent. */
  commit(spec: {
    readonly parents: readonly string[];
    readonly files: Readonly<Record<string, FileContent>>;
    readonly author: Signature;
    readonly message: string;
  }): Commit {
    const { snapshot, blobs } = this.#overlay(spec.parents[0], spec.files);
    this.#keep(blobs);
    return this.#add({ ...spec, snapshot });
  }

  tag(spec: { readonly name: string; readonly commit: string; readonly tagger: Signature; readonly message: string }): string {
    const tag = makeTag(spec);
    this.#keep([tag]);
    this.#tags.set(tag.sha, spec.commit);
    return tag.sha;
  }

  /** The commit that a tag object names. */
  tagged(sha: string): string | undefined {
    return this.#tags.get(sha);
  }

  /** A merge in which the second commit wins wherever both changed a file. */
  merge(spec: { readonly into: string; readonly from: string; readonly author: Signature; readonly message: string }): Commit {
    const base = this.mergeBase(spec.into, spec.from);
    const before = base === undefined ? noFiles : this.find(base).snapshot;
    const snapshot = new Map(this.find(spec.into).snapshot);
    const theirs = this.find(spec.from).snapshot;
    for (const path of new Set([...before.keys(), ...theirs.keys()])) {
      const theirEntry = theirs.get(path);
      if (sameEntry(theirEntry, before.get(path))) continue;
      if (theirEntry === undefined) snapshot.delete(path);
      else snapshot.set(path, theirEntry);
    }
    return this.#add({ parents: [spec.into, spec.from], author: spec.author, message: spec.message, snapshot });
  }

  find(sha: string): Commit {
    const commit = this.commits.get(sha);
    if (commit === undefined) throw new Error(`There is no commit ${sha} in this repository.`);
    return commit;
  }

  /** From a commit back to the first one, each commit once, children before parents. */
  *history(sha: string): Generator<Commit> {
    const seen = new Set<string>([sha]);
    const queue = [sha];
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const commit = this.find(next);
      yield commit;
      for (const parent of commit.parents) {
        if (seen.has(parent)) continue;
        seen.add(parent);
        queue.push(parent);
      }
    }
  }

  mergeBase(a: string, b: string): string | undefined {
    const ofA = new Set([...this.history(a)].map(({ sha }) => sha));
    for (const { sha } of this.history(b)) if (ofA.has(sha)) return sha;
    return undefined;
  }

  /** The commits of `to` that `from` lacks, newest first. */
  between(from: string, to: string): readonly Commit[] {
    const known = new Set([...this.history(from)].map(({ sha }) => sha));
    return [...this.history(to)].filter(({ sha }) => !known.has(sha));
  }

  isAncestor(ancestor: string, of: string): boolean {
    for (const { sha } of this.history(of)) if (sha === ancestor) return true;
    return false;
  }

  /** As Git has it; `undefined` for objects of other networks too, though all share one database. */
  async read(sha: string): Promise<StoredObject | undefined> {
    if (!this.has(sha)) return undefined;
    this.#write([sha]);
    return this.#store.read(sha);
  }

  async run(...args: readonly string[]): Promise<Buffer> {
    this.#write([...this.#unwritten.keys()]);
    return this.#store.run(args);
  }

  /** A bare repository on disk as it is now. */
  writeRepository(name: string, head: string, refs: ReadonlyMap<string, string>): string {
    this.#write([...this.#unwritten.keys()]);
    return this.#store.writeRepository(name, head, refs);
  }

  #overlay(parent: string | undefined, files: Readonly<Record<string, FileContent>>): ReturnType<typeof writeFiles> {
    const before = parent === undefined ? noFiles : this.find(parent).snapshot;
    // The same map again, so that its trees are not made twice.
    return Object.keys(files).length === 0 ? { snapshot: before, blobs: [] } : writeFiles(before, files);
  }

  #add(spec: {
    readonly parents: readonly string[];
    readonly author: Signature;
    readonly message: string;
    readonly snapshot: Snapshot;
  }): Commit {
    const trees = treesOf.get(spec.snapshot) ?? makeTrees(spec.snapshot);
    treesOf.set(spec.snapshot, trees);
    const tree = trees.at(-1)?.sha ?? '';
    const made = makeCommit({ ...spec, tree });
    this.#keep([...trees, made]);
    const commit = { sha: made.sha, tree, ...spec };
    this.commits.set(commit.sha, commit);
    return commit;
  }

  #keep(objects: readonly GitObject[]): void {
    for (const object of objects) {
      if (this.#objects.has(object.sha)) continue;
      this.#objects.add(object.sha);
      this.#unwritten.set(object.sha, object);
    }
  }

  /** Writes only what is about to be read: with thousands of repositories most commits never are. */
  #write(shas: Iterable<string>): void {
    for (const sha of shas) {
      const object = this.#unwritten.get(sha);
      if (object !== undefined) this.#store.write(object);
      this.#unwritten.delete(sha);
    }
  }
}

const sameEntry = (a: FileEntry | undefined, b: FileEntry | undefined): boolean => a?.sha === b?.sha && a?.mode === b?.mode;
