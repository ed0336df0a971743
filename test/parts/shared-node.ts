import { inject } from 'vitest';
import { NodeAccess, type NodeAddress } from './node-server.ts';

/** The node of this run, with its cluster. Other files use it at the same time: everything needs a namespace or a name of its own. */
export const findSharedNode = async (): Promise<NodeAccess> => {
  const response = await fetch(inject('sharedNode'));
  if (!response.ok) throw new Error(await response.text());
  return new NodeAccess((await response.json()) as NodeAddress);
};
