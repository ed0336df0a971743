import { existsSync, lstatSync, mkdirSync, readdirSync, realpathSync, renameSync } from 'node:fs';
import { dirname, isAbsolute, join, normalize, relative, sep } from 'node:path';
import { type CommitSha, EphError } from '@eph/contract';
import { checkoutOfEntry } from './layout.ts';
import type { Scratch } from './scratch.ts';

export type ExportTree = (commit: CommitSha, folder: string, signal: AbortSignal) => Promise<void>;

const noPins: readonly string[] = [];

export class Trees {
  readonly #folder: string;
  readonly #scratch: Scratch;
  readonly #exportTree: ExportTree;
  /** The names of those in use. */
  readonly #used: () => Iterable<string>;
  /** The checkouts being created. Usually absent, to save memory: there may be thousands of environments. */
  #making: Map<string, Promise<void>> | undefined;
  #pins: readonly string[] = noPins;

  constructor(folder: string, scratch: Scratch, exportTree: ExportTree, used: () => Iterable<string>) {
    this.#folder = folder;
    this.#scratch = scratch;
    this.#exportTree = exportTree;
    this.#used = used;
  }

  /** Protects a checkout from removal until the returned value is disposed. */
  pin(checkout: string): Disposable {
    this.#pins = [...this.#pins, checkout];
    return {
      [Symbol.dispose]: () => {
        this.#pins = this.#pins.toSpliced(this.#pins.indexOf(checkout), 1);
      },
    };
  }

  /** Returns the folder of the checkout. Of components that start together, the first creates it and the others wait. */
  async ensure(checkout: string, commit: CommitSha, signal: AbortSignal): Promise<string> {
    const folder = join(this.#folder, checkout);
    if (existsSync(folder)) return folder;
    this.#making ??= new Map();
    // Each waits for the previous one and then checks itself: that one may have failed or been aborted.
    const before = this.#making.get(checkout) ?? Promise.resolve();
    const turn = before.catch(() => undefined).then(() => this.#make(commit, folder, signal));
    this.#making.set(checkout, turn);
    try {
      await turn;
    } finally {
      if (this.#making?.get(checkout) === turn) this.#making.delete(checkout);
      if (this.#making?.size === 0) this.#making = undefined;
    }
    return folder;
  }

  async #make(commit: CommitSha, folder: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (existsSync(folder)) return;
    const draft = this.#scratch.newPath();
    try {
      await this.#exportTree(commit, draft, signal);
      mkdirSync(dirname(folder), { recursive: true, mode: 0o700 });
      renameSync(draft, folder);
    } catch (error) {
      // A failed removal is retried later; the error of the checkout matters more.
      await this.#scratch.remove(draft).catch(() => undefined);
      throw error;
    }
  }

  has(checkout: string): boolean {
    return existsSync(join(this.#folder, checkout));
  }

  async discard(checkout: string): Promise<void> {
    await this.#scratch.discard(join(this.#folder, checkout));
  }

  async collect(): Promise<void> {
    if (!existsSync(this.#folder)) return;
    const needed = new Set<string>([...this.#used(), ...this.#pins]);
    const unused = readdirSync(this.#folder).filter((name) => !needed.has(checkoutOfEntry(name)));
    await Promise.all(unused.map((name) => this.#scratch.discard(join(this.#folder, name))));
  }
}

/** Checks what needs no disk access. */
export const checkDirectory = (directory: string): void => {
  if (isAbsolute(directory) || normalize(directory).split(sep).includes('..')) throw refuse(directory, 'leaves the repository');
};

export interface Checkout {
  readonly tree: string;
  /** Where in it a service runs. */
  readonly directory: string;
}

/** Resolves links, which may lead out of the checkout. */
export const resolveDirectory = (tree: string, directory: string): Checkout => {
  checkDirectory(directory);
  const root = realpathSync(tree);
  let folder: string;
  try {
    folder = realpathSync(join(root, directory));
  } catch {
    throw refuse(directory, 'does not exist in the repository');
  }
  if (folder !== root && !folder.startsWith(root + sep)) throw refuse(directory, 'leads out of the repository through a link');
  if (!lstatSync(folder).isDirectory()) throw refuse(directory, 'is not a directory');
  return { tree: root, directory: relative(root, folder) };
};

const refuse = (directory: string, why: string): EphError =>
  new EphError('component.refused', `directory ${JSON.stringify(directory)} ${why}. Name a directory inside the repository.`);
