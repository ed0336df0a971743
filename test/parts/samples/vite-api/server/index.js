import { createServer } from 'node:http';

createServer((_request, response) => {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(['apple', 'pear']));
}).listen(Number(process.env.PORT ?? 3001), '127.0.0.1');
