import { describeSearch, findProgram, readVersion } from './find-program.ts';
import { ensureGo, goSearch } from './go-toolchain.ts';
import type { Program } from './part.ts';

export const go: Program = {
  name: 'go',
  purpose: 'compiler, what builds samples of Go repositories',
  find: () => {
    const where = findProgram(goSearch, process.env);
    if (where === undefined) return { found: false, reason: describeSearch(goSearch, process.env) };
    return { found: true, where, version: readVersion(where, 'version') };
  },
  get: async (progress, signal) => void (await ensureGo('go', progress, signal)),
};
