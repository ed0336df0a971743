import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { EphError } from '@eph/contract';
import type { Processes, ProcessIdentity } from './processes.ts';
import type { Service } from './service.ts';

export interface Launch {
  readonly service: Service;
  readonly folder: string;
  readonly variables: Readonly<Record<string, string>>;
  /** Standard output and error: a file, because the service outlives ephd and a pipe would break with it. */
  readonly log: number;
}

export interface Launched {
  readonly identity: ProcessIdentity;
  readonly child: ChildProcess;
}

/**
 * The process is there and waits; the command itself runs only after the gate was opened. If ephd dies in between, the end of
 * the pipe makes it leave. So a command never runs whose process is not on record, however ephd ends.
 */
const gate = 'read -r go <&3 || exit 75; exec 3<&-; exec "$@"';

/**
 * Starts a process in a session of its own, calls `record` with its identity and then lets it run the command; if `record`
 * throws, it never does. All of that happens before this function returns its promise, so nothing can come between.
 */
export const launch = async (
  request: Launch,
  processes: Processes,
  record: (identity: ProcessIdentity) => void,
): Promise<Launched> => {
  const { command } = request.service;
  const words = typeof command === 'string' ? ['sh', '-c', command] : command;
  const child = spawn('/bin/sh', ['-c', gate, 'sh', ...words], {
    cwd: request.folder,
    env: { ...request.variables },
    detached: true,
    stdio: ['ignore', request.log, request.log, 'pipe'],
  });
  if (child.pid === undefined) throw await explainFailure(child);
  child.unref();
  const opening = openingOf(child);
  try {
    const identity = identify(child.pid, processes);
    record(identity);
    opening.end('go\n');
    return { identity, child };
  } catch (error) {
    opening.destroy();
    throw error;
  }
};

const identify = (pid: number, processes: Processes): ProcessIdentity => {
  const startTime = processes.readStartTime(pid);
  if (startTime === undefined) throw new EphError('provider.unreachable', 'The process ended before it could be recorded.');
  return { pid, startTime, bootId: processes.bootId };
};

const openingOf = (child: ChildProcess): Socket => {
  const opening = child.stdio[3];
  if (!(opening instanceof Socket)) throw new EphError('internal', 'The gate of a new process has no pipe.');
  // The pipe breaks when the process ends early, and its exit says so already.
  opening.on('error', () => undefined);
  return opening.unref();
};

/** The system could not make a process; Node says why in an event of the next tick. */
const explainFailure = async (child: ChildProcess): Promise<EphError> => {
  const [error] = (await once(child, 'error')) as [Error];
  return new EphError('provider.unreachable', `The process could not be started: ${error.message}.`, { cause: error });
};
