import { randomInt } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Below the range that the system uses for outgoing connections and above the one that ephd assigns to services, so that a port from
 * here is still free when a killed ephd is started again.
 */
const range = { first: 30_000, last: 32_767 };

/** Tests run in parallel, and the port of a killed ephd looks free; so ports are also reserved with a file each. */
const reservations = join(tmpdir(), 'eph-reserved-ports');
const reserved = new Set<string>();

export const reservePort = async (): Promise<number> => {
  mkdirSync(reservations, { recursive: true });
  for (;;) {
    const port = randomInt(range.first, range.last + 1);
    if (reserve(join(reservations, String(port))) && (await isFree(port))) return port;
  }
};

const reserve = (path: string): boolean => {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' });
  } catch {
    // Taken while its owner lives; otherwise free for the next attempt.
    if (!isAlive(path)) rmSync(path, { force: true });
    return false;
  }
  if (reserved.size === 0) process.once('exit', releaseAll);
  reserved.add(path);
  return true;
};

const releaseAll = (): void => {
  for (const path of reserved) rmSync(path, { force: true });
};

const isAlive = (path: string): boolean => {
  try {
    return process.kill(Number(readFileSync(path, 'utf8')), 0);
  } catch {
    // No such process, or the reservation was just released.
    return false;
  }
};

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
