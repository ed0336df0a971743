import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { removeGroup } from './cgroup.ts';
import { type CommandSpec, type PartProcess, startPartProcess } from './part-process.ts';
import { locateIp } from './passt.ts';

const execute = promisify(execFile);

const namespaces = ['--net', '--mount', '--pid', '--uts', '--ipc'];
const groups = '/sys/fs/cgroup';
/** Of the names of network devices and of control groups. */
const prefix = 'eph-node-';
const pidFile = 'first-process.pid';
const networkTries = 5;
const askEveryMs = 20;

/** Folders in which the programs of a node write, wherever else they are told to. */
const ownFolders = ['/run', '/var/log', '/var/lib/cni', '/var/lib/kubelet'];

/** Waits for children that nobody else waits for. Until it mounts another, `/proc` tells it its number on this machine. */
const firstProcess = `set -e
read -r pid rest < /proc/self/stat
mount -t proc proc /proc
for folder in ${ownFolders.join(' ')}; do mount -t tmpfs tmpfs "$folder"; done
echo 1 > /proc/sys/net/ipv4/ip_forward
echo "$pid" > ${pidFile}
echo ready
while :; do sleep 1000 & wait; done`;

/**
 * A machine within this one, for programs that take a whole machine: it has processes, mounts and a network of its own, and a cable to
 * this one. All of it ends with its first process, which the kernel ends if this process is killed.
 */
export class NodeMachine {
  /** Of this machine, on the cable. */
  readonly hostAddress: string;
  /** Of the machine within, on the cable. */
  readonly address: string;
  /** The name of its control group. */
  readonly group: string;
  readonly #folder: string;
  readonly #first: PartProcess;
  readonly #pid: number;
  readonly #made: readonly string[];

  private constructor(folder: string, first: PartProcess, pid: number, cable: Cable, made: readonly string[]) {
    this.hostAddress = cable.here;
    this.address = cable.within;
    this.group = cable.name;
    this.#folder = folder;
    this.#first = first;
    this.#pid = pid;
    this.#made = made;
  }

  static async start(folder: string): Promise<NodeMachine> {
    removeLeftovers();
    const made = ownFolders.filter((one) => mkdirSync(one, { recursive: true }) !== undefined);
    const first = await startPartProcess({
      command: '/usr/bin/unshare',
      args: [...namespaces, '--fork', '--kill-child', '/bin/sh', '-c', firstProcess],
      folder,
      asOurselves: true,
      ready: /^ready$/,
      stopSignal: 'SIGKILL',
    });
    try {
      const pid = Number(await readFile(join(folder, pidFile), 'utf8'));
      const machine = new NodeMachine(folder, first, pid, await connect(pid), made);
      for (const tree of groupTrees()) mkdirSync(join(tree, machine.group));
      return machine;
    } catch (error) {
      await first.stop();
      throw error;
    }
  }

  /** The command that runs another within. */
  within(command: string, args: readonly string[]): Omit<CommandSpec, 'env'> {
    // Who is asked to end is `nsenter`, so what it started ends with it.
    const bound = ['/usr/bin/setpriv', '--pdeathsig', 'KILL', command, ...args];
    return {
      command: '/usr/bin/nsenter',
      args: ['--target', String(this.#pid), ...namespaces, `--wdns=${this.#folder}`, ...bound],
      folder: this.#folder,
      asOurselves: true,
    };
  }

  async stop(): Promise<void> {
    await this.#first.stop();
    // What is waited for until here is the parent of the first process, whose end comes after that of all others.
    while (isAlive(this.#pid)) await delay(askEveryMs);
    for (const tree of groupTrees()) removeGroup(join(tree, this.group));
    for (const folder of this.#made) if (readdirSync(folder).length === 0) rmdirSync(folder);
  }
}

/** Nobody may ever ask how it ended; then it stays as what Linux calls a zombie. */
const isAlive = (pid: number): boolean => {
  try {
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false; // It is gone.
  }
};

/** Control groups are all that outlives a machine whose owner was killed. */
const removeLeftovers = (): void => {
  for (const tree of groupTrees())
    for (const name of readdirSync(tree))
      if (name.startsWith(prefix) && !existsSync(join('/sys/class/net', name))) removeGroup(join(tree, name));
};

interface Cable {
  /** Of the device on this machine. */
  readonly name: string;
  readonly here: string;
  readonly within: string;
}

/** With a network of four addresses, that no other has. */
const connect = async (pid: number): Promise<Cable> => {
  for (let attempt = 1; ; attempt += 1) {
    const number = randomInt(2 ** 14);
    const address = (index: number): string => `10.198.${number >> 6}.${(number % 64) * 4 + index}`;
    const cable = { name: `${prefix}${number}`, here: address(1), within: address(2) };
    try {
      await ip('link', 'add', cable.name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(pid));
    } catch (error) {
      if (attempt === networkTries) throw error;
      continue;
    }
    await ip('address', 'add', `${cable.here}/30`, 'dev', cable.name);
    await ip('link', 'set', cable.name, 'up');
    const within = (...args: readonly string[]): Promise<void> =>
      run('/usr/bin/nsenter', ['--target', String(pid), '--net', locateIp(), ...args]);
    await within('link', 'set', 'lo', 'up');
    await within('address', 'add', `${cable.within}/30`, 'dev', 'eth0');
    await within('link', 'set', 'eth0', 'up');
    await within('route', 'add', 'default', 'via', cable.here);
    return cable;
  }
};

const run = async (command: string, args: readonly string[]): Promise<void> => void (await execute(command, args));

const ip = (...args: readonly string[]): Promise<void> => run(locateIp(), args);

/** Of the second version of control groups there is one tree, of the first there is one for each controller. */
export const groupTrees = (): readonly string[] =>
  existsSync(join(groups, 'cgroup.controllers'))
    ? [groups]
    : readdirSync(groups, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [join(groups, entry.name)] : []));
