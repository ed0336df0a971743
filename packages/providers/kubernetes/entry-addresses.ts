import { type EnvironmentId, type Log, toFailure } from '@eph/contract';
import type { Cluster } from '@eph/kube/cluster';
import type { ComponentPods } from './component-pods.ts';
import { portOf } from './component-state.ts';
import { ForwardedPorts } from './forwarded-ports.ts';
import type { Inventory } from './inventory.ts';

/** Where the gateway reaches the entry of each environment. */
export interface EntryAddresses extends AsyncDisposable {
  /** Undefined where it is not known (yet). */
  upstreamOf(environment: EnvironmentId, namespace: string, inventory: Inventory): string | undefined;
  /** Resolves when everything that was asked for is known, or cannot be. */
  untilKnown(): Promise<void>;
  /** Whatever leads to other environments is closed. */
  closeAllBut(environments: ReadonlySet<EnvironmentId>): void;
}

/** In the cluster, every Service has a name. */
export const serviceAddresses: EntryAddresses = {
  upstreamOf(_, namespace, { entry, services }) {
    const service = services.find(({ name }) => name === entry?.service);
    const port = service === undefined ? undefined : portOf(service, entry?.port);
    return port === undefined ? undefined : `http://${service?.name}.${namespace}.svc:${port.port}`;
  },
  untilKnown: () => Promise.resolve(),
  closeAllBut: () => undefined,
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

export interface ForwardedAddressesOptions {
  readonly cluster: Cluster;
  readonly pods: ComponentPods;
  /** Called with the namespace of an environment whose address became known. */
  readonly known: (namespace: string) => void;
  readonly log: Log;
}

interface Forwarded {
  readonly environment: EnvironmentId;
  readonly target: number | string;
  url: string | undefined;
}

/** Outside of it, ephd forwards a port to each entry. A port is open from when the entry is first seen, a connection from its first use. */
export const createForwardedAddresses = ({ cluster, pods, known, log }: ForwardedAddressesOptions): EntryAddresses => {
  const ports = new ForwardedPorts(cluster, pods, log);
  const forwarded = new Map<string, Forwarded>();
  const opening = new Set<Promise<void>>();

  const open = async (key: string, one: Forwarded, component: Inventory['component'], namespace: string): Promise<void> => {
    try {
      one.url = await ports.urlFor(key, { environment: one.environment, component, port: one.target });
      known(namespace);
    } catch (error) {
      // It is tried again when the environment is looked at again.
      if (forwarded.get(key) === one) forwarded.delete(key);
      log.warn({ environment: one.environment, component, failure: toFailure(error) }, 'no port could be forwarded');
    }
  };

  return {
    upstreamOf(environment, namespace, { component, entry, services }) {
      const service = services.find(({ name }) => name === entry?.service);
      const target = service === undefined ? undefined : portOf(service, entry?.port)?.target;
      if (target === undefined) return undefined;
      const key = `${environment}/${component}`;
      const before = forwarded.get(key);
      if (before?.target === target) return before.url;
      const one: Forwarded = { environment, target, url: before?.url };
      forwarded.set(key, one);
      const work = open(key, one, component, namespace).finally(() => opening.delete(work));
      opening.add(work);
      return one.url;
    },
    async untilKnown() {
      await Promise.all(opening);
    },
    closeAllBut(environments) {
      for (const [key, { environment }] of forwarded) if (!environments.has(environment)) forwarded.delete(key);
      ports.closeAllBut(new Set(forwarded.keys()));
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(opening);
      await ports[Symbol.asyncDispose]();
    },
  };
};
