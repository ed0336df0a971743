import { getDebianPackage } from './debian-package.ts';
import { describeSearch, findProgram, readVersion, type Search } from './find-program.ts';
import type { Program } from './part.ts';

const search: Search = { program: 'chromium', places: ['/usr/bin', '/usr/local/bin'] };

export const chromium: Program = {
  name: 'chromium',
  purpose: 'browser, what pages of other sites are tried in',
  find: () => {
    const where = findProgram(search, process.env);
    if (where === undefined) return { found: false, reason: describeSearch(search, process.env) };
    return { found: true, where, version: readVersion(where, '--version') };
  },
  get: (progress, signal) => getDebianPackage('chromium', 'chromium', progress, signal),
};
