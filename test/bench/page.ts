import { once } from 'node:events';
import { request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';

/** How often a page is asked for, on both sides. More often, what asks would take the cores on which the service starts. */
export const pollMs = 10;

export const answersWell = (port: number, host: string): Promise<boolean> =>
  new Promise((resolve) => {
    const asking = request({ host: '127.0.0.1', port, headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asking.on('error', () => resolve(false));
    asking.end();
  });

export const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
};
