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

interface Watched {
  readonly path: string;
  /** Differs if another folder was put in the same place. */
  readonly inode: string;
  /** Differs if an entry was added, removed or replaced; Git changes a ref by renaming a file over it. */
  readonly mark: string;
  readonly isRelevant: (entry: string) => boolean;
}

/** A push changes several files; one check is enough. */
const settleMs = 2;
/** Finds what causes no event: the repository was deleted, recreated or moved here. */
const slowPollMs = 3_000;
const fastPollMs = 100;
/** By what the last check found. A folder may have been added to a new one before that was watched. */
const pauses = { added: 0, same: slowPollMs, unwatched: fastPollMs };

/**
 * Calls `wake` when a branch or tag of a local repository may have changed. File system events trigger a check; a slow
 * poll covers missed events. Not a recursive watch: on Linux, Node would watch every file, and refs are files.
 */
export const watchRefs = ({ readLayout, wake, signal, log }: RefWatchOptions): void => {
  const watchers = new Map<string, { readonly watcher: FSWatcher; readonly inode: string }>();
  let known: string | undefined;
  let checking = false;
  let again = false;
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
    const woken = again;
    again = false;
    const found = await readWatched(readLayout);
    const updated = updateWatchers(found);
    const mark = found.map((watched) => `${watched.path}\0${watched.mark}`).join('\n');
    const changed = woken || mark !== known;
    known = mark;
    checking = false;
    if (signal.aborted) return;
    // After the folders are watched: what changed before that is read now, and what changes later causes an event.
    if (changed) wake();
    schedule(again ? settleMs : pauses[updated]);
  };

  const updateWatchers = (found: readonly Watched[]): keyof typeof pauses => {
    if (found.length === 0 || signal.aborted) return 'unwatched';
    const current = new Map(found.map((watched) => [watched.path, watched.inode]));
    for (const [path, { watcher, inode }] of watchers) {
      if (current.get(path) === inode) continue;
      watcher.close();
      watchers.delete(path);
    }
    try {
      const added = found.filter((watched) => !watchers.has(watched.path));
      for (const watched of added) addWatcher(watched);
      degraded = false;
      return added.length > 0 ? 'added' : 'same';
    } catch (error) {
      if (!degraded)
        log.warn(
          { reason: error instanceof Error ? error.message : String(error) },
          'refs cannot be watched and are polled instead',
        );
      degraded = true;
      return 'unwatched';
    }
  };

  const addWatcher = ({ path, inode, isRelevant }: Watched) => {
    const watcher = watch(path, { persistent: false }, (_event, entry) => {
      if (entry === null || entry === basename(path) || isRelevant(entry)) onEvent();
    });
    watcher.on('error', () => {
      // The folder is probably gone; the next check updates the watchers.
      watcher.close();
      watchers.delete(path);
      onEvent();
    });
    watchers.set(path, { watcher, inode });
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

/** Empty without a repository: the reading reports that. */
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
    // Unreadable now; the poll checks again.
    return [];
  }
};

/** A ref cannot end in `.lock`; such a file precedes a change. */
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

/** `marked` is the only entry to compare, for a folder with unrelated changes. */
const readFolder = async (path: string, isRelevant: Watched['isRelevant'], marked?: string): Promise<readonly Watched[]> => {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (found === undefined || !found.isDirectory()) return [];
  const subject = marked === undefined ? found : await stat(join(path, marked), { bigint: true }).catch(() => undefined);
  const inode = `${found.dev}:${found.ino}:${found.birthtimeNs}`;
  return [{ path, inode, mark: `${inode}:${subject?.ino ?? ''}:${subject?.mtimeNs ?? ''}`, isRelevant }];
};
