import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../e2e/eventually.ts';
import type { RunningEphd } from '../e2e/running-ephd.ts';
import { recordSteps } from './interrupt.ts';
import type { WorldKind } from './world.ts';

/** How often each step happens, in the order of first occurrence. */
export interface StepCounts {
  /** On the first start over a data folder. */
  readonly firstStart: ReadonlyMap<string, number>;
  /** On a later start, and in the lifecycle of an environment with two components. */
  readonly lifecycle: ReadonlyMap<string, number>;
}

/** Runs ephd once without interruption and records its steps. */
export const countSteps = async (kind: WorldKind): Promise<StepCounts> => {
  await using world = await kind.create();
  const { harness, startOptions } = world;
  const start = (file: string): Promise<RunningEphd> =>
    harness.start({ ...startOptions, nodeArgs: recordSteps(harness.dataFolder, file) });
  const firstStart = join(harness.folder, 'first-start');
  await (await start(firstStart)).kill();
  const lifecycle = join(harness.folder, 'lifecycle');
  const { pid } = await start(lifecycle);
  const settle = (): Promise<true> =>
    eventually('the observed state matches Git', async () => (await world.compare(pid)).differences.length === 0, 60);
  for (let version = 1; version <= 2; version += 1) {
    await world.push('preview/recorded', kind.recorded);
    await settle();
  }
  await world.delete('preview/recorded');
  await settle();
  return { firstStart: countLines(firstStart), lifecycle: countLines(lifecycle) };
};

const countLines = (file: string): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const step of readFileSync(file, 'utf8').trimEnd().split('\n')) counts.set(step, (counts.get(step) ?? 0) + 1);
  return counts;
};
