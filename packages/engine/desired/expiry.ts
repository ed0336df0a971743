import { printDuration, type Source, type SourceRef, type Trigger } from '@eph/contract';

/** When an environment has lived long enough, and what then makes it go. */
export interface Expiry {
  readonly at: number;
  readonly ttlSeconds: number;
  /** Without these nobody asks for it any more. */
  readonly labels: readonly string[];
}

/** Who can say since when a label is there. */
type LabelledAt = (ref: SourceRef, label: string) => Promise<string | undefined>;

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
  const own = new Set(source.pull?.labels ?? []);
  const labels = triggers
    .flatMap((trigger) => (trigger.type === 'pr_label' ? trigger.labels : []))
    .filter((label) => own.has(label));
  if (ttlSeconds === undefined || labels.length === 0) return undefined;
  const times = await Promise.all(labels.map((label) => labelledAt(source.ref, label)));
  const since = Math.max(...times.flatMap((time) => (time === undefined ? [] : [Date.parse(time)])));
  return Number.isFinite(since) ? { at: since + ttlSeconds * 1000, ttlSeconds, labels } : undefined;
};

/** What people are told when it goes. */
export const describeExpiry = ({ ttlSeconds }: Expiry): string =>
  `it expired ${printDuration(ttlSeconds)} after it was asked for`;
