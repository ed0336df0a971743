import { createInterface } from 'node:readline';
import { readConfig } from '../../apps/ephd/config.ts';
import { createLog } from '../../apps/ephd/log.ts';
import { startEphd } from '../../apps/ephd/wiring.ts';
import { readRestingHeap } from './resting-heap.ts';

/**
 * Starts ephd in this process, waits until it is idle, and prints the bytes its heap holds after a collection. Does so again
 * for each line that it reads.
 */
const config = readConfig(['--config', process.argv[2] ?? '', '--log-level', 'silent'], process.env);
if (config === 'help') throw new Error('run with a configuration file');
const ephd = await startEphd(config, process.env, createLog('silent'));
const printHeap = async (): Promise<void> => {
  process.stdout.write(`${await readRestingHeap()}\n`);
};
await printHeap();
for await (const _ of createInterface({ input: process.stdin })) await printHeap();
await ephd[Symbol.asyncDispose]();
process.exit(0);
