import type { TestProject } from 'vitest/node';
import { cluster } from './cluster.ts';
import type { ClusterServer } from './cluster-server.ts';
import { HollowNode } from './hollow-node.ts';
import type { RunningPart } from './part.ts';
import { sharePart } from './share-part.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the address of the cluster of the run is asked for. */
    sharedCluster: string;
  }
}

const setup = async (project: TestProject): Promise<() => Promise<void>> => {
  const shared = await sharePart(startWithNode, ({ server }) => server.address);
  project.provide('sharedCluster', shared.url);
  return () => shared.stop();
};

const startWithNode = async (): Promise<RunningPart & { readonly server: ClusterServer }> => {
  const server = await cluster.start();
  try {
    const node = await HollowNode.start(server);
    const stop = async (): Promise<void> => {
      await node.stop();
      await server.stop();
    };
    return { folder: server.folder, port: server.port, server, stop };
  } catch (error) {
    await server.stop();
    throw error;
  }
};

// oxlint-disable-next-line import/no-default-export -- Vitest calls the default export
export default setup;
