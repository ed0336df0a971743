import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The key that makes environment names unguessable, created on first use. Losing it renames nothing that exists. */
export const readServerKey = (dataFolder: string): string => {
  const path = join(dataFolder, 'server.key');
  try {
    const key = readFileSync(path, 'utf8').trim();
    if (key !== '') return key;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const key = randomBytes(32).toString('base64url');
  writeFileSync(`${path}.new`, `${key}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
  return key;
};
