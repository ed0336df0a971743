import { spawnSync } from 'node:child_process';
import { getDebianPackage } from './debian-package.ts';
import { describeSearch, findProgram, readVersion, type Search } from './find-program.ts';
import type { Program } from './part.ts';

const search: Search = { program: 'python3', places: ['/usr/bin', '/usr/local/bin'] };

/** Debian ships `ensurepip`, which `python3 -m venv` needs, in a package of its own; `tomllib` comes with Python 3.11. */
const modules = ['venv', 'ensurepip', 'tomllib'];

export const python: Program = {
  name: 'python',
  purpose: 'interpreter with pip, what samples of Python repositories run on',
  find: () => {
    const where = findProgram(search, process.env);
    if (where === undefined) return { found: false, reason: describeSearch(search, process.env) };
    if (spawnSync(where, ['-c', `import ${modules.join(', ')}`]).status !== 0)
      return { found: false, reason: `${where} lacks one of the modules ${modules.join(', ')}` };
    return { found: true, where, version: readVersion(where, '--version') };
  },
  get: (progress, signal) => getDebianPackage('python', 'python3-venv', progress, signal),
};
