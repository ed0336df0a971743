import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getDebianPackage } from './debian-package.ts';
import { describeSearch, findProgram, readVersion, type Search } from './find-program.ts';
import type { Part, RunningPart } from './part.ts';
import { createPartFolder, startOnFreePort, startPartProcess } from './part-process.ts';

const search: Search = { program: 'nginx', places: ['/usr/sbin', '/usr/local/sbin'] };

export interface NginxOptions {
  /** The upstream port on loopback. */
  readonly upstreamPort: number;
}

export interface RunningNginx extends RunningPart {
  readonly url: string;
}

export const nginx: Part<NginxOptions, RunningNginx> = {
  name: 'nginx',
  purpose: 'web server, what the gateway is compared with',
  find: () => {
    const where = findProgram(search, process.env);
    if (where === undefined) return { found: false, reason: describeSearch(search, process.env) };
    return { found: true, where, version: readVersion(where, '-v') };
  },
  get: (progress, signal) => getDebianPackage('nginx', 'nginx-light', progress, signal),
  start: async ({ upstreamPort }) => {
    const command = findProgram(search, process.env);
    if (command === undefined) throw new Error(`nginx is missing: ${describeSearch(search, process.env)}`);
    const folder = createPartFolder('nginx');
    const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
    try {
      const { port, server } = await startOnFreePort(async (port) => {
        await writeFile(join(folder, 'nginx.conf'), configuration(folder, port, upstreamPort));
        const args = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'];
        return {
          port,
          server: await startPartProcess({ command, args, folder, ready: /start worker process /, stopSignal: 'SIGTERM' }),
        };
      });
      const stop = async (): Promise<void> => {
        await server.stop();
        await remove();
      };
      return { folder, port, url: `http://127.0.0.1:${port}`, stop };
    } catch (error) {
      await remove();
      throw error;
    }
  },
};

/** One worker and keep-alive on both sides: the fastest fair configuration for one core. */
const configuration = (folder: string, port: number, upstreamPort: number): string => `
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log stderr notice;
events { worker_connections 4096; }
http {
  access_log off;
  keepalive_requests 1000000;
  client_body_temp_path ${folder}/client_body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  upstream target {
    server 127.0.0.1:${upstreamPort};
    keepalive 256;
    keepalive_requests 1000000;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://target;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
    }
  }
}
`;
