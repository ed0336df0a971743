import type { Source, SourceRef, Trigger } from '@eph/contract';

/** Who can say since when a label is there. */
export type LabelledAt = (ref: SourceRef, label: string) => Promise<string | undefined>;

/** The labels of a pull request that ask for its environment. */
export const requestingLabels = ({ pull }: Source, triggers: readonly Trigger[]): readonly string[] => {
  const own = new Set(pull?.labels ?? []);
  return triggers.flatMap((trigger) => (trigger.type === 'pr_label' ? trigger.labels : [])).filter((label) => own.has(label));
};

/** When the newest of the labels was put there, in milliseconds; undefined without any. */
export const findRequestTime = async (
  source: Source,
  labels: readonly string[],
  labelledAt: LabelledAt,
): Promise<number | undefined> => {
  const times = await Promise.all(labels.map((label) => labelledAt(source.ref, label)));
  const since = Math.max(...times.flatMap((time) => (time === undefined ? [] : [Date.parse(time)])));
  return Number.isFinite(since) ? since : undefined;
};
