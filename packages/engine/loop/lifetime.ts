import { type Failure, type ParsedSpec, type ProjectId, type Source, toFailure } from '@eph/contract';
import { type Decision, soundSpecOf } from '../desired/decisions.ts';
import { type Expiry, findExpiry } from '../desired/expiry.ts';
import { requestingLabels } from '../desired/request-time.ts';
import { limitDuration } from '../values/policy.ts';
import { projectOf } from './context.ts';
import { considerSource } from './decide.ts';
import type { Loop } from './loop.ts';
import type { EnvironmentRecord } from './record.ts';

/** How long an environment may live, and who says so. */
export interface Lifetime {
  /** The labels that ask for the environment. Without any it does not expire. */
  readonly labels: readonly string[];
  /** What labels or `eph.yaml` ask for; undefined for no end. */
  readonly askedSeconds: number | undefined;
  /** As much of it as the policy of the platform allows. */
  readonly ttlSeconds: number | undefined;
  /** Undefined where it does not expire, or where the forge does not know since when it is asked for. */
  readonly expiry: Expiry | undefined;
}

/**
 * What Git says about a source as it is, or as it would be with other labels, and how long its environment may live; undefined
 * where that cannot be said.
 */
export const considerLifetime = async (
  loop: Loop,
  source: Source,
  signal: AbortSignal,
): Promise<{ readonly decision: Decision; readonly lifetime: Lifetime | undefined }> => {
  const { decision } = await considerSource(loop, source, signal);
  const parsed = soundSpecOf(decision);
  const { pulls } = projectOf(loop.context, source.project).forge;
  if (pulls === undefined || parsed === undefined) return { decision, lifetime: undefined };
  const labels = requestingLabels(source, parsed.triggers);
  const time = computeTime(loop, source.project, decision, parsed);
  const labelledAt = (ref: Source['ref'], label: string) => pulls.labelledAt(ref, label, signal);
  const expiry = await findExpiry(source, parsed.triggers, time.ttlSeconds, labelledAt);
  return { decision, lifetime: { labels, ...time, expiry } };
};

const computeTime = (
  { platform }: Loop,
  project: ProjectId,
  decision: Decision,
  { spec }: ParsedSpec & { ok: true },
): Pick<Lifetime, 'askedSeconds' | 'ttlSeconds'> => {
  const terms = decision.state === 'wanted' ? decision.terms : undefined;
  const configuration = platform.inForce(project);
  const askedSeconds = terms?.kept === true ? undefined : (terms?.ttlSeconds ?? spec.environment.ttl);
  const policies = 'layers' in configuration ? configuration.policies : [];
  return { askedSeconds, ttlSeconds: limitDuration(policies, 'max_ttl', askedSeconds) };
};

/** When an environment expires; the forge is asked again only when something about its source or the policy changed. */
export const readLifetime = async (
  loop: Loop,
  record: EnvironmentRecord,
  source: Source,
  signal: AbortSignal,
): Promise<EnvironmentRecord['lifetime']> => {
  const { context } = loop;
  const { decision, project, lifetime: before } = record;
  const { pulls } = projectOf(context, project).forge;
  const parsed = soundSpecOf(decision);
  if (pulls === undefined || source.pull === undefined || parsed === undefined) return undefined;
  const { ttlSeconds } = computeTime(loop, project, decision, parsed);
  const of = JSON.stringify([ttlSeconds, source.pull.labels, source.pull.touched]);
  if (before?.of === of) return before;
  try {
    const labelledAt = (ref: Source['ref'], label: string) => pulls.labelledAt(ref, label, signal);
    return { of, expiry: await findExpiry(source, parsed.triggers, ttlSeconds, labelledAt) };
  } catch (error) {
    // Without knowing when it was asked for, nobody may say that its time is over.
    context.telemetry.failed(`environment:${record.name}`, toFailure(error));
    return before;
  }
};

/** Takes away the labels that ask for an expired environment. Git then says that it goes. */
export const withdrawRequest = async (
  { context }: Loop,
  { project, ref }: EnvironmentRecord,
  { labels }: Expiry,
  signal: AbortSignal,
): Promise<readonly Failure[]> => {
  const failures: Failure[] = [];
  for (const label of labels)
    try {
      await projectOf(context, project).forge.pulls?.removeLabel(ref, label, signal);
    } catch (error) {
      failures.push(toFailure(error));
    }
  return failures;
};

/** Shows the author of a comment that it was seen. The environment does not wait for this to succeed. */
export const acknowledge = async (
  { context, acknowledged }: Loop,
  record: EnvironmentRecord,
  signal: AbortSignal,
): Promise<void> => {
  const { source, name, decision } = record;
  const command = decision.state === 'wanted' ? decision.terms?.command : undefined;
  if (source === undefined || command === undefined || acknowledged.has(command.id)) return;
  try {
    await projectOf(context, source.project).forge.pulls?.acknowledge(source.ref, command, signal);
    acknowledged.add(command.id);
  } catch (error) {
    context.telemetry.failed(`environment:${name}`, toFailure(error));
  }
};
