import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { atMost, type Figure, median } from './figure.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const rounds = 21;

const milliseconds = (...args: string[]): number => {
  const start = performance.now();
  execFileSync(process.execPath, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  return performance.now() - start;
};

/** The command as it is shipped: bundled. */
export const measureCliStart = (): readonly Figure[] => {
  execFileSync(process.execPath, ['apps/eph/build.ts'], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] });
  const command: number[] = [];
  const baseline: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    command.push(milliseconds('apps/eph/dist/main.mjs', 'version'));
    baseline.push(milliseconds('-e', '0'));
  }
  return [atMost('cli-start', median(command) / median(baseline), 2)];
};
