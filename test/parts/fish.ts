import { getDebianPackage } from './debian-package.ts';
import { describeSearch, findProgram, readVersion, type Search } from './find-program.ts';
import type { Program } from './part.ts';

const search: Search = { program: 'fish', places: ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'] };

export const fish: Program = {
  name: 'fish',
  purpose: 'shell, in which the commands of eph are completed',
  find: () => {
    const where = findProgram(search, process.env);
    if (where === undefined) return { found: false, reason: describeSearch(search, process.env) };
    return { found: true, where, version: readVersion(where, '--version') };
  },
  get: (progress, signal) => getDebianPackage('fish', 'fish', progress, signal),
};
