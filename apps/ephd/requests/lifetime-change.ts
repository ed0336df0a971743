import { printDuration, type RequestAnswer } from '@eph/contract';
import { keepLabel } from '@eph/engine/desired/labels';
import type { Lifetime } from '@eph/engine/loop/lifetime';

/** A source as it is, or as it would be with other labels. */
export interface LivingSource {
  readonly decision: { readonly state: 'wanted' | 'unwanted' | 'unknown'; readonly because: string };
  /** Undefined where it cannot be said. */
  readonly lifetime: Lifetime | undefined;
}

interface AddedLabel {
  readonly type: 'lifetime' | 'pause';
  readonly add?: string;
}

/**
 * Why a new label would not do what it is for; undefined where it would, or where that cannot be said.
 *
 * @param labels with the new one
 */
export const findObstacle = (
  { type, add }: AddedLabel,
  labels: readonly string[],
  before: LivingSource,
  { decision, lifetime }: LivingSource,
  now: number,
): string | undefined => {
  if (decision.state === 'unwanted') return `it gets no environment: ${decision.because}`;
  if (type !== 'lifetime' || lifetime === undefined) return undefined;
  const { askedSeconds, ttlSeconds, expiry } = lifetime;
  if (lifetime.labels.length === 0) return `no label asks for its environment, so it does not expire: ${decision.because}`;
  if (add !== keepLabel && labels.includes(keepLabel)) return `${keepLabel} keeps it; take that off first`;
  if (expiry !== undefined && expiry.at <= now) return `it would expire at once, ${describeTime(lifetime)}`;
  if (ttlSeconds !== undefined && ttlSeconds !== askedSeconds && before.lifetime?.ttlSeconds === ttlSeconds)
    return `it already lives as long as the policy of the platform allows, ${printDuration(ttlSeconds)}`;
  return undefined;
};

/** Why the environment is wanted, and until when. */
export const describeLifetime = ({
  decision: { because },
  lifetime,
}: LivingSource): Pick<RequestAnswer, 'because' | 'expiresAt'> => {
  if (lifetime === undefined) return { because };
  const { labels, ttlSeconds, expiry } = lifetime;
  if (labels.length === 0 || ttlSeconds === undefined) return { because: `${because}; it does not expire`, expiresAt: null };
  const text = `${because}; it expires ${describeTime(lifetime)}`;
  return expiry === undefined ? { because: text } : { because: text, expiresAt: new Date(expiry.at).toISOString() };
};

const describeTime = ({ labels, askedSeconds, ttlSeconds = 0 }: Lifetime): string => {
  const limit = askedSeconds === ttlSeconds ? '' : ', which is as long as the policy of the platform allows';
  return `${printDuration(ttlSeconds)} after the label ${labels.join(' or ')} was set${limit}`;
};
