import type { TestProject } from 'vitest/node';
import { gitea } from './gitea.ts';
import type { GiteaAddress } from './gitea-server.ts';
import { sharePart } from './share-part.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the address of the Gitea of the run is asked for. */
    sharedGitea: string;
  }
}

const setup = async (project: TestProject): Promise<() => Promise<void>> => {
  const shared = await sharePart(
    () => gitea.start(),
    ({ folder, port, admin }): GiteaAddress => ({ folder, port, admin }),
  );
  project.provide('sharedGitea', shared.url);
  return () => shared.stop();
};

// oxlint-disable-next-line import/no-default-export -- Vitest calls the default export
export default setup;
