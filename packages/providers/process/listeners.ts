import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** By port, the inodes of the sockets that listen there, on any address. */
type Table = ReadonlyMap<number, readonly string[]>;

/** Who has the traffic of a port: an instance that is asked about, and what is known of its sockets. */
export interface PortOwner {
  readonly port: number;
  /** The process that holds its sandbox. */
  readonly holder: number;
  readonly hasOwnNetwork: boolean;
  /** What was found the last time. */
  known: { readonly sockets: string; readonly inside: number | undefined } | undefined;
}

const maxAgeMs = 1_000;

/** The listening sockets of this machine. One snapshot serves all that ask within a second. */
export class Listeners {
  #snapshot: Table = new Map();
  #takenAt = Number.NEGATIVE_INFINITY;

  /**
   * Why visitors of the port may reach something else than the instance. Services share a port if both ask for it, and a service
   * that restarts leaves its port free for a moment.
   */
  findFault(owner: PortOwner): string | undefined {
    const { port } = owner;
    if (performance.now() - this.#takenAt > maxAgeMs || this.#socketsOn(port) !== owner.known?.sockets) this.#refresh();
    if (owner.known === undefined || owner.known.sockets !== this.#socketsOn(port)) {
      const own = readDescendants(owner.holder);
      const sockets = own.flatMap(readSockets);
      this.#refresh();
      const listening = this.#snapshot.get(port) ?? [];
      owner.known = undefined;
      // What holds a network shows its sockets to nobody, but it ends at once if the port is taken, and shares it with nobody.
      const isAlone = owner.hasOwnNetwork ? listening.length <= 1 : listening.every((inode) => sockets.includes(inode));
      if (!isAlone) return `another program listens on port ${port} too`;
      // Under the holder is what holds the network, and under that the first process inside, which lives as long as they.
      owner.known = { sockets: listening.join(), inside: own[2] };
    }
    return owner.hasOwnNetwork && !listensInside(owner.known.inside, port) ? `nothing listens on port ${port} inside` : undefined;
  }

  #socketsOn(port: number): string {
    return this.#snapshot.get(port)?.join() ?? '';
  }

  #refresh(): void {
    this.#snapshot = readTable('self');
    this.#takenAt = performance.now();
  }
}

/** With itself, which comes first. A process whose parent ends becomes a child of the first in its sandbox, so none is missing. */
const readDescendants = (pid: number): readonly number[] => {
  const all = [pid];
  for (const one of all)
    for (const thread of list(`/proc/${one}/task`))
      all.push(...Array.from(read(`/proc/${one}/task/${thread}/children`).matchAll(/\d+/g), Number));
  return all;
};

/** What holds the network of an instance accepts every connection, so only its own table says whether somebody listens. */
const listensInside = (pid: number | undefined, port: number): boolean => pid !== undefined && readTable(pid).has(port);

const listening = '0A';

const readTable = (of: number | 'self'): Table => {
  const table = new Map<number, string[]>();
  for (const file of ['tcp', 'tcp6'])
    for (const line of read(`/proc/${of}/net/${file}`).split('\n').slice(1)) {
      // sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode
      const [, local = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/, 10);
      if (state !== listening) continue;
      const port = Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16);
      table.set(port, [...(table.get(port) ?? []), inode]);
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
