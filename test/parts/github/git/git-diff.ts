import type { GitNetwork } from './git-network.ts';

export interface FileChange {
  readonly path: string;
  readonly previousPath: string | undefined;
  readonly status: 'added' | 'removed' | 'modified' | 'renamed' | 'changed';
  /** Of the blob afterwards, or of the one that was removed. */
  readonly sha: string;
  readonly additions: number;
  readonly deletions: number;
  /** `undefined` for binary files and changes of nothing but the mode. */
  readonly patch: string | undefined;
}

const emptyTree = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';
const known = new WeakMap<GitNetwork, Map<string, readonly FileChange[]>>();
const statuses: Readonly<Record<string, FileChange['status']>> = {
  A: 'added',
  D: 'removed',
  M: 'modified',
  R: 'renamed',
  T: 'changed',
};

/** What changed from one commit to another; from nothing if there is no first commit. */
export const readChanges = async (network: GitNetwork, from: string | undefined, to: string): Promise<readonly FileChange[]> => {
  const cache = known.get(network) ?? new Map<string, readonly FileChange[]>();
  known.set(network, cache);
  const key = `${from ?? ''}..${to}`;
  const cached = cache.get(key);
  if (cached !== undefined) return cached;
  const range = ['--no-abbrev', '-M', from ?? emptyTree, to];
  const [raw, patch] = await Promise.all([network.run('diff', '--raw', '-z', ...range), network.run('diff', '-p', ...range)]);
  const changes = combine(parseRaw(raw.toString()), splitPatch(patch.toString()));
  cache.set(key, changes);
  return changes;
};

type RawChange = Pick<FileChange, 'path' | 'previousPath' | 'status' | 'sha'>;

const parseRaw = (text: string): readonly RawChange[] => {
  const fields = text.split('\0');
  const changes: RawChange[] = [];
  for (let header = fields.shift(); header !== undefined && header !== ''; header = fields.shift()) {
    const [, , before = '', after = '', letter = ''] = header.split(' ');
    const status = statuses[letter.slice(0, 1)] ?? 'changed';
    const first = fields.shift() ?? '';
    const second = status === 'renamed' ? fields.shift() : undefined;
    const sha = status === 'removed' ? before : after;
    changes.push({ path: second ?? first, previousPath: second === undefined ? undefined : first, status, sha });
  }
  return changes;
};

/** One text per file, in the order of the raw list. A line of a file never begins with `diff`: it is behind a sign. */
const splitPatch = (text: string): readonly string[] => text.split(/^diff --git .*\n/m).slice(1);

const combine = (raw: readonly RawChange[], patches: readonly string[]): readonly FileChange[] =>
  raw.map((change, index) => {
    const text = patches[index] ?? '';
    const start = text.search(/^@@ /m);
    const patch = start === -1 ? undefined : text.slice(start).replace(/\n$/, '');
    const lines = patch?.split('\n') ?? [];
    return {
      ...change,
      additions: lines.filter((line) => line.startsWith('+')).length,
      deletions: lines.filter((line) => line.startsWith('-')).length,
      patch,
    };
  });
