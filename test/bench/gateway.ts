import { fork } from 'node:child_process';
import { once } from 'node:events';
import autocannon from 'autocannon';
import { nginx } from '../parts/nginx.ts';
import { atLeast, type Figure, median, missing } from './figure.ts';

const rounds = 3;
const secondsPerRound = 3;

/** Starts a server of the benchmark in a separate process, which prints its port once it listens. */
const startServer = async (role: string, ...args: string[]): Promise<{ readonly port: number; stop(): Promise<void> }> => {
  const child = fork(new URL('gateway-server.program.ts', import.meta.url), [role, ...args], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const [port] = (await once(child, 'message')) as [number];
  return {
    port,
    async stop() {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
};

const requestsPerSecond = async (port: number): Promise<number> => {
  const result = await autocannon({
    url: `http://127.0.0.1:${port}/`,
    connections: 32,
    duration: secondsPerRound,
    headers: { host: 'bench.localhost' },
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`port ${port}: ${result.non2xx} bad answers, ${result.errors} errors`);
  return result.requests.average;
};

/** Requests per second over the same upstream. The servers take turns, so that a load spike affects all of them. */
export const measureGateway = async (): Promise<readonly Figure[]> => {
  const upstream = await startServer('upstream');
  const gateway = await startServer('gateway', String(upstream.port));
  const httpxy = await startServer('httpxy', String(upstream.port));
  const finding = nginx.find();
  const server = finding.found ? await nginx.start({ upstreamPort: upstream.port }) : undefined;
  const speeds = { gateway: [] as number[], httpxy: [] as number[], nginx: [] as number[] };
  try {
    for (let round = 0; round < rounds; round += 1) {
      speeds.gateway.push(await requestsPerSecond(gateway.port));
      speeds.httpxy.push(await requestsPerSecond(httpxy.port));
      if (server !== undefined) speeds.nginx.push(await requestsPerSecond(server.port));
    }
  } finally {
    await Promise.all([gateway.stop(), httpxy.stop(), upstream.stop(), server?.stop()]);
  }
  const own = median(speeds.gateway);
  return [
    finding.found
      ? atLeast('gateway-vs-nginx', own / median(speeds.nginx), 0.5)
      : missing('gateway-vs-nginx', `nginx is missing: npm run parts -- --get nginx`),
    atLeast('gateway-vs-httpxy', own / median(speeds.httpxy), 1.5),
  ];
};
