import type { Budget, Place } from './cgroups.ts';
import type { Context } from './context.ts';
import type { InstanceRecord } from './records.ts';

/** Limits what a component, and its environment with it, may use. What comes back is for `Launch.limits`. */
export const openLimits = (
  { cgroups, budget: ours }: Context,
  place: Place,
  { cpu, memoryBytes }: Budget,
  budget: InstanceRecord['budget'],
): readonly string[] => {
  const environment = { ...ours, cpu: least(ours.cpu, budget?.cpu), memoryBytes: least(ours.memoryBytes, budget?.memoryBytes) };
  return cgroups.open(place, { environment, component: { cpu, memoryBytes } });
};

const least = (...amounts: readonly (number | undefined)[]): number | undefined => {
  const known = amounts.filter((one) => one !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
};
