import type { TestProject } from 'vitest/node';
import { node } from './node.ts';
import { sharePart } from './share-part.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the address of the node of the run is asked for. */
    sharedNode: string;
  }
}

const setup = async (project: TestProject): Promise<() => Promise<void>> => {
  const shared = await sharePart(
    () => node.start(),
    ({ address }) => address,
  );
  project.provide('sharedNode', shared.url);
  return () => shared.stop();
};

// oxlint-disable-next-line import/no-default-export -- Vitest calls the default export
export default setup;
