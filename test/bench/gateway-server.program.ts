import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { environmentName } from '@eph/contract';
import { createGateway } from '@eph/gateway';
import { createProxyServer } from 'httpxy';

const body = 'x'.repeat(1024);

const announce = (port: number): void => void process.send?.(port);

const listen = (server: Server): void => {
  server.listen(0, '127.0.0.1', () => announce((server.address() as AddressInfo).port));
};

const [role, upstreamPort] = process.argv.slice(2);
if (role === 'upstream') {
  listen(createServer((_, response) => response.end(body)));
} else if (role === 'httpxy') {
  const proxy = createProxyServer({});
  const target = `http://127.0.0.1:${upstreamPort}`;
  listen(createServer((request, response) => void proxy.web(request, response, { target })));
} else {
  const environment = environmentName('bench');
  const route = { state: 'open', environment, upstream: { host: '127.0.0.1', port: Number(upstreamPort) } } as const;
  const gateway = await createGateway({ port: 0, routes: { find: (label) => (label === 'bench' ? route : undefined) } });
  announce(gateway.port);
}
