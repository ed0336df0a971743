import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { execMarker, isExecMarker } from './layout.ts';
import type { Processes, RunningProcess } from './processes.ts';
import { markerVariable } from './service-environment.ts';

/** Read in batches, so that a long table does not block the event loop. */
const batch = 100;

export const createLinuxProcesses = (): Processes => {
  const system = readSystem();
  let next: Promise<readonly RunningProcess[]> | undefined;
  let last: Promise<unknown> = Promise.resolve();

  /** Callers during a reading share the next one, because the current one may miss processes they ask about. */
  const readAll = (): Promise<readonly RunningProcess[]> => {
    const begin = (): Promise<readonly RunningProcess[]> => {
      next = undefined;
      const reading = readTable(system);
      // Only its end, so that the table is not kept.
      last = reading.then(ignore, ignore);
      return reading;
    };
    next ??= last.then(begin);
    return next;
  };

  return {
    bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    readStartTime: (pid) => readStat(pid)?.startTime,
    readAll,
  };
};

const ignore = (): void => undefined;

interface System {
  readonly ticksPerSecond: number;
  readonly pageBytes: number;
}

/** From the auxiliary vector, pairs of machine words: the only source of these values without a C library. */
const readSystem = (): System => {
  const vector = readFileSync('/proc/self/auxv');
  const values = new Map<bigint, bigint>();
  for (let at = 0; at + 16 <= vector.length; at += 16) values.set(vector.readBigUInt64LE(at), vector.readBigUInt64LE(at + 8));
  return { pageBytes: Number(values.get(6n) ?? 4096n), ticksPerSecond: Number(values.get(17n) ?? 100n) };
};

const readTable = async (system: System): Promise<readonly RunningProcess[]> => {
  const found: FoundProcess[] = [];
  let count = 0;
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry);
    if (!Number.isInteger(pid)) continue;
    const stat = readStat(pid);
    if (stat !== undefined) found.push(describe(pid, stat, system));
    count += 1;
    if (count % batch === 0) await setImmediate();
  }
  return withMarkers(found);
};

interface FoundProcess extends RunningProcess {
  readonly parent: number;
  readonly namespace: string | undefined;
  /** Its UTS namespace, if it is inside. */
  readonly uts: string | undefined;
}

const ownNamespace = /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0];

const describe = (pid: number, stat: Stat, system: System): FoundProcess => {
  const namespace = readNamespace(pid, 'pid');
  const isInside = namespace !== undefined && namespace !== ownNamespace;
  return {
    ...describeOutside(pid, stat, system),
    parent: stat.parent,
    isInside,
    namespace,
    uts: isInside ? readNamespace(pid, 'uts') : undefined,
    marker: isInside ? undefined : readMarker(pid),
  };
};

/**
 * A process in a sandbox can give itself any marker, so it gets that of its nearest ancestor outside which shows one; what holds a
 * network does not. A process whose parent ends becomes a child of the first in its namespace. Only that one can be left without such
 * an ancestor, if the sandbox is killed while it starts. It is bubblewrap, and has the marker it was started with.
 *
 * What people run beside a service has a UTS namespace of its own, which a process in a sandbox can neither leave nor enter.
 */
const withMarkers = (all: readonly FoundProcess[]): readonly RunningProcess[] => {
  const byId = new Map(all.map((one) => [one.pid, one]));
  const markerOf = (one: FoundProcess): string | undefined => {
    let outer: FoundProcess | undefined = one;
    let [top, first] = [one, one];
    while (outer !== undefined && outer.marker === undefined) {
      if (outer.isInside) top = outer;
      if (outer.namespace === one.namespace) first = outer;
      outer = byId.get(outer.parent);
    }
    const marker = outer?.marker ?? readMarker(top.pid);
    if (marker === undefined || one.uts === undefined || first.uts === undefined) return marker;
    return isExecMarker(marker) || one.uts !== first.uts ? execMarker(marker, one.uts) : marker;
  };
  return all.map((one) => (one.isInside ? { ...one, marker: markerOf(one) } : one));
};

const describeOutside = (pid: number, stat: Stat, system: System) => ({
  pid,
  group: stat.group,
  session: stat.session,
  startTime: stat.startTime,
  cpuSeconds: stat.cpuTicks / system.ticksPerSecond,
  memoryBytes: stat.residentPages * system.pageBytes,
});

interface Stat {
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly startTime: string;
  readonly cpuTicks: number;
  readonly residentPages: number;
}

const buffer = Buffer.alloc(4096);

const readStat = (pid: number): Stat | undefined => {
  let text: string;
  try {
    const file = openSync(`/proc/${pid}/stat`, 'r');
    try {
      text = buffer.toString('latin1', 0, readSync(file, buffer, 0, buffer.length, 0));
    } finally {
      closeSync(file);
    }
  } catch {
    // It has ended.
    return undefined;
  }
  return parseStat(text);
};

/** The command name is in parentheses and may contain spaces and parentheses, so parsing starts after the last one. */
export const parseStat = (text: string): Stat | undefined => {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state] = fields;
  const number = (index: number): number => Number(fields[index - 3]);
  if (state === undefined || state === '' || state === 'X') return undefined;
  // A zombie whose other threads are still ending holds its files and ports.
  if (state === 'Z' && number(20) <= 1) return undefined;
  return {
    parent: number(4),
    group: number(5),
    session: number(6),
    startTime: fields[22 - 3] ?? '',
    cpuTicks: number(14) + number(15) + number(16) + number(17),
    residentPages: number(24),
  };
};

const readNamespace = (pid: number, type: 'pid' | 'uts'): string | undefined => {
  try {
    return /\d+/.exec(readlinkSync(`/proc/${pid}/ns/${type}`))?.[0];
  } catch {
    return undefined;
  }
};

const assignment = `${markerVariable}=`;

const readMarker = (pid: number): string | undefined => {
  try {
    const variables = readFileSync(`/proc/${pid}/environ`, 'latin1');
    const variable = variables.split('\0').find((one) => one.startsWith(assignment));
    return variable?.slice(assignment.length);
  } catch {
    // It has ended or belongs to another user, so it is not ours.
    return undefined;
  }
};
