import { EphError } from '@eph/contract';
import { pause } from './pause.ts';
import type { Processes, ProcessIdentity, RunningProcess } from './processes.ts';

export interface Ending {
  /** Everything whose marker starts with this. */
  readonly marker: string;
  /** Recorded processes: each leads a session of its own. */
  readonly leaders: readonly ProcessIdentity[];
  readonly graceMs: number;
  readonly signal: AbortSignal;
}

/** After KILL only the kernel can hold a process back, and waiting longer changes nothing. */
const patienceAfterKillMs = 10_000;

/**
 * Ends every process of an instance, or of a component, and returns when none is left; says how many there were.
 * A process is recognised by its recorded identity, by its marker, or by sharing the session of one that was recognised:
 * a number that is in use in a session is not given out again, so as long as one known member lives the rest is ours, too. That
 * is why everybody is looked up before anybody is signalled.
 */
export const endProcesses = async (processes: Processes, wish: Ending): Promise<number> => {
  const ending = { ...wish, leaders: wish.leaders.filter(({ bootId }) => bootId === processes.bootId) };
  const started = performance.now();
  const known = new Map<number, RunningProcess>();
  for (;;) {
    const members = findMembers(await processes.readAll(), ending, known);
    if (members.length === 0) return known.size;
    const elapsed = performance.now() - started;
    const kill = elapsed >= ending.graceMs;
    if (elapsed > ending.graceMs + patienceAfterKillMs) throw stuck(members);
    const fresh = members.filter((member) => known.get(member.pid)?.startTime !== member.startTime);
    for (const member of fresh) known.set(member.pid, member);
    sendAll(processes, kill ? members : fresh, ending, kill ? 'SIGKILL' : 'SIGTERM');
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

/** Looks only at the members themselves: reading all processes of the machine is for finding new ones. */
const untilGone = async (
  processes: Processes,
  members: readonly RunningProcess[],
  ms: number,
  signal: AbortSignal,
): Promise<void> => {
  const deadline = performance.now() + ms;
  const isThere = (member: RunningProcess): boolean => processes.readStartTime(member.pid) === member.startTime;
  for (let delay = 2; members.some(isThere) && !signal.aborted; delay = Math.min(delay * 1.5, 50)) {
    const left = deadline - performance.now();
    if (left <= 0) return;
    await pause(Math.min(delay, left), signal);
  }
};

/** Whole groups where they are ours, so that a process cannot slip away by forking. */
const sendAll = (processes: Processes, members: readonly RunningProcess[], { leaders }: Ending, name: NodeJS.Signals): void => {
  const groups = new Set<number>();
  for (const { pid, group, startTime } of members) {
    // Looked at again right before: the number may have passed to a stranger since it was read.
    if (groups.has(group) || processes.readStartTime(pid) !== startTime) continue;
    const whole = leaders.some((leader) => leader.pid === group);
    if (whole) groups.add(group);
    send(whole ? -group : pid, name);
  }
};

const send = (target: number, name: NodeJS.Signals): void => {
  try {
    process.kill(target, name);
    // A stopped process sleeps through TERM.
    if (name === 'SIGTERM') process.kill(target, 'SIGCONT');
  } catch {
    // Gone already, or not ours to signal; who is still there is looked at next.
  }
};

const stuck = (members: readonly RunningProcess[]): EphError =>
  new EphError(
    'provider.incomplete',
    `These processes could not be ended: ${members.map((member) => member.pid).join(', ')}. They may wait for a disk, or belong to another user; end them by hand.`,
  );
