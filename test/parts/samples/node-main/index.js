const { join } = require('node:path');
const express = require('express');

const app = express();
const port = process.env.PORT || 3000;

app.get('/', (_request, response) => response.send('<h1>Fruit from a package with a main file</h1>'));
app.use(express.static(join(__dirname, 'public')));
app.listen(port, () => console.log(`Listening on ${port}`));
