import { inject } from 'vitest';
import { ClusterAccess, type ClusterAddress } from './cluster-server.ts';

/**
 * The cluster of this run, with a node on which pods seem to run (`hollow-node.ts`). Other files use it at the same time: everything
 * needs a namespace or a name of its own.
 */
export const findSharedCluster = async (): Promise<ClusterAccess> => {
  const response = await fetch(inject('sharedCluster'));
  if (!response.ok) throw new Error(await response.text());
  return new ClusterAccess((await response.json()) as ClusterAddress);
};
