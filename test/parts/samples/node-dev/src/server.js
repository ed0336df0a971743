const express = require('express');

const app = express();

app.get('/', (_request, response) => response.send('<h1>Fruit from a dev script</h1>'));
app.listen(process.env.PORT ?? 3000);
