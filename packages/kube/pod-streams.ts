import type { Duplex } from 'node:stream';
import type { ExecSession } from '@eph/engine/provider/provider';
import type { Clock } from '@eph/engine/time/clock';
import type { KubeClient } from './kube-client.ts';
import { type PodCommand, runInPod } from './pod-exec.ts';
import { type ContainerLogOptions, type LogLine, readContainerLog } from './pod-log.ts';
import type { PodName } from './pod-path.ts';
import { openPodPort } from './pod-port.ts';
import type { Transport } from './transport.ts';

/** What flows between here and one pod. Each goes through the API server to the kubelet. */
export interface PodStreams {
  /** Lines of one container, oldest first. */
  log(pod: PodName, container: string, options: ContainerLogOptions, signal: AbortSignal): AsyncIterable<LogLine>;
  /** Resolves when the command runs. */
  exec(pod: PodName, command: PodCommand, signal: AbortSignal): Promise<ExecSession>;
  /** One connection to a port of the pod. */
  connect(pod: PodName, port: number, signal: AbortSignal): Promise<Duplex>;
}

interface PodStreamOptions {
  readonly client: KubeClient;
  readonly transport: Transport;
  readonly clock: Clock;
}

export const createPodStreams = ({ client, transport, clock }: PodStreamOptions): PodStreams => {
  const source = { cluster: client.cluster, transport, clock };
  return {
    log: (pod, container, wanted, signal) => readContainerLog(client, pod, container, wanted, signal),
    exec: (pod, command, signal) => runInPod(source, pod, command, signal),
    connect: (pod, port, signal) => openPodPort(source, pod, port, signal),
  };
};
