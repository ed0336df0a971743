import { getDebianPackage } from './debian-package.ts';
import { describeSearch, findProgram, readVersion, type Search } from './find-program.ts';
import type { Program } from './part.ts';

const search: Search = { program: 'tmux', places: ['/usr/bin', '/usr/local/bin'] };

export const tmux: Program = {
  name: 'tmux',
  purpose: 'terminals that a test types into and reads',
  find: () => {
    const where = findProgram(search, process.env);
    if (where === undefined) return { found: false, reason: describeSearch(search, process.env) };
    return { found: true, where, version: readVersion(where, '-V') };
  },
  get: (progress, signal) => getDebianPackage('tmux', 'tmux', progress, signal),
};
