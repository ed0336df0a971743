import { EphError } from '@eph/contract';
import { pause } from './pause.ts';
import type { Processes, ProcessIdentity, RunningProcess } from './processes.ts';

export interface Ending {
  /** A prefix of the markers. */
  readonly marker: string;
  /** Recorded processes: each leads a session of its own. */
  readonly leaders: readonly ProcessIdentity[];
  readonly graceMs: number;
  readonly signal: AbortSignal;
}

/** After SIGKILL only the kernel can delay the end of a process, and longer waiting does not help. */
const killTimeoutMs = 10_000;

/**
 * Ends every process of an instance or component and waits until none is left. Returns their number. A process is recognised by its
 * recorded identity, by its marker, or by the session of a recognised process: the system does not reuse the id of a session while
 * a member lives. Therefore all processes are found before any is signalled.
 */
export const endProcesses = async (processes: Processes, request: Ending): Promise<number> => {
  const ending = { ...request, leaders: request.leaders.filter(({ bootId }) => bootId === processes.bootId) };
  const started = performance.now();
  const known = new Map<number, RunningProcess>();
  for (;;) {
    const members = findMembers(await processes.readAll(), ending, known);
    if (members.length === 0) return known.size;
    const elapsed = performance.now() - started;
    const kill = elapsed >= ending.graceMs;
    if (elapsed > ending.graceMs + killTimeoutMs) throw stuck(members);
    const added = members.filter((member) => known.get(member.pid)?.startTime !== member.startTime);
    for (const member of added) known.set(member.pid, member);
    sendAll(processes, kill ? members : added, ending, kill ? 'SIGKILL' : 'SIGTERM');
    await untilGone(processes, members, kill ? 100 : ending.graceMs - elapsed, ending.signal);
    ending.signal.throwIfAborted();
  }
};

const findMembers = (
  all: readonly RunningProcess[],
  { marker, leaders }: Ending,
  known: ReadonlyMap<number, RunningProcess>,
): readonly RunningProcess[] => {
  const isKnown = (one: RunningProcess): boolean =>
    one.marker?.startsWith(marker) === true ||
    known.get(one.pid)?.startTime === one.startTime ||
    leaders.some((leader) => leader.pid === one.pid && leader.startTime === one.startTime);
  const led = all.filter((one) => leaders.some((leader) => leader.pid === one.session));
  const sessions = new Set(led.filter(isKnown).map((one) => one.session));
  return all.filter((one) => isKnown(one) || sessions.has(one.session));
};

/** Checks only these members, which is cheaper than reading all processes. */
const untilGone = async (
  processes: Processes,
  members: readonly RunningProcess[],
  ms: number,
  signal: AbortSignal,
): Promise<void> => {
  const deadline = performance.now() + ms;
  const isRunning = (member: RunningProcess): boolean => processes.readStartTime(member.pid) === member.startTime;
  for (let delay = 2; members.some(isRunning) && !signal.aborted; delay = Math.min(delay * 1.5, 50)) {
    const left = deadline - performance.now();
    if (left <= 0) return;
    await pause(Math.min(delay, left), signal);
  }
};

/**
 * Signals whole groups where they are ours, so that a process cannot escape by forking. What holds a sandbox does not get SIGTERM: it
 * would take everything inside with it, without the grace. One that still starts has nothing inside to wait for, and does not take
 * everything with it yet unless its whole group is killed.
 */
const sendAll = (processes: Processes, members: readonly RunningProcess[], { leaders }: Ending, name: NodeJS.Signals): void => {
  const groups = new Set<number>();
  for (const member of members) {
    const { pid, group, startTime } = member;
    // Checked again right before the signal: the pid may have been reused.
    if (groups.has(group) || processes.readStartTime(pid) !== startTime) continue;
    const isHolding = !member.isInside && leaders.some((leader) => leader.isSandboxed === true && leader.pid === member.session);
    if (isHolding && name === 'SIGTERM' && isFilled(member, members)) continue;
    const whole = leaders.some((leader) => leader.pid === group);
    if (whole) groups.add(group);
    send(whole ? -group : pid, isHolding ? 'SIGKILL' : name);
  }
};

const isFilled = ({ session }: RunningProcess, members: readonly RunningProcess[]): boolean => {
  const marker = members.find(({ pid }) => pid === session)?.marker;
  return members.some((one) => one.isInside && one.marker === marker);
};

const send = (target: number, name: NodeJS.Signals): void => {
  try {
    process.kill(target, name);
    // A stopped process does not handle SIGTERM.
    if (name === 'SIGTERM') process.kill(target, 'SIGCONT');
  } catch {
    // Already gone, or of another user; the next round checks what is left.
  }
};

const stuck = (members: readonly RunningProcess[]): EphError =>
  new EphError(
    'provider.incomplete',
    `Could not end these processes: ${members.map((member) => member.pid).join(', ')}. They may wait for a disk or belong to another user. End them by hand.`,
  );
