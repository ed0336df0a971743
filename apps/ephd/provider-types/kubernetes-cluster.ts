import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { EphError } from '@eph/contract';
import type { ClusterLocation } from '@eph/kube/connection';

export interface ClusterSettings {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
}

/**
 * Where the file says that a cluster is. Without a kubeconfig: the cluster that runs ephd, or else what kubectl would take. A context is
 * one of a kubeconfig, which the account of a pod has none of.
 */
export const locateCluster = (
  { kubeconfig, context }: ClusterSettings,
  variables: Readonly<Record<string, string | undefined>>,
): ClusterLocation => {
  if (kubeconfig !== undefined) return { kubeconfig, context };
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '' } = variables;
  if (context === undefined && host !== '' && port !== '') return { inCluster: { host, port } };
  return { kubeconfig: findKubeconfig(variables), context };
};

const findKubeconfig = ({ KUBECONFIG = '', HOME = '' }: Readonly<Record<string, string | undefined>>): string => {
  const files = KUBECONFIG.split(delimiter).filter((file) => file !== '');
  if (files.length > 1)
    throw new EphError(
      'config.invalid',
      'KUBECONFIG names several files, which kubectl merges and ephd does not. Name one under kubeconfig in the file of ephd, such as what `kubectl config view --flatten` prints.',
    );
  return files[0] ?? join(HOME || homedir(), '.kube', 'config');
};
