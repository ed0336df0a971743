import { asMap, at, type JsonMap, type JsonValue, parseQuantity, type ResolvedComponent, withValue } from '@eph/contract';

/** Cores and bytes. */
export interface Amounts {
  readonly cpu?: number;
  readonly memoryBytes?: number;
}

const mebibyte = 2 ** 20;

/** So many containers that ask for nothing fit into an environment. */
const containers = 10;
/** What such a container gets at least, and at most, of a budget that is large enough. */
const least = { cpu: 0.1, memoryBytes: 128 * mebibyte };
const most = { cpu: 1, memoryBytes: 512 * mebibyte };

/** The limits of a container that has none: with a quota on limits, the API server would refuse its pod. */
export const computeDefaultLimits = ({ cpu, memoryBytes }: NonNullable<ResolvedComponent['budget']>): Amounts => {
  const share = (budget: number, low: number, high: number): number =>
    Math.min(budget, Math.max(low, Math.min(high, budget / containers)));
  return {
    ...(cpu !== undefined && { cpu: share(cpu, least.cpu, most.cpu) }),
    ...(memoryBytes !== undefined && { memoryBytes: share(memoryBytes, least.memoryBytes, most.memoryBytes) }),
  };
};

/** A container that asks for more than the default limit, and has no limit: the API server would refuse its pod. */
export const raiseLimits = (container: JsonValue, limits: Amounts): JsonValue => {
  const raised = (filled: JsonValue, resource: string, limit: number | undefined): JsonValue => {
    const { [resource]: asked } = asMap(at(filled, ['resources', 'requests']));
    const { [resource]: given } = asMap(at(filled, ['resources', 'limits']));
    const amount = typeof asked === 'string' || typeof asked === 'number' ? parseQuantity(String(asked)) : undefined;
    const isMissing = limit !== undefined && amount !== undefined && amount > limit && (given ?? null) === null;
    return isMissing ? withValue(filled, ['resources', 'limits', resource], asked) : filled;
  };
  return raised(raised(container, 'cpu', limits.cpu), 'memory', limits.memoryBytes);
};

/** For manifests. */
export const printAmounts = ({ cpu, memoryBytes }: Amounts): JsonMap => ({
  ...(cpu !== undefined && { cpu: cpu % 1 === 0 ? String(cpu) : `${Math.round(cpu * 1000)}m` }),
  ...(memoryBytes !== undefined && {
    memory: memoryBytes % mebibyte === 0 ? `${memoryBytes / mebibyte}Mi` : String(Math.floor(memoryBytes)),
  }),
});
