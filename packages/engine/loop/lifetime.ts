import { type Failure, type Source, toFailure } from '@eph/contract';
import { soundSpecOf } from '../desired/decisions.ts';
import { type Expiry, findExpiry } from '../desired/expiry.ts';
import { limitDuration } from '../values/policy.ts';
import { projectOf } from './context.ts';
import type { Loop } from './loop.ts';
import type { EnvironmentRecord } from './record.ts';

/** When an environment expires; the forge is asked again only when something about its source or the policy changed. */
export const readLifetime = async (
  { context, platform }: Loop,
  record: EnvironmentRecord,
  source: Source,
  signal: AbortSignal,
): Promise<EnvironmentRecord['lifetime']> => {
  const { decision, project, lifetime: before } = record;
  const { pulls } = projectOf(context, project).forge;
  const parsed = soundSpecOf(decision);
  if (pulls === undefined || source.pull === undefined || parsed === undefined) return undefined;
  const terms = decision.state === 'wanted' ? decision.terms : undefined;
  const configuration = platform.inForce(project);
  const asked = terms?.kept === true ? undefined : (terms?.ttlSeconds ?? parsed.spec.environment.ttl);
  const ttlSeconds = limitDuration('layers' in configuration ? configuration.policies : [], 'max_ttl', asked);
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
