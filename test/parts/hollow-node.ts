import { setTimeout as delay } from 'node:timers/promises';
import { type ClusterApi, ClusterRefusal, type KubernetesObject } from './cluster-api.ts';
import type { ClusterAccess } from './cluster-server.ts';

interface Container {
  readonly name: string;
  readonly image: string;
}

interface Pod extends KubernetesObject {
  readonly metadata: KubernetesObject['metadata'] & { readonly namespace: string };
  readonly spec: {
    readonly restartPolicy: 'Always' | 'OnFailure' | 'Never';
    readonly containers: readonly Container[];
    readonly initContainers?: readonly Container[];
  };
  readonly status: { readonly phase: string };
}

interface PodList {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly Pod[];
}

/** Annotations of a pod that say what becomes of it. */
export const hollow = {
  /** Milliseconds until it is ready. Default 0. */
  readyAfter: 'hollow.example.com/ready-after',
  /** It never starts, for this reason, such as `ImagePullBackOff`. */
  waiting: 'hollow.example.com/waiting',
} as const;

const renewEveryMs = 10_000;
const retryAfterMs = 250;

/**
 * A node without programs: pods that are bound to it are running and ready, those that are not to run for ever have succeeded, and
 * those that are deleted are gone. Nothing listens on their addresses.
 */
export class HollowNode {
  readonly name: string;
  readonly #api: ClusterApi;
  readonly #abort = new AbortController();
  /** The pods that something is being done to, or was done already. */
  readonly #begun = new Set<string>();
  readonly #work: Promise<unknown>;
  #pods = 0;

  private constructor(name: string, api: ClusterApi) {
    this.name = name;
    this.#api = api;
    this.#work = Promise.all([this.#followPods(), this.#renew()]);
  }

  static async start(server: ClusterAccess, name = 'hollow'): Promise<HollowNode> {
    const api = server.as(await server.createUser(`system:node:${name}`, ['system:nodes']));
    await api.send('POST', '/api/v1/nodes', { body: { metadata: { name, labels: { 'kubernetes.io/hostname': name } } } });
    await api.send('PATCH', `/api/v1/nodes/${name}/status`, {
      patch: 'strategic-merge-patch+json',
      body: { status: nodeStatus() },
    });
    return new HollowNode(name, api);
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#work;
    await this.#api.close();
  }

  /** The API server may be away for a while. */
  async #followPods(): Promise<void> {
    const path = `/api/v1/pods?fieldSelector=spec.nodeName%3D${this.name}`;
    await this.#untilStopped(async (signal) => {
      const { metadata, items } = await this.#api.send<PodList>('GET', path, { signal });
      for (const pod of items) this.#see(pod);
      for await (const { type, object } of this.#api.watch<Pod>(path, metadata.resourceVersion, signal)) {
        if (type === 'ERROR') break;
        if (type !== 'DELETED') this.#see(object);
      }
    }, retryAfterMs);
  }

  /** Without this, pods are moved away after a minute. */
  async #renew(): Promise<void> {
    const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${this.name}?fieldManager=hollow&force=true`;
    await this.#untilStopped(async (signal) => {
      const spec = { holderIdentity: this.name, leaseDurationSeconds: 40, renewTime: microTime() };
      const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: this.name }, spec };
      await this.#api.send('PATCH', path, { patch: 'apply-patch+yaml', body, signal });
    }, renewEveryMs);
  }

  async #untilStopped(work: (signal: AbortSignal) => Promise<void>, pauseMs: number): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      await work(signal).catch(() => undefined); // It is tried again.
      await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  #see(pod: Pod): void {
    const { namespace, name, uid, deletionTimestamp } = pod.metadata;
    const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
    if (deletionTimestamp !== undefined) {
      const body = { gracePeriodSeconds: 0, preconditions: { uid } };
      this.#begin(`${uid} ends`, 0, (signal) => this.#api.send('DELETE', path, { body, signal }));
    } else if (pod.status.phase === 'Pending') {
      const after = Number(pod.metadata.annotations?.[hollow.readyAfter] ?? 0);
      this.#begin(`${uid} starts`, after, (signal) => {
        const body = { metadata: { uid }, status: podStatus(pod, this.#nextAddress()) };
        return this.#api.send('PATCH', `${path}/status`, { patch: 'strategic-merge-patch+json', body, signal });
      });
    }
  }

  /** Does it once, and again only if the API server could not do it. */
  #begin(key: string, afterMs: number, effect: (signal: AbortSignal) => Promise<unknown>): void {
    if (this.#begun.has(key)) return;
    this.#begun.add(key);
    const { signal } = this.#abort;
    const attempt = async (pauseMs: number): Promise<void> => {
      try {
        if (pauseMs > 0) await delay(pauseMs, undefined, { signal });
        await effect(signal);
      } catch (error) {
        // The pod is gone, or is another one of this name.
        if (signal.aborted || (error instanceof ClusterRefusal && [404, 409, 422].includes(error.status))) return;
        await attempt(retryAfterMs);
      }
    };
    void attempt(afterMs);
  }

  #nextAddress(): string {
    this.#pods += 1;
    return `10.244.${(this.#pods >> 8) % 256}.${this.#pods % 256}`;
  }
}

const microTime = (): string => new Date().toISOString().replace('Z', '000Z');

const nodeStatus = () => {
  const resources = { cpu: '100000', memory: '100Ti', 'ephemeral-storage': '100Ti', pods: '100000' };
  const now = new Date().toISOString();
  const ready = { type: 'Ready', status: 'True', reason: 'Hollow', message: '', lastHeartbeatTime: now, lastTransitionTime: now };
  return { capacity: resources, allocatable: resources, conditions: [ready] };
};

const fateOf = ({ spec, metadata }: Pod): keyof typeof phases => {
  if (metadata.annotations?.[hollow.waiting] !== undefined) return 'waiting';
  return spec.restartPolicy === 'Always' ? 'running' : 'succeeded';
};

const phases = { waiting: 'Pending', running: 'Running', succeeded: 'Succeeded' } as const;

const podStatus = (pod: Pod, podIP: string) => {
  const { spec, metadata } = pod;
  const now = new Date().toISOString();
  const fate = fateOf(pod);
  const ended = { terminated: { exitCode: 0, reason: 'Completed', startedAt: now, finishedAt: now } };
  const state = {
    waiting: { waiting: { reason: metadata.annotations?.[hollow.waiting], message: 'as its annotation says' } },
    running: { running: { startedAt: now } },
    succeeded: ended,
  }[fate];
  const container = ({ name, image }: Container, its: object, ready: boolean) => {
    const identity = { name, image, imageID: '', containerID: `hollow://${metadata.uid}/${name}` };
    return { ...identity, state: its, ready, started: ready, restartCount: 0 };
  };
  const isReady = fate === 'running';
  const condition = (type: string, value: boolean) => ({ type, status: value ? 'True' : 'False', lastTransitionTime: now });
  return {
    phase: phases[fate],
    startTime: now,
    podIP,
    podIPs: [{ ip: podIP }],
    conditions: [condition('Initialized', true), condition('ContainersReady', isReady), condition('Ready', isReady)],
    containerStatuses: spec.containers.map((one) => container(one, state, isReady)),
    initContainerStatuses: (spec.initContainers ?? []).map((one) => container(one, ended, true)),
  };
};
