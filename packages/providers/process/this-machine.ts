import { EphError } from '@eph/contract';
import type { Processes } from './processes.ts';
import { createDarwinProcesses } from './processes-darwin.ts';
import { createLinuxProcesses } from './processes-linux.ts';

export const createProcesses = (): Processes => {
  if (process.platform === 'linux') return createLinuxProcesses();
  if (process.platform === 'darwin') return createDarwinProcesses();
  throw new EphError('config.invalid', `The process provider runs on Linux and macOS, and this is ${process.platform}.`);
};
