import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bubblewrap } from './bubblewrap.ts';
import { removeGroup } from './cgroup.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Of nobody. */
const user = 61_234;

/** Where the checkout is for this user: the place it has may be closed to others. */
const place = 'checkout';

export interface UserOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The servers for names that this user has. */
  readonly resolver?: string;
}

/**
 * Runs programs of the checkout as an ordinary user, as people run ephd: with a device for networks that everybody may open, as on most
 * systems, and with a cgroup of its own. The machine is left as it is: what is mounted is mounted for these programs alone.
 */
export class OrdinaryUser implements Disposable {
  readonly home: string;
  readonly checkout: string;
  readonly #groups: readonly string[];
  readonly #options: UserOptions;

  constructor(options: UserOptions = {}) {
    if (process.getuid?.() !== 0) throw new Error('only root can become an ordinary user');
    this.#options = options;
    this.home = mkdtempSync(join(tmpdir(), 'eph-user-'));
    this.checkout = join(this.home, place);
    mkdirSync(this.checkout);
    for (const folder of [this.home, this.checkout]) chownSync(folder, user, user);
    this.#groups = createGroups();
  }

  /** The first word is a program; the others are its arguments. */
  spawn(words: readonly string[], env: Readonly<Record<string, string | undefined>> = {}): ChildProcess {
    const { resolver } = this.#options;
    if (resolver !== undefined) writeFileSync(join(this.home, 'resolv.conf'), `nameserver ${resolver}\n`);
    const steps = [
      'set -e',
      `mount --bind '${root}' '${this.checkout}'`,
      'mount -t tmpfs tmpfs /dev/net && mknod -m 666 /dev/net/tun c 10 200',
      ...(resolver === undefined ? [] : [`mount --bind '${join(this.home, 'resolv.conf')}' /etc/resolv.conf`]),
      ...this.#groups.map((group) => `echo $$ > '${join(group, 'ephd', 'cgroup.procs')}'`),
      `cd '${this.checkout}'`,
      `exec setpriv --reuid ${user} --regid ${user} --clear-groups "$@"`,
    ];
    return spawn('/usr/bin/unshare', ['--mount', 'sh', '-c', steps.join('\n'), 'sh', ...words], {
      env: { PATH: process.env.PATH, HOME: this.home, TMPDIR: this.home, USER: 'nobody', ...this.#options.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  /** The program of Node that runs the tests, as the user finds it. */
  get node(): string {
    return process.execPath.startsWith(root) ? join(this.checkout, process.execPath.slice(root.length)) : process.execPath;
  }

  [Symbol.dispose](): void {
    for (const group of this.#groups) removeGroup(group);
    rmSync(this.home, { recursive: true, force: true });
  }
}

/**
 * Runs a program of the checkout again as an ordinary user, for root has no sandbox. Undefined where this is one, or where there are no
 * sandboxes: then the caller goes on itself.
 */
export const runAsOrdinaryUser = async (program: string, args: readonly string[]): Promise<number | undefined> => {
  if (process.getuid?.() !== 0 || process.platform !== 'linux' || !bubblewrap.find().found) return undefined;
  using user = new OrdinaryUser();
  console.log('as an ordinary user, whose services run in a sandbox');
  const child = user.spawn([user.node, ...process.execArgv, program, ...args]);
  child.stdout?.pipe(process.stdout);
  child.stderr?.pipe(process.stderr);
  const [code] = (await once(child, 'close')) as [number | null];
  return code ?? 1;
};

const needed = ['cpu', 'memory', 'pids'];

/** One in each tree of groups: of the second version there is one tree, of the first there is one for each controller. */
const createGroups = (): readonly string[] => {
  const trees = readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n');
  const first = trees.flatMap((line) => {
    const [, names = '', path = ''] = line.split(':');
    const point = `/sys/fs/cgroup/${names}`;
    return names.split(',').some((name) => needed.includes(name)) && existsSync(point) ? [join(point, path)] : [];
  });
  const second = trees.flatMap((line) => (line.startsWith('0::') ? [join('/sys/fs/cgroup', line.slice(3))] : []));
  const parents = first.length > 0 ? first : second.filter((one) => existsSync(join(one, 'cgroup.controllers')));
  return parents.map((parent) => {
    if (first.length === 0) enableAbove(parent);
    const group = join(parent, `eph-user-${process.pid}-${Date.now()}`);
    for (const folder of [group, join(group, 'ephd')]) {
      mkdirSync(folder);
      chownSync(folder, user, user);
      for (const file of ['cgroup.procs', 'cgroup.subtree_control'])
        if (existsSync(join(folder, file))) chownSync(join(folder, file), user, user);
    }
    return group;
  });
};

const enableAbove = (folder: string): void => {
  if (folder !== '/sys/fs/cgroup') enableAbove(dirname(folder));
  writeFileSync(join(folder, 'cgroup.subtree_control'), needed.map((one) => `+${one}`).join(' '));
};
