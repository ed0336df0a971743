import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { EphdHarness } from '../e2e/ephd-harness.ts';
import { eventually } from '../e2e/eventually.ts';
import { app, preparedServices } from '../e2e/sample-app.ts';
import { recordSteps } from './interrupt.ts';

/** How often each step happens, in the order of first occurrence. */
export interface StepCounts {
  /** On the first start over a data folder. */
  readonly firstStart: ReadonlyMap<string, number>;
  /** On a later start, and in the lifecycle of an environment with two components. */
  readonly lifecycle: ReadonlyMap<string, number>;
}

/** Runs ephd once without interruption and records its steps. */
export const countSteps = async (): Promise<StepCounts> => {
  await using harness = await EphdHarness.create();
  const firstStart = join(harness.folder, 'first-start');
  await (await harness.start({ nodeArgs: recordSteps(harness.dataFolder, firstStart) })).kill();
  const lifecycle = join(harness.folder, 'lifecycle');
  await harness.start({ nodeArgs: recordSteps(harness.dataFolder, lifecycle) });
  for (let version = 1; version <= 2; version += 1) {
    const commit = await harness.repository.push('preview/recorded', app(preparedServices));
    await harness.untilReady('preview/recorded', commit);
    await eventually('nothing of another version runs', () =>
      harness.services().every((one) => one.variables['EPH_COMMIT'] === commit),
    );
  }
  await harness.repository.delete('preview/recorded');
  await harness.untilGone('preview/recorded');
  return { firstStart: countLines(firstStart), lifecycle: countLines(lifecycle) };
};

const countLines = (file: string): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const step of readFileSync(file, 'utf8').trimEnd().split('\n')) counts.set(step, (counts.get(step) ?? 0) + 1);
  return counts;
};
