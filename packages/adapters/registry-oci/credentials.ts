import type { Clock } from '@eph/engine/time/clock';
import { LRUCache } from 'lru-cache';
import { createSemaphore } from '../forge-http/semaphore.ts';
import { createSingleFlight } from '../forge-http/single-flight.ts';
import type { Credentials, DockerConfig } from './docker-config.ts';
import { type Environment, readFromHelper } from './docker-credential.ts';
import type { RegistryHost } from './registry-hosts.ts';

/** Finds what a registry may be asked with on behalf of a project. */
export interface CredentialsReader {
  /** Undefined if there is nothing. */
  read(on: RegistryHost, signal: AbortSignal): Promise<Credentials | undefined>;
  /** They were refused, so they are not taken from memory again. */
  forget(on: RegistryHost): void;
}

export interface CredentialsOptions {
  readonly dockerConfig: DockerConfig | undefined;
  /** Of helpers. */
  readonly environment: Environment;
  readonly clock: Clock;
}

/** A helper is a process, and many requests need its answer. Those of clouds are valid for an hour or longer. */
const keepMs = 5 * 60_000;
const maxHosts = 500;
const maxHelpers = 4;

export const createCredentials = ({ dockerConfig, environment, clock }: CredentialsOptions): CredentialsReader => {
  const kept = new LRUCache<string, { readonly credentials: Credentials | undefined; readonly readAt: number }>({
    max: maxHosts,
  });
  const once = createSingleFlight<Credentials | undefined>();
  const acquireSlot = createSemaphore(maxHelpers);

  const readDockerConfig = async (config: DockerConfig, host: string, signal: AbortSignal): Promise<Credentials | undefined> => {
    const source = await config.find(host);
    if (source?.type !== 'helper') return source?.credentials;
    const release = await acquireSlot(signal);
    try {
      return await readFromHelper(source, environment, clock, signal);
    } finally {
      release();
    }
  };

  const readKept = async (config: DockerConfig, host: string, signal: AbortSignal): Promise<Credentials | undefined> => {
    const before = kept.get(host);
    // Not older than that, and not from the future: the clock may have been set back.
    if (before !== undefined && Math.abs(clock.now() - before.readAt) < keepMs) return before.credentials;
    const credentials = await once(host, (any) => readDockerConfig(config, host, any), signal);
    kept.set(host, { credentials, readAt: clock.now() });
    return credentials;
  };

  return {
    read: async ({ host, settings, access, credentials }, signal) => {
      if (credentials !== undefined) return credentials;
      if (settings?.username !== undefined)
        return { type: 'password', username: settings.username, password: settings.password?.value ?? '' };
      return access === 'withheld' || dockerConfig === undefined ? undefined : await readKept(dockerConfig, host, signal);
    },
    forget: ({ host }) => void kept.delete(host),
  };
};
