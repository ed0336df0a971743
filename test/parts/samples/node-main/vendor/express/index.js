// Stands in for Express: the part of its interface that the sample uses.
const { readFile } = require('node:fs');
const { createServer } = require('node:http');
const { join } = require('node:path');

const express = () => {
  const handlers = [];
  const app = (request, response) => {
    const send = (text) => response.setHeader('content-type', 'text/html; charset=utf-8').end(text);
    const run = (index) => {
      if (index === handlers.length) return response.writeHead(404).end('Not found');
      return handlers[index](request, Object.assign(response, { send }), () => run(index + 1));
    };
    run(0);
  };
  const use = (handler) => void handlers.push(handler);
  const get = (path, handler) => use((request, response, next) => (request.url === path ? handler(request, response) : next()));
  return Object.assign(app, { use, get, listen: (...args) => createServer(app).listen(...args) });
};

express.static = (folder) => (request, response, next) =>
  readFile(join(folder, new URL(request.url, 'http://localhost').pathname), (error, content) =>
    error === null ? response.end(content) : next(),
  );

module.exports = express;
