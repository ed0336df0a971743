import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { Layout } from '@eph/providers/process/layout';

/** A process of a component, found through its environment variables, independently of ephd. */
export interface ServiceProcess {
  readonly pid: number;
  readonly startTime: string;
  /** Each start of an instance is a separate session, identified by the pid of its leader. */
  readonly session: number;
  readonly environment: string;
  readonly component: string;
  readonly instance: string;
  readonly variables: Readonly<Record<string, string>>;
}

/**
 * Everything that runs for the environments of one data folder. Of a sandbox, the processes outside stand for those inside, whose
 * variables they get; those inside are listed if nobody holds their sandbox any more.
 */
export const readServiceProcesses = (dataFolder: string): readonly ServiceProcess[] => {
  const prefix = new Layout(realpathSync(join(dataFolder, 'process'))).marker();
  const all = readPids().flatMap((pid) => readProcess(pid, prefix) ?? []);
  const [inside, outside] = [all.filter(({ pid }) => isInSandbox(pid)), all.filter(({ pid }) => !isInSandbox(pid))];
  const isService = ({ variables }: ServiceProcess): boolean => 'EPH_COMMIT' in variables;
  const alone = inside.filter(({ instance }) => !outside.some((one) => one.instance === instance));
  const held = outside.map((one) => {
    const service = [one, ...inside].find((other) => other.instance === one.instance && isService(other));
    return { ...one, variables: service?.variables ?? one.variables };
  });
  return [...held, ...alone];
};

const ownNamespace = readlinkSync('/proc/self/ns/pid');

const isInSandbox = (pid: number): boolean => {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`) !== ownNamespace;
  } catch {
    return false; // It ended while the list was read.
  }
};

/** Every process whose command line names a folder. */
export const readProcessesNaming = (folder: string): readonly { readonly pid: number; readonly command: string }[] =>
  readPids().flatMap((pid) => {
    const command = readProc(pid, 'cmdline')?.replaceAll('\0', ' ').trim();
    return command?.includes(folder) === true && readStat(pid) !== undefined ? [{ pid, command }] : [];
  });

/** Whether a process is this ancestor or descends from it. */
export const descendsFrom = (pid: number, ancestor: number): boolean => {
  for (let at: number | undefined = pid; at !== undefined && at > 0; at = readStat(at)?.parent) if (at === ancestor) return true;
  return false;
};

/** Kills them all; processes that they start meanwhile are killed in the next round. */
export const endServiceProcesses = (dataFolder: string): void => {
  for (let left = readServiceProcesses(dataFolder); left.length > 0; left = readServiceProcesses(dataFolder))
    for (const { pid } of left) endProcess(pid);
};

/** Compares start times, since pids are reused. */
export const isAlive = ({ pid, startTime }: ServiceProcess): boolean => readStat(pid)?.startTime === startTime;

const readPids = (): readonly number[] =>
  readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number);

const readProcess = (pid: number, prefix: string): ServiceProcess | undefined => {
  const environ = readProc(pid, 'environ');
  if (environ === undefined || !environ.includes(`EPH_INSTANCE=${prefix}`)) return undefined;
  const stat = readStat(pid);
  if (stat === undefined) return undefined;
  const variables = Object.fromEntries(environ.split('\0').map(splitVariable));
  const [environment = '', component = '', instance = ''] = (variables['EPH_INSTANCE'] ?? '').slice(prefix.length).split('/');
  return { pid, session: stat.session, startTime: stat.startTime, environment, component, instance, variables };
};

const splitVariable = (text: string): [string, string] => {
  const at = text.indexOf('=');
  return [text.slice(0, at), text.slice(at + 1)];
};

interface Stat {
  readonly parent: number;
  readonly session: number;
  readonly startTime: string;
}

const readStat = (pid: number): Stat | undefined => {
  const text = readProc(pid, 'stat');
  // The command name is in parentheses and may contain anything, so fields are counted after it.
  const fields = text?.slice(text.lastIndexOf(')') + 2).split(' ') ?? [];
  const [state = 'X', parent = '', , session = ''] = fields;
  if (state === 'Z' || state === 'X') return undefined;
  return { parent: Number(parent), session: Number(session), startTime: fields[19] ?? '' };
};

const readProc = (pid: number, file: 'cmdline' | 'environ' | 'stat'): string | undefined => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return undefined; // It ended while the list was read.
  }
};

const endProcess = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
};
