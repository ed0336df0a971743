const { createServer } = require('node:http');
const { fruit } = require('@fruit/shared');

createServer((_request, response) => response.end(JSON.stringify(fruit))).listen(process.env.PORT ?? 3001, '127.0.0.1');
