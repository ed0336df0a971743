/** A process for good: the number alone is used again by the system, together with start and boot it is not. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTime: string;
  readonly bootId: string;
}

export interface RunningProcess {
  readonly pid: number;
  readonly group: number;
  readonly session: number;
  readonly startTime: string;
  /** The instance it was started for, directly or by one of its processes. */
  readonly marker: string | undefined;
  /** With the children it has waited for. */
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
}

/** The processes of this machine. A process that has ended but was not collected by its parent does not count as running. */
export interface Processes {
  readonly bootId: string;
  /** When it was started; `undefined` when there is no such process now. */
  readStartTime(pid: number): string | undefined;
  /** Everything that ran at some moment after the call. */
  readAll(): Promise<readonly RunningProcess[]>;
}

export const isRunning = (processes: Processes, identity: ProcessIdentity): boolean =>
  identity.bootId === processes.bootId && processes.readStartTime(identity.pid) === identity.startTime;
