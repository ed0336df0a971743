import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type { Processes, RunningProcess } from './processes.ts';
import { markerVariable } from './service-environment.ts';

/** Read between two turns of the event loop, so that traffic flows while a long table is read. */
const batch = 100;

export const createLinuxProcesses = (): Processes => {
  const system = readSystem();
  let coming: Promise<readonly RunningProcess[]> | undefined;
  let last: Promise<unknown> = Promise.resolve();

  /** Callers that ask while a reading is under way share the one that begins after it: what they ask about is in there. */
  const readAll = (): Promise<readonly RunningProcess[]> => {
    const begin = (): Promise<readonly RunningProcess[]> => {
      coming = undefined;
      const reading = readTable(system);
      last = reading;
      return reading;
    };
    coming ??= last.then(begin, begin);
    return coming;
  };

  return {
    bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    readStartTime: (pid) => readStat(pid)?.startTime,
    readAll,
  };
};

interface System {
  readonly ticksPerSecond: number;
  readonly pageBytes: number;
}

/** The auxiliary vector: pairs of machine words, and the only place where these are to be read without asking a C library. */
const readSystem = (): System => {
  const vector = readFileSync('/proc/self/auxv');
  const values = new Map<bigint, bigint>();
  for (let at = 0; at + 16 <= vector.length; at += 16) values.set(vector.readBigUInt64LE(at), vector.readBigUInt64LE(at + 8));
  return { pageBytes: Number(values.get(6n) ?? 4096n), ticksPerSecond: Number(values.get(17n) ?? 100n) };
};

const readTable = async (system: System): Promise<readonly RunningProcess[]> => {
  const found: RunningProcess[] = [];
  let count = 0;
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry);
    if (!Number.isInteger(pid)) continue;
    const stat = readStat(pid);
    if (stat !== undefined) found.push(describe(pid, stat, system));
    count += 1;
    if (count % batch === 0) await setImmediate();
  }
  return found;
};

const describe = (pid: number, stat: Stat, system: System): RunningProcess => ({
  pid,
  group: stat.group,
  session: stat.session,
  startTime: stat.startTime,
  marker: readMarker(pid),
  cpuSeconds: stat.cpuTicks / system.ticksPerSecond,
  memoryBytes: stat.residentPages * system.pageBytes,
});

interface Stat {
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
    // It ended between being seen and being read, which is an answer.
    return undefined;
  }
  return parseStat(text);
};

/** The command name stands in parentheses and may hold spaces and parentheses itself; only what follows the last one is safe. */
export const parseStat = (text: string): Stat | undefined => {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state] = fields;
  const number = (index: number): number => Number(fields[index - 3]);
  if (state === undefined || state === '' || state === 'X') return undefined;
  // While other threads of a process are still ending, it holds its files and ports.
  if (state === 'Z' && number(20) <= 1) return undefined;
  return {
    group: number(5),
    session: number(6),
    startTime: fields[22 - 3] ?? '',
    cpuTicks: number(14) + number(15) + number(16) + number(17),
    residentPages: number(24),
  };
};

const assignment = `${markerVariable}=`;

const readMarker = (pid: number): string | undefined => {
  try {
    const variables = readFileSync(`/proc/${pid}/environ`, 'latin1');
    const variable = variables.split('\0').find((one) => one.startsWith(assignment));
    return variable?.slice(assignment.length);
  } catch {
    // Ended meanwhile, or another user's: neither is one of ours.
    return undefined;
  }
};
