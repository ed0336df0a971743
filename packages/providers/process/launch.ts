import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { EphError } from '@eph/contract';
import type { Processes, ProcessIdentity } from './processes.ts';
import type { Confined } from './sandbox.ts';
import { quote } from './shell.ts';

export interface Launch {
  readonly command: Confined;
  /** A file descriptor for standard output and error. Not a pipe, because the service outlives ephd. */
  readonly log: number;
  /** The process writes `0` to these files before it runs the command. */
  readonly limits: readonly string[];
}

export interface Launched {
  readonly identity: ProcessIdentity;
  readonly child: ChildProcess;
}

/**
 * The process waits for a line from ephd before it runs the command. If ephd dies first, the pipe ends and the process exits. So a
 * command never runs without a record of its process.
 */
const gate = 'read -r go <&3 || exit 75; exec 3<&-; ';

/** Where the memory of the machine is used up, the kernel ends services before it ends ephd. */
const raiseOomScore = process.platform === 'linux' ? 'echo 500 >/proc/self/oom_score_adj; ' : '';

/** What a shell does before it runs a command. It ends where it cannot be limited. */
export const enterLimits = (limits: readonly string[]): string =>
  [raiseOomScore, ...limits.map((file) => `echo 0 >${quote(file)} || exit 76; `)].join('');

/**
 * Starts a process in its own session, calls `record` with its identity, and then lets it run the command. If `record` throws, the
 * command does not run. All of this is synchronous, so nothing can happen in between.
 */
export const launch = async (
  { command: { script, words, folder, variables, input }, log, limits }: Launch,
  processes: Processes,
  record: (identity: ProcessIdentity) => void,
): Promise<Launched> => {
  const isSandboxed = input !== undefined;
  // A sandbox ends with its parent, so its parent stays: it outlives ephd, and whoever kills it kills everything inside.
  const child = spawn(
    '/bin/sh',
    ['-c', gate + enterLimits(limits) + (isSandboxed ? `${script}; exit $?` : script), 'sh', ...words],
    {
      cwd: folder,
      env: { ...variables },
      detached: true,
      stdio: [input ?? 'ignore', log, log, 'pipe'],
    },
  );
  if (child.pid === undefined) throw await explainFailure(child);
  child.unref();
  const gatePipe = gatePipeOf(child);
  try {
    const identity = { ...identify(child.pid, processes), ...(isSandboxed && { isSandboxed }) };
    record(identity);
    gatePipe.end('go\n');
    return { identity, child };
  } catch (error) {
    gatePipe.destroy();
    throw error;
  }
};

const identify = (pid: number, processes: Processes): ProcessIdentity => {
  const startTime = processes.readStartTime(pid);
  if (startTime === undefined) throw new EphError('provider.unreachable', 'The process ended before it could be recorded.');
  return { pid, startTime, bootId: processes.bootId };
};

const gatePipeOf = (child: ChildProcess): Socket => {
  const gatePipe = child.stdio[3];
  if (!(gatePipe instanceof Socket)) throw new EphError('internal', 'The new process has no pipe.');
  // The pipe breaks when the process ends early, which its exit reports.
  gatePipe.on('error', () => undefined);
  return gatePipe.unref();
};

/** Node emits the reason in the next tick. */
export const explainFailure = async (child: ChildProcess): Promise<EphError> => {
  const [error] = (await once(child, 'error')) as [Error];
  return new EphError('provider.unreachable', `The process could not be started: ${error.message}.`, { cause: error });
};
