import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { readConfig } from '../../apps/ephd/config.ts';
import { createLog } from '../../apps/ephd/log.ts';
import { startEphd } from '../../apps/ephd/wiring.ts';
import { until } from './bench-ephd.ts';
import { readRestingHeap } from './resting-heap.ts';

/**
 * Starts ephd in this process, waits until it is idle and everything is reported, and prints the bytes its heap holds after a collection.
 * Does so again for each line that it reads.
 */
const config = readConfig(['--config', process.argv[2] ?? '', '--log-level', 'silent'], process.env);
if (config === 'help') throw new Error('run with a configuration file');
const ephd = await startEphd(config, process.env, createLog('silent'));
const printHeap = async (): Promise<void> => {
  process.stdout.write(`${await readRestingHeap()}\n`);
};
const headers = { authorization: `Bearer ${readFileSync(ephd.tokenFile, 'utf8').trim()}` };
const isReported = async (): Promise<boolean> => {
  const metrics = await (await fetch(`${ephd.apiUrl}/metrics`, { headers })).text();
  return metrics.includes('\neph_reports_waiting 0\n');
};
await readRestingHeap();
await until('all reports', isReported, 200);
await printHeap();
for await (const _ of createInterface({ input: process.stdin })) await printHeap();
await ephd[Symbol.asyncDispose]();
process.exit(0);
