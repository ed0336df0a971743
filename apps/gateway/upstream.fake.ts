import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net';
import { environmentName } from '@eph/contract';
import type { OpenRoute } from './routes.ts';

export interface FakeUpstream<AnyServer extends TcpServer> extends AsyncDisposable {
  readonly server: AnyServer;
  readonly port: number;
  /** The route of an environment of that name that answers here. */
  route(name: string): OpenRoute;
  stop(): Promise<void>;
}

/** A real server on loopback that stands in for an environment. */
export const startUpstream = (listener: (...parameters: Parameters<RequestListener>) => unknown): Promise<FakeUpstream<Server>> =>
  start(createServer((request, response) => void listener(request, response)));

/** The same at the level of TCP: the listener sends every byte itself. */
export const startTcpUpstream = (onConnection: (socket: Socket) => void): Promise<FakeUpstream<TcpServer>> =>
  start(
    createTcpServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => undefined);
      onConnection(socket);
    }),
  );

/** A port nobody listens on. */
export const findDeadPort = async (): Promise<number> => {
  const upstream = await startTcpUpstream((socket) => socket.destroy());
  await upstream.stop();
  return upstream.port;
};

const start = async <AnyServer extends TcpServer>(server: AnyServer): Promise<FakeUpstream<AnyServer>> => {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return {
    server,
    port,
    route: (name) => openRoute(name, port),
    stop,
    [Symbol.asyncDispose]: stop,
  };
};

export const openRoute = (name: string, port: number): OpenRoute => ({
  state: 'open',
  environment: environmentName(name),
  upstream: { host: '127.0.0.1', port },
});
