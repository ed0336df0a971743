import { getDebianPackage } from './debian-package.ts';
import { describeSearch, findProgram, readVersion, type Search } from './find-program.ts';
import type { Program } from './part.ts';

const search: Search = { program: 'faketime', places: ['/usr/bin'] };

export const faketime: Program = {
  name: 'faketime',
  purpose: 'library, with which the clock of a process is wrong',
  find: () => {
    const where = findProgram(search, process.env);
    if (where === undefined) return { found: false, reason: describeSearch(search, process.env) };
    return { found: true, where, version: readVersion(where, '--version') };
  },
  get: (progress, signal) => getDebianPackage('faketime', 'faketime', progress, signal),
};

/** What a process is started with to have another time, such as `+2h`. Timers take as long as always. */
export const withClock = (offset: string): Readonly<Record<string, string>> => ({
  // The linker knows what `$LIB` is.
  LD_PRELOAD: '/usr/$LIB/faketime/libfaketime.so.1',
  FAKETIME: offset,
  DONT_FAKE_MONOTONIC: '1',
});
