const { createServer } = require('node:http');
const { heading } = require('@fruit/shared');

const { PORT = 3000, API_URL = 'http://127.0.0.1:3001' } = process.env;

createServer(async ({ url }, response) => {
  const answer = url === '/fruit' ? fetch(API_URL).then((one) => one.text()) : heading('Fruit from a workspace');
  response.end(await answer);
}).listen(PORT, '127.0.0.1');
