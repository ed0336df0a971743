import { type FSWatcher, watch } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Log } from '@eph/contract';
import type { Layout } from './repository-layout.ts';

export interface RefWatchOptions {
  readonly readLayout: () => Promise<Layout>;
  readonly wake: () => void;
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** Something whose change may mean a changed ref. */
interface Watched {
  readonly path: string;
  /** Differs when another folder was put in the same place. */
  readonly inode: string;
  /** Differs when an entry was added, removed or replaced; Git changes a ref by renaming a file over it. */
  readonly mark: string;
  /** Whether a change of this entry of the folder is of interest. */
  readonly isRelevant: (entry: string) => boolean;
}

/** A push touches several files; looking once is enough. */
const settleMs = 2;
/** A change that came before its folder was watched is looked for a moment later, when whoever is woken now has begun its work. */
const recheckMs = 70;
/** Finds what no event tells: the repository was deleted, made again, or moved here. */
const slowPollMs = 1_000;
/** When there are no events at all. */
const fastPollMs = 100;

/**
 * Calls `wake` when a branch or tag of a repository on this machine may have changed. Events of the file system only say when to
 * look; a slow poll looks anyway. The recursive watch of Node is not used: on Linux it watches every single file, and refs are files.
 */
export const watchRefs = ({ readLayout, wake, signal, log }: RefWatchOptions): void => {
  const watchers = new Map<string, { readonly watcher: FSWatcher; readonly inode: string }>();
  let known: string | undefined;
  let checking = false;
  let again = false;
  let recheck = false;
  let timer: NodeJS.Timeout | undefined;
  let degraded = false;

  const schedule = (ms: number) => {
    clearTimeout(timer);
    if (!signal.aborted) timer = setTimeout(() => void check(), ms).unref();
  };

  const onEvent = () => {
    if (checking) again = true;
    else if (!again) {
      again = true;
      schedule(settleMs);
    }
  };

  const check = async () => {
    if (checking || signal.aborted) return;
    checking = true;
    const woken = again || recheck;
    again = false;
    recheck = false;
    // At once: whoever is woken reads the refs by itself and need not wait until the watchers are in place.
    if (woken) wake();
    const found = await readWatched(readLayout);
    const healthy = found.length > 0 && !signal.aborted && updateWatchers(found);
    const mark = found.map((watched) => `${watched.path}\0${watched.mark}`).join('\n');
    const changed = !woken && mark !== known;
    known = mark;
    checking = false;
    if (signal.aborted) return;
    if (changed) wake();
    schedule(again ? settleMs : recheck ? recheckMs : healthy ? slowPollMs : fastPollMs);
  };

  /** Makes the set of watchers equal what was found. A new watcher means that something may have happened before it was there. */
  const updateWatchers = (found: readonly Watched[]): boolean => {
    const current = new Map(found.map((watched) => [watched.path, watched.inode]));
    for (const [path, { watcher, inode }] of watchers) {
      if (current.get(path) === inode) continue;
      watcher.close();
      watchers.delete(path);
    }
    try {
      for (const watched of found) if (!watchers.has(watched.path)) addWatcher(watched);
      degraded = false;
      return true;
    } catch (error) {
      if (!degraded)
        log.warn(
          { reason: error instanceof Error ? error.message : String(error) },
          'refs are polled because they cannot be watched',
        );
      degraded = true;
      return false;
    }
  };

  const addWatcher = ({ path, inode, isRelevant }: Watched) => {
    const watcher = watch(path, { persistent: false }, (_event, entry) => {
      if (entry === null || entry === basename(path) || isRelevant(entry)) onEvent();
    });
    watcher.on('error', () => {
      // The folder is gone, most likely; the next look finds out and the set of watchers follows.
      watcher.close();
      watchers.delete(path);
      onEvent();
    });
    watchers.set(path, { watcher, inode });
    if (known !== undefined) recheck = true;
  };

  signal.addEventListener(
    'abort',
    () => {
      clearTimeout(timer);
      for (const { watcher } of watchers.values()) watcher.close();
      watchers.clear();
    },
    { once: true },
  );
  void check();
};

/** Nothing while there is no repository: that is for the reading to report. */
const readWatched = async (readLayout: () => Promise<Layout>): Promise<readonly Watched[]> => {
  try {
    const { commonFolder } = await readLayout();
    const refs = join(commonFolder, 'refs');
    return [
      ...(await readFolder(
        commonFolder,
        (entry) => entry === 'packed-refs' || entry === 'refs' || entry === 'reftable',
        'packed-refs',
      )),
      ...(await readFolder(refs, (entry) => entry === 'heads' || entry === 'tags')),
      ...(await readRefFolders(join(refs, 'heads'))),
      ...(await readRefFolders(join(refs, 'tags'))),
      ...(await readFolder(join(commonFolder, 'reftable'), isNoLock)),
    ];
  } catch {
    // Unreadable now; the poll looks again.
    return [];
  }
};

/** A ref cannot end in `.lock`; such a file announces a change that has not happened yet. */
const isNoLock = (entry: string): boolean => !entry.endsWith('.lock');

const readRefFolders = async (folder: string): Promise<readonly Watched[]> => {
  const own = await readFolder(folder, isNoLock);
  if (own.length === 0) return [];
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const inner = await Promise.all(
    entries.filter((entry) => entry.isDirectory()).map((entry) => readRefFolders(join(folder, entry.name))),
  );
  return [...own, ...inner.flat()];
};

/** `marked` names the only entry whose state counts, for a folder in which much else happens. */
const readFolder = async (path: string, isRelevant: Watched['isRelevant'], marked?: string): Promise<readonly Watched[]> => {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (found === undefined || !found.isDirectory()) return [];
  const subject = marked === undefined ? found : await stat(join(path, marked), { bigint: true }).catch(() => undefined);
  const inode = `${found.dev}:${found.ino}:${found.birthtimeNs}`;
  return [{ path, inode, mark: `${inode}:${subject?.ino ?? ''}:${subject?.mtimeNs ?? ''}`, isRelevant }];
};
