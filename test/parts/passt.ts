import { getDebianPackage } from './debian-package.ts';
import { describeSearch, findProgram, readVersion, type Search } from './find-program.ts';
import type { Program } from './part.ts';

const search: Search = { program: 'pasta', places: ['/usr/bin', '/usr/local/bin'] };
const routes: Search = { program: 'ip', places: ['/usr/bin', '/usr/sbin', '/sbin', '/bin'] };

export const passt: Program = {
  name: 'passt',
  purpose: 'networks of their own, for services of forks',
  find: () => {
    const where = findProgram(search, process.env);
    if (where === undefined) return { found: false, reason: describeSearch(search, process.env) };
    if (findProgram(routes, process.env) === undefined) return { found: false, reason: describeSearch(routes, process.env) };
    return { found: true, where, version: readVersion(where, '--version') };
  },
  get: async (progress, signal) => {
    await getDebianPackage('passt', 'passt', progress, signal);
    await getDebianPackage('passt', 'iproute2', progress, signal);
  },
};

export const locateIp = (): string => {
  const program = findProgram(routes, process.env);
  if (program === undefined) throw new Error(`ip is missing: ${describeSearch(routes, process.env)}`);
  return program;
};
