import { closeSync, openSync, readFileSync, readlinkSync } from 'node:fs';
import { readDescendants } from './listeners.ts';
import { isRunning, type Processes, type ProcessIdentity } from './processes.ts';
import { appFolder } from './sandbox.ts';

/** Descriptors. */
export interface Namespaces extends Disposable {
  /** A folder with all of one process, and never of another that gets its number. */
  readonly all: number;
  /** The user namespace around a network of its own, from which all can be entered. */
  readonly user: number | undefined;
}

/** Opens the namespaces of the sandbox that a process holds. Undefined if that is not complete. */
export const openNamespaces = (processes: Processes, holder: ProcessIdentity, hasOwnNetwork: boolean): Namespaces | undefined => {
  const files: number[] = [];
  const close = (): void => files.splice(0).forEach(closeSync);
  const open = (path: string): number => {
    const file = openSync(path, 'r');
    files.push(file);
    return file;
  };
  try {
    const before = readDescendants(holder.pid);
    const at = before.findIndex(isInSandbox);
    const [outside, inside, command] = before.slice(Math.max(at - 1, 0));
    const all = open(`/proc/${inside}/ns`);
    const user = hasOwnNetwork ? open(`/proc/${outside}/ns/user`) : undefined;
    // Only now is it known whose they are: a process that ended may have left its number to one of another sandbox.
    const after = new Set(readDescendants(holder.pid));
    const isSame = [outside, inside].every((one) => one !== undefined && after.has(one)) && isRunning(processes, holder);
    // The first process inside starts another only when it is confined itself.
    if (at > 0 && command !== undefined && isSame) return { all, user, [Symbol.dispose]: close };
  } catch {
    // It has ended.
  }
  close();
  return undefined;
};

const mountPoint = new RegExp(String.raw`^(?:\S+ ){4}${appFolder} `, 'm');

/** Not what holds a network: it has namespaces of its own too, and the files of the machine. Nor what still mounts files. */
const isInSandbox = (pid: number): boolean => {
  try {
    const isOutside = readlinkSync(`/proc/${pid}/ns/mnt`) === readlinkSync('/proc/self/ns/mnt');
    return !isOutside && mountPoint.test(readFileSync(`/proc/${pid}/mountinfo`, 'utf8'));
  } catch {
    // It has ended, or shows itself to nobody.
    return false;
  }
};
