import type { Duplex } from 'node:stream';
import { type ComponentName, type EnvironmentId, EphError } from '@eph/contract';
import type { Cluster } from '@eph/kube/cluster';
import { type ComponentPods, findRunningPods, nameOfPod, requirePods } from './component-pods.ts';

/**
 * A connection to a port of the newest pod that is ready. That nothing listens there shows as an error of the connection, because the node
 * connects only afterwards.
 */
export const connectToComponent = async (
  cluster: { readonly pods: Pick<Cluster['pods'], 'connect'> },
  pods: ComponentPods,
  environment: EnvironmentId,
  component: ComponentName,
  port: number,
  signal: AbortSignal,
): Promise<Duplex> => {
  signal.throwIfAborted();
  const [pod] = findRunningPods(requirePods(pods, environment, component));
  if (pod === undefined)
    throw new EphError('component.not_ready', `No pod of ${component} runs at the moment; its log says why.`);
  return await cluster.pods.connect(nameOfPod(pod), port, signal);
};
