const { createServer } = require('node:http');
const { heading } = require('@fruit/shared');

const { PORT = 3000, API_URL = 'http://127.0.0.1:3001' } = process.env;

createServer(async ({ url }, response) => {
  try {
    response.end(url === '/fruit' ? await (await fetch(API_URL)).text() : heading('Fruit from a workspace'));
  } catch (error) {
    response.writeHead(502).end(String(error));
  }
}).listen(PORT, '127.0.0.1');
