import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { isAbsent } from './faults.ts';

/**
 * A service may put a link, a pipe or a folder in the place of its log. Links are not followed, and opening a pipe must not wait
 * for somebody at the other end.
 */
export const plainFile = constants.O_NOFOLLOW | constants.O_NONBLOCK;

export const sizeOf = (path: string): number => lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** Throws where there is none, or something else in its place. */
export const readPlainFile = (path: string): string => {
  const file = openSync(path, constants.O_RDONLY | plainFile);
  try {
    if (!fstatSync(file).isFile()) throw new Error(`${path} is not a file`);
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
};

/** Empty where there is no such file. */
export const readRange = (path: string, from: number, to: number): Buffer => {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() !== true) return Buffer.alloc(0);
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | plainFile);
  } catch (error) {
    if (isAbsent(error)) return Buffer.alloc(0);
    throw error;
  }
  try {
    const bytes = Buffer.alloc(Math.max(0, Math.min(to, fstatSync(file).size) - from));
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, from));
  } finally {
    closeSync(file);
  }
};

export const readEnd = (path: string, bytes: number): Buffer => {
  const size = sizeOf(path);
  return readRange(path, Math.max(0, size - bytes), size);
};
