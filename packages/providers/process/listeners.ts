import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { SocketStatistics } from './socket-statistics.ts';

/** By port, the inodes of the sockets that listen there, on any address. */
type Table = ReadonlyMap<number, readonly string[]>;

/** Who has the traffic of a port: an instance that is asked about, and what is known of its sockets. */
export interface PortOwner {
  readonly port: number;
  /** The process that holds its sandbox. */
  readonly holder: number;
  readonly hasOwnNetwork: boolean;
  /** Somebody has to listen. What holds a network accepts every connection, so that does not show by itself. */
  readonly mustListen: boolean;
  /** What was found the last time. */
  known: { readonly sockets: string; readonly inside: number | undefined } | undefined;
}

const maxAgeMs = 1_000;

/** The listening sockets of this machine. One snapshot serves all that ask within a second. */
export class Listeners {
  #snapshot: Table = new Map();
  #takenAt = Number.NEGATIVE_INFINITY;
  readonly #statistics = new SocketStatistics();
  #reading: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  /**
   * Why visitors of the port may reach something else than the instance. Services share a port if both ask for it, and a service
   * that restarts leaves its port free for a moment.
   */
  async findFault(owner: PortOwner): Promise<string | undefined> {
    const { port, holder, hasOwnNetwork } = owner;
    const isOld = performance.now() - this.#takenAt > maxAgeMs;
    if (isOld || owner.known?.sockets !== this.#socketsOn(port)) await this.#refresh();
    if (owner.known?.sockets !== this.#socketsOn(port)) {
      const listening = this.#snapshot.get(port) ?? [];
      const own = readDescendants(holder);
      const sockets = own.flatMap(readSockets);
      owner.known = undefined;
      // What holds a network shows its sockets to nobody, but it ends at once if the port is taken, and shares it with nobody.
      const isAlone = hasOwnNetwork ? listening.length <= 1 : listening.every((inode) => sockets.includes(inode));
      if (!isAlone) return `another program listens on port ${port} too`;
      // Under the holder is what holds the network, and under that the first process inside, which lives as long as they.
      owner.known = { sockets: listening.join(), inside: own[2] };
    }
    if (!hasOwnNetwork || !owner.mustListen) return undefined;
    const { inside } = owner.known;
    return inside !== undefined && readTable(inside).has(port) ? undefined : `nothing listens on port ${port} inside`;
  }

  /** Whether one of these processes listens on a port of this machine, and nobody else does. */
  async areAlone(port: number, pids: readonly number[]): Promise<boolean> {
    await this.#refresh();
    const listening = this.#snapshot.get(port) ?? [];
    const sockets = new Set(pids.flatMap(readSockets));
    return listening.length > 0 && listening.every((inode) => sockets.has(inode));
  }

  #socketsOn(port: number): string {
    return this.#snapshot.get(port)?.join() ?? '';
  }

  /** Whoever asks during a reading shares the next one: that under way may miss what it asks about. */
  #refresh(): Promise<void> {
    const begin = (): Promise<void> => {
      this.#next = undefined;
      this.#reading = this.#read();
      return this.#reading;
    };
    this.#next ??= this.#reading.then(begin);
    return this.#next;
  }

  async #read(): Promise<void> {
    const lines = await this.#statistics.read();
    this.#snapshot = lines === undefined ? readTable('self') : parseStatistics(lines);
    this.#takenAt = performance.now();
  }

  close(): void {
    this.#statistics.close();
  }
}

const parseStatistics = (lines: readonly string[]): Table => {
  const table = new Map<number, string[]>();
  for (const line of lines) {
    const [, , , local = ''] = line.split(/\s+/, 4);
    const [, inode] = / ino:(\d+) /.exec(line) ?? [];
    if (inode !== undefined) note(table, Number(local.slice(local.lastIndexOf(':') + 1)), inode);
  }
  return table;
};

const note = (table: Map<number, string[]>, port: number, inode: string): void => {
  table.set(port, [...(table.get(port) ?? []), inode]);
};

/** With itself, which comes first. A process whose parent ends becomes a child of the first in its sandbox, so none is missing. */
export const readDescendants = (pid: number): readonly number[] => {
  const all = [pid];
  for (const one of all)
    for (const thread of list(`/proc/${one}/task`))
      all.push(...Array.from(read(`/proc/${one}/task/${thread}/children`).matchAll(/\d+/g), Number));
  return all;
};

const listening = '0A';

const readTable = (of: number | 'self'): Table => {
  const table = new Map<number, string[]>();
  for (const file of ['tcp', 'tcp6'])
    for (const line of read(`/proc/${of}/net/${file}`).split('\n').slice(1)) {
      // sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode
      const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/, 10);
      if (state !== listening) continue;
      note(table, Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16), inode);
    }
  return table;
};

const readSockets = (pid: number): readonly string[] =>
  list(`/proc/${pid}/fd`).flatMap((name) => /^socket:\[(\d+)\]$/.exec(readLink(`/proc/${pid}/fd/${name}`))?.[1] ?? []);

/** Empty for a process that has ended. */
const list = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
};

const readLink = (path: string): string => {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
};

const read = (path: string): string => {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
};
