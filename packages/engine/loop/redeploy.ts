import { type Action, type ComponentName, type EnvironmentId, EphError, type ObservedEnvironment } from '@eph/contract';
import { planDestroy } from '../plan/diff.ts';
import type { Loop } from './loop.ts';
import type { EnvironmentRecord } from './record.ts';

/** Notes that these are to be removed and made again; without names, all of them. Returns which. */
export const requestRedeploy = (
  { records }: Loop,
  id: EnvironmentId,
  names: readonly string[] | undefined,
): readonly ComponentName[] => {
  const record = records.get(id);
  if (record?.observed === undefined || record.decision.state !== 'wanted')
    throw new EphError('api.conflict', `${record?.name ?? id} has nothing that could be made again: ${record?.decision.because}`);
  const present = [...new Set(record.observed.components.map(({ name }) => name))];
  const unknown = names?.find((name) => !present.some((one) => one === name));
  if (unknown !== undefined)
    throw new EphError(
      'api.not_found',
      `${record.name} has no component ${JSON.stringify(unknown)}; it has: ${present.join(', ')}`,
    );
  const left = names === undefined ? present : present.filter((name) => names.includes(name));
  records.update(record, { redeploy: { left } });
  return left;
};

/**
 * The removal that is next, once what was removed before it no longer starts. It need not be ready: it may wait for one that is still to
 * be made again. Users go before what they use.
 */
export const planRedeploy = (
  { redeploy }: EnvironmentRecord,
  observed: ObservedEnvironment | undefined,
  actions: readonly Action[],
): (Action & { readonly type: 'destroy' }) | undefined => {
  if (redeploy === undefined || observed === undefined) return undefined;
  const { left, last } = redeploy;
  const starts = observed.components.some(({ name, current, next }) => name === last && (next ?? current)?.health === 'starting');
  if (starts || actions.some((action) => action.type === 'create' && action.component === last)) return undefined;
  return planDestroy(observed, 'somebody asked to make it again').find(
    (action) => action.type === 'destroy' && left.includes(action.component),
  ) as (Action & { readonly type: 'destroy' }) | undefined;
};

/** What is left to do after this removal. */
export const withoutRemoved = (
  { left }: NonNullable<EnvironmentRecord['redeploy']>,
  removed: ComponentName,
): EnvironmentRecord['redeploy'] => {
  const rest = left.filter((name) => name !== removed);
  return rest.length === 0 ? undefined : { left: rest, last: removed };
};
