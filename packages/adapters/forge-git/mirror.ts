import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type CommitSha, isEphError, type Log } from '@eph/contract';
import type { Git, GitOutput, RunOptions } from './git-command.ts';
import { gitError } from './git-errors.ts';
import { createObjectReader, type ObjectReader } from './object-reader.ts';

export type ObjectFormat = 'sha1' | 'sha256';

/** A bare repository with the newest commits of a remote, without history. If it is damaged, it is deleted and fetched again. */
export interface Mirror extends AsyncDisposable {
  readonly objects: ObjectReader;
  open(): Promise<string>;
  has(commit: string): boolean;
  /** Fetches these commits at once; returns those the remote does not have. */
  fetch(commits: readonly CommitSha[], signal: AbortSignal): Promise<ReadonlySet<string>>;
  /** Runs `git <command> -- <url> <refspecs>`. */
  transfer(command: Transfer, refspecs: readonly string[], signal: AbortSignal): Promise<GitOutput>;
  run(args: readonly string[], options: RunOptions): Promise<GitOutput>;
  /** How often the mirror was rebuilt. */
  generation(): number;
  /** Rebuilds a damaged mirror, unless that happened since this generation was read. */
  discard(generation: number): Promise<void>;
  /** Removes commits that no ref points to, once there are enough of them. */
  prune(current: ReadonlySet<string>, signal: AbortSignal): Promise<void>;
}

export type Transfer = readonly ['fetch' | 'push', ...options: string[]];

export interface MirrorOptions {
  readonly git: Git;
  readonly folder: string;
  readonly url: string;
  readonly shown: string;
  readonly format: () => ObjectFormat;
  readonly log: Log;
  /** How many stale commits, or fetches, trigger pruning. */
  readonly pruneAfter?: number;
}

const fetchLimitMs = 10 * 60_000;
/** Each round removes missing commits from a fetch. With more, the fetch fails. */
const fetchRounds = 20;
/** These refs keep commits from being pruned, and list them after a restart. */
const commitRefs = 'refs/eph/';

export const createMirror = (options: MirrorOptions): Mirror => {
  const { git, url, shown, log, pruneAfter = 256 } = options;
  const folder = join(options.folder, 'mirror.git');
  const known = new Set<string>();
  let opened: { readonly format: ObjectFormat; readonly folder: Promise<string> } | undefined;
  let generation = 0;
  /** A new mirror that cannot be filled is not rebuilt. */
  let hasWorked = false;
  let fetches = 0;
  let chain: Promise<unknown> = Promise.resolve();

  /** Writes to the mirror are serialized; reads are not. */
  const serialize = <T>(work: () => Promise<T>): Promise<T> => {
    const result = chain.then(work);
    chain = result.catch(() => undefined);
    return result;
  };

  const run = async (args: readonly string[], runOptions: RunOptions): Promise<GitOutput> =>
    await git.run([`--git-dir=${await open()}`, ...args], runOptions);

  const open = (): Promise<string> => {
    const format = options.format();
    if (opened?.format === format) return opened.folder;
    if (opened !== undefined) reset();
    const folder = ensureMirror(format).catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    opened = { format, folder };
    return folder;
  };

  const ensureMirror = async (format: ObjectFormat): Promise<string> => {
    const existing = await readExisting(format);
    if (existing !== undefined) {
      for (const commit of existing) known.add(commit);
      hasWorked = true;
      return folder;
    }
    const partial = `${folder}.partial`;
    await Promise.all([rm(folder, { recursive: true, force: true }), rm(partial, { recursive: true, force: true })]);
    await mkdir(options.folder, { recursive: true, mode: 0o700 });
    const args = ['init', '--quiet', '--bare', '--template=', `--object-format=${format}`, '--', partial];
    const output = await git.run(args, { signal: new AbortController().signal });
    if (output.exitCode !== 0) throw gitError(output, partial);
    await rename(partial, folder);
    return folder;
  };

  /** The commits of an existing mirror; `undefined` if there is none that works. */
  const readExisting = async (format: ObjectFormat): Promise<readonly string[] | undefined> => {
    const config = await readFile(join(folder, 'config'), 'utf8').catch(() => undefined);
    if (config === undefined || /objectformat\s*=\s*sha256/i.test(config) !== (format === 'sha256')) return undefined;
    await removeLocks(folder);
    const args = [`--git-dir=${folder}`, 'for-each-ref', '--format=%(refname)', commitRefs];
    const output = await git.run(args, { signal: new AbortController().signal });
    if (output.exitCode !== 0) return undefined;
    const names = output.stdout.toString('latin1').split('\n');
    return names.filter((name) => name !== '').map((name) => name.slice(commitRefs.length));
  };

  const reset = () => {
    known.clear();
    opened = undefined;
    hasWorked = false;
    generation += 1;
    objects.restart();
  };

  const discardNow = async () => {
    log.warn({ project: shown }, 'a mirror is rebuilt');
    await rm(folder, { recursive: true, force: true });
    reset();
  };

  const transfer = async (
    [command, ...rest]: Transfer,
    refspecs: readonly string[],
    signal: AbortSignal,
    input?: string,
  ): Promise<GitOutput> => {
    const server = await git.serverArgs(command === 'fetch' ? 'upload-pack' : 'receive-pack');
    return await run([command, ...server, ...rest, '--', url, ...refspecs], {
      signal,
      network: true,
      timeLimitMs: fetchLimitMs,
      ...(input === undefined ? {} : { input }),
    });
  };

  const tryFetch = async (commits: readonly CommitSha[], signal: AbortSignal): Promise<GitOutput> => {
    const refspecs = commits.map((commit) => `+${commit}:${commitRefs}${commit}\n`).join('');
    const output = await transfer([...fetchCommand, '--depth=1', '--stdin'], [], signal, refspecs);
    // Dumb HTTP servers do not support shallow fetches.
    if (!/does not support shallow/.test(output.stderr)) return output;
    return await transfer([...fetchCommand, '--stdin'], [], signal, refspecs);
  };

  const fetchNow = async (commits: readonly CommitSha[], signal: AbortSignal): Promise<ReadonlySet<string>> => {
    const missing = new Set<string>();
    let wanted = commits;
    for (let round = 1; wanted.length > 0; round += 1) {
      const output = await tryFetch(wanted, signal);
      if (output.exitCode === 0) break;
      // Git names the first missing commit; the others are fetched again without it.
      const refused = wanted.filter((commit) => isMissing(output.stderr, commit));
      if (refused.length === 0 || round === fetchRounds) throw gitError(output, shown);
      for (const commit of refused) missing.add(commit);
      wanted = wanted.filter((commit) => !missing.has(commit));
    }
    for (const commit of wanted) known.add(commit);
    hasWorked ||= wanted.length > 0;
    fetches += 1;
    return missing;
  };

  /** If a fetch fails although the remote is reachable, the mirror may be damaged, for instance by a killed process. */
  const fetchOrRebuild = async (commits: readonly CommitSha[], signal: AbortSignal): Promise<ReadonlySet<string>> => {
    try {
      return await fetchNow(commits, signal);
    } catch (error) {
      signal.throwIfAborted();
      const mayBeDamaged = hasWorked && isEphError(error) && error.code === 'forge.unreachable';
      if (!mayBeDamaged || !(await isReachable(git, url, signal))) throw error;
      await discardNow();
      return await fetchNow(commits, signal);
    }
  };

  const pruneNow = async (current: ReadonlySet<string>, signal: AbortSignal) => {
    const stale = [...known].filter((commit) => !current.has(commit));
    const deletions = stale.map((commit) => `delete ${commitRefs}${commit}\n`).join('');
    for (const commit of stale) known.delete(commit);
    const deleted = await run(['update-ref', '--stdin'], { signal, input: deletions });
    if (deleted.exitCode !== 0) throw gitError(deleted, folder);
    const collected = await run(['gc', '--quiet', '--prune=now'], { signal, timeLimitMs: fetchLimitMs });
    if (collected.exitCode !== 0) throw gitError(collected, folder);
    fetches = 0;
  };

  const objects = createObjectReader({ git, gitFolder: open, shown });

  return {
    objects,
    open,
    run: (args, runOptions) => serialize(() => run(args, runOptions)),
    transfer: (command, refspecs, signal) => serialize(() => transfer(command, refspecs, signal)),
    has: (commit) => known.has(commit),
    async fetch(commits, signal) {
      await open();
      return await serialize(() => fetchOrRebuild(commits, signal));
    },
    generation: () => generation,
    discard: (seen) => serialize(async () => (seen === generation ? await discardNow() : undefined)),
    async prune(current, signal) {
      const stale = [...known].filter((commit) => !current.has(commit)).length;
      if (stale < pruneAfter && fetches < pruneAfter) return;
      await serialize(() => pruneNow(current, signal));
    },
    async [Symbol.asyncDispose]() {
      await objects[Symbol.asyncDispose]();
      await chain;
    },
  };
};

export const fetchCommand = [
  'fetch',
  '--quiet',
  '--force',
  '--no-tags',
  '--no-write-fetch-head',
  '--no-auto-maintenance',
  '--no-recurse-submodules',
] as const;

const isMissing = (stderr: string, commit: string): boolean =>
  stderr.split('\n').some((line) => line.includes(commit) && /not our ref|unadvertised|Unable to find|Cannot obtain/.test(line));

const isReachable = async (git: Git, url: string, signal: AbortSignal): Promise<boolean> => {
  const args = ['ls-remote', ...(await git.serverArgs('upload-pack')), '--heads', '--', url];
  return (await git.run(args, { signal, network: true })).exitCode === 0;
};

/** A killed process leaves its lock files, and Git then refuses to work. The mirror is ours alone, so none is in use. */
const removeLocks = async (folder: string): Promise<void> => {
  for (const inner of ['', commitRefs, 'refs/notes/']) {
    const entries = await readdir(join(folder, inner)).catch(() => []);
    const locks = entries.filter((entry) => entry.endsWith('.lock'));
    await Promise.all(locks.map((entry) => rm(join(folder, inner, entry), { force: true })));
  }
};
