#!/usr/bin/env node
// Stands in for nodemon: it starts the program, and nothing changes that it would have to be started again for.
require('node:module').runMain(process.argv.splice(1, 1));
