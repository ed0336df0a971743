/** Identifies a process for ever. The pid alone may be reused by the system. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTime: string;
  readonly bootId: string;
  /** It is the parent of a sandbox, with the service inside. */
  readonly isSandboxed?: boolean;
}

export interface RunningProcess {
  readonly pid: number;
  readonly group: number;
  readonly session: number;
  readonly startTime: string;
  /** In another PID namespace than ephd. */
  readonly isInside: boolean;
  /** The instance it was started for, directly or by a descendant. Inside a sandbox, that of the process which holds the sandbox. */
  readonly marker: string | undefined;
  /** Includes children it has waited for. */
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
}

/** The processes of this machine, without zombies. */
export interface Processes {
  readonly bootId: string;
  readStartTime(pid: number): string | undefined;
  /** All processes at some moment after the call. */
  readAll(): Promise<readonly RunningProcess[]>;
}

export const isRunning = (processes: Processes, identity: ProcessIdentity): boolean =>
  identity.bootId === processes.bootId && processes.readStartTime(identity.pid) === identity.startTime;
