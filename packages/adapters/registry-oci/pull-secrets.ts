import type { ProjectId, PullSecrets } from '@eph/contract';
import type { Clock } from '@eph/engine/time/clock';
import { LRUCache } from 'lru-cache';
import { createSingleFlight } from '../forge-http/single-flight.ts';
import { type Credentials, type DockerFile, findInDockerFile, parseDockerFile } from './docker-config.ts';

/** What secrets hold that a project may use, each a configuration file of Docker. Throws where nobody answers. */
export type ReadPullSecrets = (project: ProjectId, secrets: PullSecrets, signal: AbortSignal) => Promise<readonly string[]>;

/** Undefined if none of the secrets has credentials for the host. */
export type FindPullCredentials = (
  project: ProjectId,
  secrets: PullSecrets,
  host: string,
  signal: AbortSignal,
) => Promise<Credentials | undefined>;

/** Many requests need them, and who replaces a secret should not have to wait. */
const keepMs = 60_000;
const maxKept = 500;

/** Reads secrets once for all requests of a project. What they hold never serves another project. */
export const createPullCredentials = (readSecrets: ReadPullSecrets, clock: Clock): FindPullCredentials => {
  const kept = new LRUCache<string, { readonly files: readonly DockerFile[]; readonly readAt: number }>({ max: maxKept });
  const once = createSingleFlight<readonly DockerFile[]>();

  return async (project, secrets, host, signal) => {
    const key = JSON.stringify([project, secrets.provider, ...secrets.names]);
    const before = kept.get(key);
    // Not older than that, and not from the future: the clock may have been set back.
    const isFresh = before !== undefined && Math.abs(clock.now() - before.readAt) < keepMs;
    const read = async (any: AbortSignal): Promise<readonly DockerFile[]> => {
      const files = (await readSecrets(project, secrets, any)).flatMap((text) => parseDockerFile(text) ?? []);
      kept.set(key, { files, readAt: clock.now() });
      return files;
    };
    const files = isFresh ? before.files : await once(key, read, signal);
    for (const file of files) {
      const credentials = findInDockerFile(file, host);
      if (credentials !== undefined) return credentials;
    }
    return undefined;
  };
};
