import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Figure, reported } from './figure.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Lines before Eph made room for several providers; what is added since must be worth what it replaces. */
const before = { all: 31_187, core: 4_380 };

const testCode = /\.(test|fake|contract|program)\.ts$/;
const core = /^packages\/engine\/(loop|values)\//;

const countLines = (files: readonly string[]): number =>
  files.reduce((sum, file) => sum + readFileSync(`${root}${file}`, 'utf8').split('\n').length - 1, 0);

/** How much code there is to read, and how much of it tests what ships. */
export const measureSourceLines = (): readonly Figure[] => {
  const tracked = execFileSync('git', ['ls-files', '-z', 'packages/*.ts', 'apps/*.ts'], { cwd: root, encoding: 'utf8' });
  const files = tracked.split('\0').filter(Boolean);
  const shipped = files.filter((file) => !testCode.test(file));
  if (shipped.length === 0) throw new Error('Git tracks no source file');
  const packages = [...new Set(files.map((file) => file.split('/').slice(0, 2).join('/')))];
  return [
    reported('source-lines', countLines(shipped) / before.all),
    reported('source-lines-core', countLines(shipped.filter((file) => core.test(file))) / before.core),
    ...packages.flatMap((name) => {
      const isWithin = (file: string): boolean => file.startsWith(`${name}/`);
      const tests = files.filter((file) => isWithin(file) && testCode.test(file));
      return [
        reported(`source-lines ${name}`, countLines(shipped.filter(isWithin)), 'lines'),
        reported(`test-lines ${name}`, countLines(tests), 'lines'),
      ];
    }),
  ];
};
