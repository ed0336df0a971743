import { createHash } from 'node:crypto';
import { EphError, type Log, type ProjectId } from '@eph/contract';
import { LRUCache } from 'lru-cache';
import type { Dispatcher } from 'undici';
import { type Connections, concurrency } from './connections.ts';
import type { Credentials } from './docker-config.ts';
import { HostGate } from './host-gate.ts';
import type { RepositoryName } from './repository-name.ts';

/** What an operator says of a registry. */
export interface RegistrySettings {
  readonly username: string | undefined;
  readonly password: { readonly value: string } | undefined;
  readonly plainHttp: boolean;
  /** Certificates in PEM; those that the system trusts without it. */
  readonly ca: string | undefined;
  /** For any other project, the registry is not configured. */
  readonly isFor: (project: ProjectId) => boolean;
}

/** A registry, as one project may use it. */
export interface RegistryHost {
  /** As in the names of its images. */
  readonly host: string;
  /** Begins with the scheme. */
  readonly origin: string;
  /** Undefined unless it is configured for the project. */
  readonly settings: RegistrySettings | undefined;
  /** `withheld`: it is configured, but not for this project, which gets no credentials at all. */
  readonly access: 'configured' | 'withheld' | 'public';
  /** Of a pull secret. They come first, because pods fetch with them what is found here. */
  readonly credentials: Credentials | undefined;
  /** The same for all projects that use it in the same way, with the same credentials. */
  readonly key: string;
  /**
   * How an address is reached that the registry, or somebody on its behalf, names. A configured registry may lead to other
   * configured ones; everybody else leads to public addresses only. Throws `registry.refused`.
   */
  route(url: URL): Route;
}

export interface Route {
  readonly dispatcher: Dispatcher;
  readonly gate: HostGate;
}

export interface RegistryHostsOptions {
  /** By host, as `parseHost` writes it. */
  readonly registries: ReadonlyMap<string, RegistrySettings>;
  readonly connections: Connections;
  readonly now: () => number;
  readonly random: () => number;
  readonly log: Log;
}

/** Strangers name hosts. A gate that is forgotten is made again, open. */
const maxGates = 1_000;

export const createRegistryHosts = (
  options: RegistryHostsOptions,
): ((name: RepositoryName, project: ProjectId, credentials?: Credentials) => RegistryHost) => {
  const { registries, connections, now, random, log } = options;
  const gates = new LRUCache<string, HostGate>({ max: maxGates });

  const gateFor = (host: string, key: string): HostGate => {
    const id = `${host} ${key}`;
    const gate = gates.get(id) ?? new HostGate({ host, concurrency, now, random, log });
    gates.set(id, gate);
    return gate;
  };

  const settingsFor = (host: string, project: ProjectId): RegistrySettings | undefined => {
    const settings = registries.get(host);
    return settings?.isFor(project) === true ? settings : undefined;
  };

  return ({ host, apiHost }, project, credentials) => {
    const settings = settingsFor(host, project);
    const origin = `${settings?.plainHttp === true ? 'http' : 'https'}://${apiHost}`;
    const { hostname } = new URL(origin);
    const unconfigured = registries.has(host) ? 'withheld' : 'public';
    const access = settings === undefined ? unconfigured : 'configured';
    const key = [host, access, ...(credentials === undefined ? [] : [project, digestOf(credentials)])].join(' ');
    const settingsOf = (url: URL): RegistrySettings | undefined => {
      if (settings === undefined) return undefined;
      return url.hostname === hostname ? settings : settingsFor(url.host, project);
    };
    return {
      host,
      origin,
      settings,
      access,
      credentials,
      key,
      route: (url) => {
        const target = settingsOf(url);
        if (url.protocol !== 'https:' && !(url.protocol === 'http:' && target?.plainHttp === true))
          throw new EphError(
            'registry.refused',
            `${host} leads to ${url.host} without TLS, so ephd does not ask it. An operator can allow that with plain_http under registries in the file of ephd.`,
          );
        const dispatcher = target === undefined ? connections.toPublic : connections.toConfigured(target.ca);
        // Whoever uses other credentials has other limits.
        return { dispatcher, gate: gateFor(url.host, key) };
      },
    };
  };
};

/** Others than before are not taken for the same. */
const digestOf = (credentials: Credentials): string => createHash('sha256').update(JSON.stringify(credentials)).digest('hex');
