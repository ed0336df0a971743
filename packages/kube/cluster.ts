import { type Log, silentLog } from '@eph/contract';
import type { Clock } from '@eph/engine/time/clock';
import { type ClusterLocation, createConnection } from './connection.ts';
import {
  type ApplyOptions,
  createKubeClient,
  type DeleteOptions,
  type Deletion,
  type KubeClient,
  type ObjectPatch,
  type Selection,
} from './kube-client.ts';
import { isSelected } from './label-selector.ts';
import type { KindName, KubeObject, ObjectName } from './object.ts';
import type { Indexes, Keep } from './object-cache.ts';
import { type KubeObserver, noObserver } from './observer.ts';
import { createPodStreams, type PodStreams } from './pod-streams.ts';
import { Reflector } from './reflector.ts';
import { createTransport } from './transport.ts';
import { createTurns } from './turns.ts';

/**
 * One Kubernetes cluster: what it holds, and how that is changed.
 *
 *     const cluster = openCluster({ name: 'staging', location: { kubeconfig: '/etc/eph/staging' }, clock, random });
 *     const pods = cluster.reflect({ apiVersion: 'v1', kind: 'Pod', labels: { 'eph.io/owner': id } }, keepPod, {
 *       environment: ({ metadata }) => [metadata.labels?.['eph.io/environment'] ?? []].flat(),
 *     });
 *     pods.listen((keys) => …);                         // something changed, or `pods.sync` did
 *     if (pods.sync.inSync) pods.cache.by('environment', 'one');
 *     await cluster.apply(deployment, { manager: 'eph', force: true }, signal);
 *
 * How it works
 * - `connection.ts` knows how to get in and `transport.ts` carries requests there; credentials that are refused are read again.
 *   `rest-client.ts` adds time-outs, limits, the pauses that a server asks for, and errors (`refusal.ts`); `kube-client.ts` adds verbs.
 * - Which path a kind has is found out from the server (`discovery.ts`).
 * - A `Reflector` per selection keeps an `ObjectCache` equal to the cluster, and says whether it is. Of each object only what `keep` keeps
 *   is in memory (`kept-fields.ts`). Reading a cache costs no request.
 * - Writes go through here, so that every cache that holds the object shows it at once.
 * - `pod-streams.ts` has logs, commands and ports of pods; `readiness.ts` and `pod-trouble.ts` say in words how objects are;
 *   `kube-lease.ts` decides who leads.
 *
 * What always holds
 * - Nothing is taken as gone because of an error: a cache that is out of sync says so, and only the API server's own 404 for an object, an
 *   event of a watch or a whole list removes something.
 * - A watch never ends by itself, whatever the server does.
 * - Tokens, keys and the contents of Secrets are in no error and in no log.
 */
export interface Cluster extends AsyncDisposable {
  readonly name: string;
  /** For reading. Whoever writes through it does not see it in caches until the watch shows it. */
  readonly client: KubeClient;
  readonly pods: PodStreams;
  /** Lives until it, or the cluster, is disposed. */
  reflect<T extends KubeObject, Name extends string = never>(
    selection: Selection,
    keep: Keep<T>,
    indexes: Indexes<T, Name>,
  ): Reflector<T, Name>;
  create(object: KubeObject, signal: AbortSignal): Promise<KubeObject>;
  apply(object: KubeObject, options: ApplyOptions, signal: AbortSignal): Promise<KubeObject>;
  patch(kind: KindName, name: ObjectName, patch: ObjectPatch, signal: AbortSignal): Promise<KubeObject>;
  delete(kind: KindName, name: ObjectName, options: DeleteOptions, signal: AbortSignal): Promise<Deletion>;
}

export interface ClusterOptions {
  /** What operators call it. */
  readonly name: string;
  readonly location: ClusterLocation;
  readonly clock: Clock;
  readonly random: () => number;
  readonly observer?: KubeObserver;
  readonly log?: Log;
}

/** One kind that takes long must not hold up the others. */
const pagesAtOnce = 2;

/** What a cluster needs of a reflector, whatever that keeps. */
type Writes = Pick<Reflector<KubeObject>, 'selection' | 'noteWritten' | 'noteGone'> & AsyncDisposable;

export const openCluster = (options: ClusterOptions): Cluster => {
  const { name, location, clock, random, observer = noObserver, log = silentLog } = options;
  const transport = createTransport(name, createConnection(name, location, clock));
  const client = createKubeClient({ cluster: name, transport, clock, random, observer });
  const reflectors = new Set<Writes>();
  const turns = createTurns(pagesAtOnce);

  const holders = (kind: KindName, namespace: string | undefined): readonly Writes[] =>
    [...reflectors].filter(
      ({ selection }) =>
        selection.apiVersion === kind.apiVersion &&
        selection.kind === kind.kind &&
        selection.fields === undefined &&
        (selection.namespace === undefined || selection.namespace === namespace),
    );

  const noteWritten = (object: KubeObject): KubeObject => {
    const { namespace, labels } = object.metadata;
    for (const reflector of holders(object, namespace))
      if (isSelected(reflector.selection.labels ?? {}, labels)) reflector.noteWritten(object);
    return object;
  };

  return {
    name,
    client,
    pods: createPodStreams({ client, transport, clock }),
    reflect: (selection, keep, indexes) => {
      const reflector = new Reflector({ client, selection, keep, indexes, clock, random, observer, log, turns });
      reflectors.add(reflector);
      return reflector;
    },
    create: async (object, signal) => noteWritten(await client.create(object, signal)),
    apply: async (object, applied, signal) => {
      const answer = await client.apply(object, applied, signal);
      return applied.dryRun === true ? answer : noteWritten(answer);
    },
    patch: async (kind, object, patch, signal) => noteWritten(await client.patch(kind, object, patch, signal)),
    delete: async (kind, object, how, signal) => {
      const deletion = await client.delete(kind, object, how, signal);
      if (deletion.state === 'removing') noteWritten(deletion.object);
      else if (deletion.uid !== undefined)
        for (const reflector of holders(kind, object.namespace)) reflector.noteGone(object, deletion.uid);
      return deletion;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...reflectors].map((reflector) => reflector[Symbol.asyncDispose]()));
      await transport[Symbol.asyncDispose]();
    },
  };
};
