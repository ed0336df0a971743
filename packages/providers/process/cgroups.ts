import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isAbsent, sentence } from './faults.ts';

/** The most that a group of processes may use together. */
export interface Budget {
  /** Cores. */
  readonly cpu?: number | undefined;
  readonly memoryBytes?: number | undefined;
  readonly processes?: number | undefined;
}

/** Which component of which environment. */
export interface Place {
  readonly environment: string;
  readonly component: string;
}

/** Limits what environments use, as far as the operator lets ephd do so. */
export interface Cgroups {
  /** Why it does not, and what to do about it. */
  readonly lacks: string | undefined;
  /**
   * Makes the group of a component. A process that writes `0` to each of these files enters it, with all that it will start.
   *
   * The process does this itself, as long as it has a single thread: the kernel then need not stop all others from forking. To
   * move another process takes 5 to 15 ms in the first version, in which nothing on the machine can start a process.
   */
  open(place: Place, budgets: { readonly environment: Budget; readonly component: Budget }): readonly string[];
  /** From now on nothing in the group of a place can start a process. It is removed as soon as nothing runs in it. */
  close(place: Place): void;
  /** How many processes of a component the kernel has ended because the memory was used up. */
  countMemoryKills(place: Place): number;
  /** Removes the groups in which nothing runs, except those of these environments. */
  collect(used: ReadonlySet<string>): void;
}

const controllers = ['cpu', 'memory', 'pids'] as const;
type Controller = (typeof controllers)[number];

/** One tree of groups. The second version has one for all controllers, the first one for each. */
interface Tree {
  readonly version: 1 | 2;
  readonly controllers: readonly Controller[];
  readonly root: string;
}

const advice = 'run ephd in a cgroup `ephd` inside one that belongs to it, such as with Delegate=yes and DelegateSubgroup=ephd';

export const findCgroups = (folder: string): Cgroups => {
  if (process.platform !== 'linux') return withoutCgroups(`${process.platform} has no cgroups`);
  try {
    const name = `eph-${createHash('sha256').update(folder).digest('hex').slice(0, 8)}`;
    const trees = findTrees(name);
    const missing = controllers.filter((one) => !trees.some((tree) => tree.controllers.includes(one)));
    if (missing.length > 0) return withoutCgroups(`the limits of ${missing.join(', ')} are not delegated to ephd; ${advice}`);
    for (const tree of trees) prepare(tree);
    return createCgroups(trees);
  } catch (error) {
    return withoutCgroups(`${sentence(error)}; ${advice}`);
  }
};

const withoutCgroups = (lacks: string): Cgroups => ({
  lacks,
  open: () => [],
  close: () => undefined,
  countMemoryKills: () => 0,
  collect: () => undefined,
});

const createCgroups = (trees: readonly Tree[]): Cgroups => ({
  lacks: undefined,
  open({ environment, component }, budgets) {
    return trees.map((tree) => {
      const outer = join(tree.root, environment);
      const inner = join(outer, component);
      mkdirSync(inner, { recursive: true });
      limit(tree, outer, budgets.environment);
      if (tree.version === 2) writeFileSync(join(outer, 'cgroup.subtree_control'), enableAll);
      limit(tree, inner, budgets.component);
      return join(inner, tree.version === 2 ? 'cgroup.procs' : 'tasks');
    });
  },
  close({ environment, component }) {
    for (const tree of trees) {
      const folder = join(tree.root, environment, component);
      if (tree.controllers.includes('pids') && existsSync(folder)) writeFileSync(join(folder, 'pids.max'), '0');
      removeEmpty(folder);
    }
  },
  countMemoryKills({ environment, component }) {
    const tree = trees.find((one) => one.controllers.includes('memory'));
    if (tree === undefined) return 0;
    const file = tree.version === 2 ? 'memory.events' : 'memory.oom_control';
    try {
      const text = readFileSync(join(tree.root, environment, component, file), 'utf8');
      return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
    } catch {
      return 0;
    }
  },
  collect(used) {
    for (const { root } of trees)
      for (const environment of listFolders(root).filter((one) => !used.has(one))) {
        for (const component of listFolders(join(root, environment))) removeEmpty(join(root, environment, component));
        removeEmpty(join(root, environment));
      }
  },
});

const enableAll = controllers.map((one) => `+${one}`).join(' ');

const findTrees = (name: string): readonly Tree[] => {
  const lines = (path: string): readonly string[] => readFileSync(path, 'utf8').trim().split('\n');
  const mounts = lines('/proc/self/mountinfo').flatMap((line): readonly Mount[] => {
    const [fields = '', rest = ''] = line.split(' - ');
    const [, , , root = '', point = ''] = fields.split(' ');
    const [type = '', , options = ''] = rest.split(' ');
    return type.startsWith('cgroup') ? [{ root, point, isSecond: type === 'cgroup2', options: options.split(',') }] : [];
  });
  return lines('/proc/self/cgroup').flatMap((line): readonly Tree[] => {
    const [, list = '', path = ''] = line.split(':');
    const names = list.split(',');
    const mount = mounts.find(({ isSecond, options }) => (list === '' ? isSecond : names.every((one) => options.includes(one))));
    if (mount === undefined) return [];
    const own = join(mount.point, mount.root === '/' ? path : path.slice(mount.root.length));
    const outer = dirname(own);
    if (basename(own) !== 'ephd' || !isWritable(outer)) return [];
    const available = mount.isSecond ? readFileSync(join(outer, 'cgroup.controllers'), 'utf8').trim().split(' ') : names;
    const usable = controllers.filter((one) => available.includes(one));
    return usable.length === 0 ? [] : [{ version: mount.isSecond ? 2 : 1, controllers: usable, root: join(outer, name) }];
  });
};

interface Mount {
  readonly root: string;
  readonly point: string;
  readonly isSecond: boolean;
  readonly options: readonly string[];
}

const prepare = ({ version, root }: Tree): void => {
  mkdirSync(root, { recursive: true });
  if (version === 2) for (const folder of [dirname(root), root]) writeFileSync(join(folder, 'cgroup.subtree_control'), enableAll);
};

const isWritable = (folder: string): boolean => {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
};

const periodMicroseconds = 100_000;

const limit = ({ version, controllers: usable }: Tree, folder: string, { cpu, memoryBytes, processes }: Budget): void => {
  const quota = cpu && Math.max(1000, Math.round(cpu * periodMicroseconds));
  const files: readonly [Controller, string, string][] =
    version === 2
      ? [
          ['cpu', 'cpu.max', `${quota ?? 'max'} ${periodMicroseconds}`],
          ['memory', 'memory.max', String(memoryBytes ?? 'max')],
          ['pids', 'pids.max', String(processes ?? 'max')],
        ]
      : [
          ['cpu', 'cpu.cfs_quota_us', String(quota ?? -1)],
          ['memory', 'memory.limit_in_bytes', String(memoryBytes ?? -1)],
          ['pids', 'pids.max', String(processes ?? 'max')],
        ];
  for (const [controller, file, text] of files) if (usable.includes(controller)) writeFileSync(join(folder, file), text);
};

const listFolders = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? [one.name] : []));
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
};

/** One in which something still runs is tried again later. */
const removeEmpty = (folder: string): void => {
  try {
    rmdirSync(folder);
  } catch {
    // It is not empty, or gone.
  }
};
