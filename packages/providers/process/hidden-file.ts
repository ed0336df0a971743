import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { EphError } from '@eph/contract';

/** O_TMPFILE: a file without a name, which only those can read who get its descriptor. Written at a position, so it is read from its start. */
const withoutName = 0o20_000_000 | constants.O_DIRECTORY;

/** A list, each entry of which ends with a NUL character. */
export const writeHidden = (entries: readonly string[]): number => {
  // It would make two entries of one.
  if (entries.some((one) => one.includes('\0'))) throw new EphError('component.refused', 'A variable contains a NUL character.');
  const content = Buffer.from(`${entries.join('\0')}\0`);
  const file = openSync('/dev/shm', constants.O_RDWR | withoutName, 0o600);
  try {
    writeSync(file, content, 0, content.length, 0);
    return file;
  } catch (error) {
    closeSync(file);
    throw error;
  }
};
