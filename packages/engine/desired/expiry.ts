import { printDuration, type Source, type Trigger } from '@eph/contract';
import { findRequestTime, type LabelledAt, requestingLabels } from './request-time.ts';

/** When an environment has lived long enough, and what then makes it go. */
export interface Expiry {
  readonly at: number;
  readonly ttlSeconds: number;
  /** Without these nobody asks for it any more. */
  readonly labels: readonly string[];
}

/**
 * Counts from the moment the newest of its labels was put there, which the forge remembers: taking the label off and on again starts
 * the time anew, and nothing about it can be lost. What asks without a label does not expire.
 */
export const findExpiry = async (
  source: Source,
  triggers: readonly Trigger[],
  ttlSeconds: number | undefined,
  labelledAt: LabelledAt,
): Promise<Expiry | undefined> => {
  const labels = requestingLabels(source, triggers);
  if (ttlSeconds === undefined || labels.length === 0) return undefined;
  const since = await findRequestTime(source, labels, labelledAt);
  return since === undefined ? undefined : { at: since + ttlSeconds * 1000, ttlSeconds, labels };
};

/** What people are told when it goes. */
export const describeExpiry = ({ ttlSeconds }: Expiry): string =>
  `it expired ${printDuration(ttlSeconds)} after it was asked for`;
