import { existsSync } from 'node:fs';
import { componentName, environmentId } from '@eph/contract';
import type { Context } from './context.ts';
import { endProcesses } from './end-processes.ts';
import type { Environments } from './environments.ts';
import { isExecMarker, preparationPart } from './layout.ts';
import { readComponent } from './records.ts';

/**
 * Ends processes with a marker of this data folder but without a record in it. They exist only if a folder was deleted while ephd
 * was down: starting and removing leave none behind, whenever ephd is killed. What people ran beside services has no record: it ends
 * with the ephd that ran it.
 */
export const endOrphans = async (context: Context, environments: Environments, signal: AbortSignal): Promise<void> => {
  const { layout, processes, limits, log } = context;
  const running = await processes.readAll();
  const markers = new Set(running.map((one) => one.marker).filter((one) => one?.startsWith(layout.marker()) === true));
  for (const marker of markers) {
    // While the disk is not mounted, it is unknown what should run.
    if (marker === undefined || !existsSync(layout.sentinel) || belongs(marker, context, environments)) continue;
    log.warn({ marker }, 'ending processes without a record');
    await endProcesses(processes, { marker, leaders: [], graceMs: limits.graceMs, signal });
  }
};

const belongs = (marker: string, { layout, sessions }: Context, environments: Environments): boolean => {
  const [, environmentPart = '', componentPart = '', instance = ''] = marker.split('/');
  const id = environmentId(environmentPart);
  if (componentPart === preparationPart)
    return environments.get(id)?.preparations.isRunning(instance) ?? existsSync(layout.environment(id));
  if (isExecMarker(marker)) return sessions.has(marker);
  const name = componentName(componentPart);
  const component = environments.get(id)?.component(name);
  if (component !== undefined) return component.instances.some((one) => one.record.id === instance);
  const read = readComponent(layout.componentRecord(id, name), name);
  if (read.state === 'absent') return existsSync(layout.component(id, name));
  if (read.state !== 'read') return true;
  return [read.record.current, read.record.next, ...read.record.retiring].some((one) => one?.id === instance);
};
