import { getDebianPackage } from './debian-package.ts';
import { describeSearch, findProgram, readVersion, type Search } from './find-program.ts';
import type { Program } from './part.ts';

const search: Search = { program: 'script', places: ['/usr/bin', '/bin'] };

export const script: Program = {
  name: 'script',
  purpose: 'command of util-linux, which gives programs a terminal of their own',
  find: () => {
    const where = findProgram(search, process.env);
    if (where === undefined) return { found: false, reason: describeSearch(search, process.env) };
    const version = readVersion(where, '--version');
    if (version.includes('util-linux')) return { found: true, where, version };
    return { found: false, reason: `${where} is not the one of util-linux; others take different arguments` };
  },
  get: (progress, signal) => getDebianPackage('script', 'bsdutils', progress, signal),
};
