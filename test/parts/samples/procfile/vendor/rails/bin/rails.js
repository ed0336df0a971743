#!/usr/bin/env node
// Stands in for the server of Rails: it takes its port as `-p` and answers with the routes of the application.
const { readFileSync } = require('node:fs');
const { createServer } = require('node:http');
const { parseArgs } = require('node:util');

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { port: { type: 'string', short: 'p', default: '3000' } },
});
if (positionals[0] !== 'server') throw new Error(`There is no task ${positionals[0]}`);
const routes = JSON.parse(readFileSync('config/routes.json', 'utf8'));

createServer(({ url }, response) => {
  response.writeHead(routes[url] === undefined ? 404 : 200).end(routes[url]);
}).listen(Number(values.port), '127.0.0.1');
