import { createInterface } from 'node:readline';
import { readConfig } from '../../apps/ephd/config.ts';
import { createLog } from '../../apps/ephd/log.ts';
import { startEphd } from '../../apps/ephd/wiring.ts';

/**
 * Starts ephd in this process, waits until it is idle, and prints the bytes its heap holds after a collection. Does so again
 * for each line that it reads.
 */
const config = readConfig(['--config', process.argv[2] ?? '', '--log-level', 'silent'], process.env);
const { gc } = globalThis;
if (config === 'help' || gc === undefined) throw new Error('run with --expose-gc and a configuration file');
const ephd = await startEphd(config, process.env, createLog('silent'));
const printHeap = async (): Promise<void> => {
  let resting = 0;
  let held = Number.POSITIVE_INFINITY;
  while (resting < 5) {
    await new Promise((resolve) => setTimeout(resolve, 400));
    gc();
    const { heapUsed, external } = process.memoryUsage();
    const now = heapUsed + external;
    resting = Math.abs(now - held) < 64 * 1024 ? resting + 1 : 0;
    held = now;
  }
  process.stdout.write(`${held}\n`);
};
await printHeap();
for await (const _ of createInterface({ input: process.stdin })) await printHeap();
await ephd[Symbol.asyncDispose]();
process.exit(0);
