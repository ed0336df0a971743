#!/usr/bin/env node
// Stands in for Vite: a server of the files of a project, with a proxy, that knows the port by its flag and by no variable.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { port: { type: 'string', default: '5173' }, host: { type: 'string', default: '::1' } },
});
const { default: config } = await import(pathToFileURL(join(process.cwd(), 'vite.config.js')).href);
const proxied = Object.entries(config.server.proxy);

createServer(async (request, response) => {
  try {
    const { pathname } = new URL(request.url, 'http://localhost');
    const [, target] = proxied.find(([prefix]) => pathname.startsWith(prefix)) ?? [];
    const type = pathname.endsWith('.js') ? 'text/javascript' : 'text/html';
    if (target !== undefined) response.end(Buffer.from(await (await fetch(new URL(pathname, target))).arrayBuffer()));
    else
      response
        .setHeader('content-type', type)
        .end(await readFile(join(process.cwd(), pathname === '/' ? 'index.html' : pathname)));
  } catch (error) {
    response.writeHead(error.code === 'ENOENT' ? 404 : 502).end(String(error));
  }
}).listen(Number(values.port), values.host);
