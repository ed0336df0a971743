import { type Action, type ComponentName, type EnvironmentId, EphError } from '@eph/contract';
import { planDestroy } from '../plan/diff.ts';
import type { EnvironmentReading } from '../provider/observe.ts';
import { type Draft, draftEnvironment, type Request } from './draft.ts';
import type { Loop } from './loop.ts';
import { unreadable } from './outcome.ts';
import type { EnvironmentRecord } from './record.ts';

type Removal = Action & { readonly type: 'destroy' };

/** Notes that these are to be removed and made again; without names, all that hold no data. Returns which. */
export const requestRedeploy = async (
  loop: Loop,
  id: EnvironmentId,
  names: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<readonly ComponentName[]> => {
  const { records, observer } = loop;
  const record = records.get(id);
  if (record?.source === undefined || record.decision.state !== 'wanted')
    throw refused(record?.name ?? id, record?.decision.because);
  const { name, source, decision } = record;
  const asked = record.redeploy?.asked ?? [];
  const present = union(record.observed?.components.map((one) => one.name) ?? [], asked);
  const unknown = names?.find((named) => !present.some((one) => one === named));
  if (unknown !== undefined)
    throw new EphError('api.not_found', `${name} has no component ${JSON.stringify(unknown)}; it has: ${present.join(', ')}`);
  const wanted = present.filter((one) => names?.includes(one) ?? !holdsData(one, record));
  const added = wanted.filter((one) => !asked.includes(one));
  if (wanted.length === 0)
    throw refused(name, present.length === 0 ? 'it has no components yet' : 'all of it holds data; name what to make again');
  if (added.length === 0) return wanted;
  const reading = await observer.environment(id, signal);
  const unread = unreadable(record, reading)?.failures[0];
  if (unread !== undefined) throw refused(name, unread.message);
  const next = await planNext(loop, { name, source, decision }, reading, added, signal);
  if (next.obstacle !== undefined) throw refused(name, next.obstacle);
  // The loop, or another request, may have gone on meanwhile.
  const underWay = record.redeploy ?? { asked: [], left: [] };
  records.update(record, {
    redeploy: { ...underWay, asked: union(underWay.asked, added), left: union(underWay.left, added) },
  });
  return wanted;
};

const union = <T>(some: readonly T[], others: readonly T[]): readonly T[] => [...new Set([...some, ...others])];

const holdsData = (component: ComponentName, { declared = [] }: EnvironmentRecord): boolean =>
  declared.some(({ name, kind }) => name === component && kind.holdsData === true);

const refused = (name: string, because = 'it is not known'): EphError =>
  new EphError('api.conflict', `${name} would not be made again, so nothing of it is removed: ${because}`);

/**
 * The removal that is next: once the one before it no longer starts, and nothing else is to be changed. It need not be ready: it may wait
 * for one that is still to be made again. Forgets what is done.
 */
export const continueRedeploy = async (
  loop: Loop,
  record: EnvironmentRecord,
  request: Request,
  reading: EnvironmentReading,
  { actions }: Draft,
  signal: AbortSignal,
): Promise<Removal | undefined> => {
  const { redeploy } = record;
  if (redeploy === undefined) return undefined;
  const components = reading.observed?.components ?? [];
  const left = redeploy.left.filter((name) => components.some((one) => one.name === name));
  const isChanging = actions.some((action) => action.type !== 'wait' && !left.includes(action.component));
  const isStarting = components.some(
    ({ name, current, next }) => name === redeploy.last && (next ?? current)?.health === 'starting',
  );
  const isOver = left.length === 0 && !isChanging && !isStarting;
  loop.records.update(record, { redeploy: isOver ? undefined : { ...redeploy, left } });
  if (left.length === 0 || isChanging || isStarting) return undefined;
  return (await planNext(loop, request, reading, left, signal)).removal;
};

export const noteRemoved = ({ records }: Loop, record: EnvironmentRecord, { component }: Removal): void => {
  const { redeploy } = record;
  if (redeploy === undefined) return;
  const left = redeploy.left.filter((name) => name !== component);
  records.update(record, { redeploy: { ...redeploy, left, last: component } });
};

/** The first removal after which the component would be made again, users before what they use; or why there is none. */
const planNext = async (
  loop: Loop,
  request: Request,
  reading: EnvironmentReading,
  left: readonly ComponentName[],
  signal: AbortSignal,
): Promise<{ readonly removal?: Removal; readonly obstacle?: string }> => {
  const obstacles: string[] = [];
  for (const removal of planRemovals(reading, left)) {
    const obstacle = await findObstacle(loop, request, reading, removal, signal);
    if (obstacle === undefined) return { removal };
    obstacles.push(obstacle);
  }
  return { obstacle: obstacles[0] ?? 'it has no components' };
};

/** In their order; what is left of a removal that failed or takes its time is finished first. */
const planRemovals = ({ observed }: EnvironmentReading, left: readonly ComponentName[]): readonly Removal[] => {
  if (observed === undefined) return [];
  const removals = planDestroy(observed, 'somebody asked to make it again').flatMap((action) =>
    action.type === 'destroy' && left.includes(action.component) ? [action] : [],
  );
  const isEmpty = ({ component, provider }: Removal): boolean =>
    observed.components.some(
      (one) => one.name === component && one.provider === provider && one.current === null && one.next === null,
    );
  return [...removals.filter(isEmpty), ...removals.filter((removal) => !isEmpty(removal))];
};

/** Undefined where the component would be made again at once. */
const findObstacle = async (
  loop: Loop,
  request: Request,
  { observed, incomplete }: EnvironmentReading,
  { component, provider }: Removal,
  signal: AbortSignal,
): Promise<string | undefined> => {
  const components = observed?.components.filter((one) => one.name !== component || one.provider !== provider) ?? [];
  const without = observed === undefined || components.length === 0 ? undefined : { ...observed, components };
  const { specFaults, failures, actions } = await draftEnvironment(loop, request, { observed: without, incomplete }, signal);
  if (actions.some((one) => one.type === 'create' && one.component === component && one.provider === provider)) return undefined;
  const fault = specFaults[0] ?? failures[0];
  const wait = actions.find((one) => one.component === undefined || one.component === component);
  return fault?.message ?? wait?.reason ?? `${component} is not in eph.yaml`;
};
