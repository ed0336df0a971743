import type { Condition, ConditionType } from '@eph/contract';

export interface Fact {
  readonly type: ConditionType;
  readonly status: Condition['status'];
  readonly reason: string;
  readonly message: string;
}

/** New facts over old conditions: the time of the last transition moves only where the status does. */
export const transition = (
  previous: readonly Condition[],
  facts: readonly Fact[],
  observedGeneration: string,
  now: string,
): readonly Condition[] =>
  facts.map(({ type, status, reason, message }) => {
    const before = previous.find((condition) => condition.type === type);
    const lastTransitionTime = before?.status === status ? before.lastTransitionTime : now;
    return { type, status, reason, message, lastTransitionTime, observedGeneration };
  });
