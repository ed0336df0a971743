import {
  completeReading,
  type EnvironmentId,
  EphError,
  type Failure,
  type Identity,
  incompleteReading,
  type Log,
  type ProjectId,
  type ProviderName,
  silentLog,
  toFailure,
} from '@eph/contract';
import type { Provider, Scope } from '@eph/engine/provider/provider';
import type { Clock } from '@eph/engine/time/clock';
import { openCluster } from '@eph/kube/cluster';
import type { ClusterLocation } from '@eph/kube/connection';
import type { KubeObserver } from '@eph/kube/observer';
import { Caches } from './caches.ts';
import type { ComponentPods } from './component-pods.ts';
import { Components } from './components.ts';
import { type CopyRule, readPullSecrets, secretsOf } from './copied-secrets.ts';
import { createForwardedAddresses, serviceAddresses } from './entry-addresses.ts';
import { Environments } from './environments.ts';
import type { NamespaceSettings } from './namespace-objects.ts';
import { connectToComponent } from './pod-connection.ts';
import { execInComponent } from './pod-exec.ts';
import { followPodLogs } from './pod-logs.ts';
import { readPodUsage } from './pod-usage.ts';
import { Repairs } from './repairs.ts';

export interface KubernetesProviderOptions extends NamespaceSettings {
  readonly copyRules: readonly CopyRule[];
  readonly name: ProviderName;
  readonly location: ClusterLocation;
  /** How the gateway reaches pods: by the address of their Service, or through ports that ephd forwards to them. */
  readonly reached: 'service' | 'forward';
  readonly secretOf: (project: ProjectId, name: string) => string | undefined;
  readonly urlOf: (identity: Identity) => string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly observer?: KubeObserver;
  readonly log?: Log;
}

/** Several changes come together. */
const settleMs = 20;

/**
 * Components as objects of a Kubernetes cluster, with a namespace for each environment.
 *
 * The cluster is the only memory: the namespace carries the identity, and beside the objects of a component lies its inventory
 * (`inventory.ts`). Watches keep `caches.ts` equal to the cluster, so that a listing costs no request; `component-state.ts` says what
 * they mean, `components.ts` changes the cluster.
 */
export const createKubernetesProvider = (options: KubernetesProviderOptions): Provider & AsyncDisposable => {
  const { name, location, owner, clock, random, log = silentLog } = options;
  const closed = new AbortController();
  const cluster = openCluster({
    name,
    location,
    clock,
    random,
    log,
    ...(options.observer !== undefined && { observer: options.observer }),
  });
  const listeners = new Set<(environment: EnvironmentId) => void>();
  const marks = new Map<EnvironmentId, string | undefined>();
  const changed = new Set<EnvironmentId>();
  let cancelSettling: (() => void) | undefined;

  const invalidate = (namespace: string): void => {
    for (const id of environments.invalidate(namespace)) changed.add(id);
    if (changed.size > 0) cancelSettling ??= clock.after(settleMs, announce);
  };

  /** Most of what happens to pods changes nothing that anybody compares. */
  const announce = (): void => {
    cancelSettling = undefined;
    const ids = [...changed];
    changed.clear();
    for (const id of ids) {
      const mark = environments.get(id)?.observed.mark;
      if (marks.get(id) === mark) continue;
      if (mark === undefined) marks.delete(id);
      else marks.set(id, mark);
      for (const listener of listeners) listener(id);
    }
  };

  const caches = new Caches(cluster, owner, invalidate);
  const repairs = new Repairs(clock);
  const pods: ComponentPods = {
    podsOf(environment, component) {
      const components = environments.get(environment)?.observed.components;
      return components?.some((one) => one.name === component) === true ? caches.podsOf(environment, component) : undefined;
    },
    listen(environment, listener) {
      const own = (keys: readonly string[]): void => {
        const { namespace } = environments.get(environment) ?? {};
        if (keys.length === 0 || keys.some((key) => key.startsWith(`${namespace}/`))) listener();
      };
      return caches.pods.listen(own);
    },
  };
  const addresses =
    options.reached === 'service' ? serviceAddresses : createForwardedAddresses({ cluster, pods, known: invalidate, log });
  const environments = new Environments({
    provider: name,
    caches,
    repairs,
    upstreamOf: (...entry) => addresses.upstreamOf(...entry),
    log,
  });
  const components = new Components({ ...options, cluster, caches, environments, repairs, invalidate });
  let isTried = false;

  /** What is read of the cluster; why not everything is, if so. Only the first call waits. */
  const read = async (signal: AbortSignal): Promise<Failure | undefined> => {
    if (!isTried) await caches.untilTried(AbortSignal.any([signal, closed.signal]));
    signal.throwIfAborted();
    closed.signal.throwIfAborted();
    isTried = true;
    return caches.fault;
  };

  /** Nothing is changed of what is not known. */
  const requireRead = async (signal: AbortSignal): Promise<AbortSignal> => {
    signal.throwIfAborted();
    const fault = await read(signal);
    if (fault !== undefined) throw new EphError(fault.code, fault.message, { retryAfterMs: fault.retryAfterMs });
    return AbortSignal.any([signal, closed.signal]);
  };

  return {
    name,
    type: 'kubernetes',
    holdsSecrets: true,
    isolation: { state: 'sandboxed', network: 'own', lacks: {} },

    async list(scope, signal) {
      try {
        const fault = await read(signal);
        // Addresses become known by looking: what is looked at next has them.
        inScope(environments, scope);
        await addresses.untilKnown();
        const items = inScope(environments, scope);
        if (fault === undefined && 'all' in scope) addresses.closeAllBut(environments.ids());
        const unknown = fault ?? ('environment' in scope ? environments.faultOf(scope.environment) : undefined);
        return unknown === undefined ? completeReading(items) : incompleteReading(items, unknown);
      } catch (error) {
        return incompleteReading([], toFailure(error));
      }
    },

    async ensure(identity, component, signal) {
      await components.ensure(identity, component, await requireRead(signal));
    },

    async remove(identity, component, signal) {
      await components.remove(identity, component, await requireRead(signal));
    },

    async hold(identity, held, signal) {
      await components.hold(identity, held, await requireRead(signal));
    },

    async usage(environment, signal) {
      await read(signal);
      const names = environments.get(environment)?.observed.components.map((one) => one.name) ?? [];
      return await readPodUsage(cluster, pods, environment, names, signal);
    },

    async *logs(environment, component, logOptions) {
      await read(logOptions.signal);
      yield* followPodLogs(cluster, pods, environment, component, logOptions);
    },

    async exec(environment, component, request) {
      await read(request.signal);
      return await execInComponent(cluster, pods, environment, component, request);
    },

    async connect(environment, component, port, signal) {
      await read(signal);
      return await connectToComponent(cluster, pods, environment, component, port, signal);
    },

    async readPullSecrets(project, names, signal) {
      const read = secretsOf(cluster, AbortSignal.any([signal, closed.signal]));
      return await readPullSecrets(names, options.copyRules, project, read);
    },

    watch(listener, signal) {
      if (signal.aborted) return;
      const own = (id: EnvironmentId): void => listener(id);
      listeners.add(own);
      signal.addEventListener('abort', () => listeners.delete(own), { once: true });
    },

    async [Symbol.asyncDispose]() {
      closed.abort(new EphError('provider.unreachable', `provider ${name} ends`));
      cancelSettling?.();
      await addresses[Symbol.asyncDispose]();
      await caches[Symbol.asyncDispose]();
      await cluster[Symbol.asyncDispose]();
    },
  };
};

const inScope = (environments: Environments, scope: Scope) => {
  if ('environment' in scope) {
    const view = environments.get(scope.environment);
    if (view === undefined) return [];
    return ['parts' in scope ? environments.withParts(view) : view.observed];
  }
  if ('project' in scope) return environments.all().filter(({ identity }) => identity.project === scope.project);
  return environments.all();
};
