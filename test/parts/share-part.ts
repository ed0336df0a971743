import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RunningPart } from './part.ts';

export interface SharedPart {
  /** Answers with what `describe` says of the part, and starts it first if nobody has asked before. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starting takes longer than most tests, and each test file runs in a process of its own: so the run starts one part for all. */
export const sharePart = async <Running extends RunningPart>(
  start: () => Promise<Running>,
  describe: (running: Running) => unknown,
): Promise<SharedPart> => {
  let starting: Promise<Running> | undefined;
  const server = createServer((_request, response) => {
    starting ??= start();
    starting.then(
      (running) => response.end(JSON.stringify(describe(running))),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    stop: async () => {
      server.close().closeAllConnections();
      // Whoever asked has got the error.
      await (await starting?.catch(() => undefined))?.stop();
    },
  };
};
