import { readFileSync } from 'node:fs';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';

/** Serves the pages of a file, by their number, and does nothing else: it serialises each on each request. */
const pages = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as readonly object[];
const app = new Hono();
app.get('/:page', (c) => c.json(pages[Number(c.req.param('page'))]));
const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => void process.send?.(port));
process.once('disconnect', () => server.close());
