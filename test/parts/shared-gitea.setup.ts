import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import { gitea } from './gitea.ts';
import type { GiteaAddress, GiteaServer } from './gitea-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Answers with the address of the Gitea of the run, and starts it first if nobody has asked before. */
    sharedGitea: string;
  }
}

/** Starting takes longer than most tests, and each test file runs in a process of its own: so the run starts one Gitea for all. */
const setup = async (project: TestProject): Promise<() => Promise<void>> => {
  let starting: Promise<GiteaServer> | undefined;
  const server = createServer((_request, response) => {
    starting ??= gitea.start();
    starting.then(
      ({ folder, port, admin }) => response.end(JSON.stringify({ folder, port, admin } satisfies GiteaAddress)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  project.provide('sharedGitea', `http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  return async () => {
    server.close().closeAllConnections();
    // Whoever asked has got the error.
    await (await starting?.catch(() => undefined))?.stop();
  };
};

// oxlint-disable-next-line import/no-default-export -- Vitest calls the default export
export default setup;
