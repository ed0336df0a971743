import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../e2e/eventually.ts';
import { app, twoServices } from '../e2e/sample-app.ts';
import { Site } from '../e2e/site.ts';
import { recordSteps } from './interrupt.ts';

/** Every step that ephd makes and how many times, in the order of the first time. */
export interface Rehearsal {
  /** On the very first start over a data folder. */
  readonly firstStart: ReadonlyMap<string, number>;
  /** On a later start, and in the life of an environment with two components. */
  readonly life: ReadonlyMap<string, number>;
}

/** Runs once through everything that will be interrupted, undisturbed. */
export const rehearse = async (): Promise<Rehearsal> => {
  await using site = await Site.create();
  const firstStart = join(site.folder, 'first-start');
  await (await site.start({ nodeArgs: recordSteps(site.dataFolder, firstStart) })).kill();
  const life = join(site.folder, 'life');
  await site.start({ nodeArgs: recordSteps(site.dataFolder, life) });
  for (let version = 1; version <= 2; version += 1) {
    const commit = await site.repository.push('preview/rehearsal', app(twoServices));
    await site.untilReady('preview/rehearsal', commit);
    await eventually('nothing of another version runs', () =>
      site.services().every((one) => one.variables['EPH_COMMIT'] === commit),
    );
  }
  await site.repository.delete('preview/rehearsal');
  await site.untilGone('preview/rehearsal');
  return { firstStart: countSteps(firstStart), life: countSteps(life) };
};

const countSteps = (file: string): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const step of readFileSync(file, 'utf8').trimEnd().split('\n')) counts.set(step, (counts.get(step) ?? 0) + 1);
  return counts;
};
