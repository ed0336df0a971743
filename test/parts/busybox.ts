import { getDebianPackage } from './debian-package.ts';
import { describeSearch, findProgram, readVersion, type Search } from './find-program.ts';
import type { Program } from './part.ts';

const search: Search = { program: 'busybox', places: ['/bin', '/usr/bin'] };

export const busybox: Program = {
  name: 'busybox',
  purpose: 'shell and tools of small images, in which the script for CI runs',
  find: () => {
    const where = findProgram(search, process.env);
    if (where === undefined) return { found: false, reason: describeSearch(search, process.env) };
    return { found: true, where, version: readVersion(where, '--help') };
  },
  get: (progress, signal) => getDebianPackage('busybox', 'busybox', progress, signal),
};
