import { readConfig } from '../../apps/ephd/config.ts';
import { createLog } from '../../apps/ephd/log.ts';
import { startEphd } from '../../apps/ephd/wiring.ts';

/** Starts ephd in this process, waits until it is idle, and prints the bytes its heap holds after a collection. */
const config = readConfig(['--config', process.argv[2] ?? '', '--log-level', 'silent'], process.env);
if (config === 'help' || globalThis.gc === undefined) throw new Error('run with --expose-gc and a configuration file');
const ephd = await startEphd(config, process.env, createLog('silent'));
let resting = 0;
let held = Number.POSITIVE_INFINITY;
while (resting < 5) {
  await new Promise((resolve) => setTimeout(resolve, 400));
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  const now = heapUsed + external;
  resting = Math.abs(now - held) < 64 * 1024 ? resting + 1 : 0;
  held = now;
}
process.stdout.write(`${held}\n`);
await ephd[Symbol.asyncDispose]();
process.exit(0);
