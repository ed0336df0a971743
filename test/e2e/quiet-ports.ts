import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the range from which the system serves outgoing connections and above the one from which ephd serves its services: a port
 * from here is still free when a killed ephd comes back to it.
 */
const range = { first: 30_000, last: 32_767 };

export const findQuietPort = async (): Promise<number> => {
  for (;;) {
    const port = randomInt(range.first, range.last + 1);
    if (await isFree(port)) return port;
  }
};

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
