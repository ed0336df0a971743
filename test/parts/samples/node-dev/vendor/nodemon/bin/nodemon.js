#!/usr/bin/env node
// Stands in for nodemon: it starts the program as a child. Nothing changes that it would have to be started again for.
const { spawn } = require('node:child_process');

spawn(process.execPath, process.argv.slice(2), { stdio: 'inherit' }).on('exit', (code) => process.exit(code ?? 1));
