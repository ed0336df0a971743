import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';

/**
 * Runs scripts of package.json side by side, one per processor. Every one of them runs to its end, also if another fails. Exit
 * status: 1 if one of them failed.
 */
const scripts = process.argv.slice(2);
const started = performance.now();

/** The output is printed as a whole, so that those of two scripts do not mix. */
const run = async (script: string): Promise<boolean> => {
  const start = performance.now();
  const child = spawn('npm', ['run', '--silent', script], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [number | null];
  const seconds = ((performance.now() - start) / 1_000).toFixed(1);
  console.log(`${code === 0 ? 'passed' : 'FAILED'}  ${script.padEnd(12)} ${seconds.padStart(6)} s`);
  if (output.trim() !== '') console.log(output.trimEnd());
  return code === 0;
};

const left = scripts.values();
const runInTurn = async (): Promise<boolean> => {
  let passed = true;
  for (const script of left) passed = (await run(script)) && passed;
  return passed;
};
const rows = await Promise.all(Array.from({ length: availableParallelism() }, runInTurn));
console.log(`all gates took ${Math.round((performance.now() - started) / 1_000)} s`);
process.exitCode = rows.every(Boolean) ? 0 : 1;
