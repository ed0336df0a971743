import {
  type EnvironmentId,
  type EnvironmentName,
  type Identity,
  type ObservedEnvironment,
  type ProjectId,
  type ProviderName,
  projectId,
  type Source,
} from '@eph/contract';
import { type Decision, soundSpecOf } from '../desired/decisions.ts';
import { chooseName, identify, nameParts, type ProjectIds } from '../desired/identity.ts';
import { chooseProviders } from '../values/providers.ts';
import { missingVariables, renderTemplate, sourceValues } from '../values/templates.ts';
import { availableProviders, type EngineContext, nowOf, projectOf } from './context.ts';
import type { Loop } from './loop.ts';
import type { EnvironmentRecord } from './record.ts';

/**
 * A name for a new environment that no other one has.
 *
 * @param isVisible a preview shows no conflict with other projects than these
 */
export const chooseNewName = (
  { context, records }: Loop,
  id: EnvironmentId,
  source: Source,
  decision: Decision,
  isVisible: (project: ProjectId) => boolean = () => true,
): EnvironmentName => {
  const { project, ref } = source;
  const { name, environment } = soundSpecOf(decision)?.spec ?? {};
  const values = { ...sourceValues(source), project: name ?? project };
  const asked = environment?.name_template;
  // A template that this source cannot fill is a fault of its file, and is reported there.
  const isFillable = asked !== undefined && missingVariables(asked, { ...values, words: '', number: '' }).length === 0;
  const configured: ProjectIds = context.projects;
  const isAnother = (owner: Pick<Identity, 'id' | 'project'> | undefined): boolean =>
    owner !== undefined && owner.id !== id && isVisible(owner.project);
  return chooseName({
    project,
    ref,
    projects: { has: (one) => (configured.has(one) || records.isKnown(one)) && isVisible(projectId(one)) },
    render: ({ words, number }) =>
      isFillable ? renderTemplate(asked, { ...values, words, number }, 'dns-label') : `${project}-${words}-${number}`,
    parts: (attempt) => nameParts(context.serverKey, project, ref, attempt),
    isTaken: (one) => isAnother(records.ownerOf(one)) || isAnother(records.get(context.ownerOf(one) ?? id)),
  });
};

/** Whether an environment that was not listed can be taken for new: it may exist on a provider that is away, or its name may. */
export const mayBeNew = (
  { context, records }: Loop,
  project: ProjectId,
  decision: Decision,
  incomplete: { has(name: ProviderName): boolean; readonly size: number },
): boolean => {
  if (decision.state === 'unknown') return false;
  const hasNames = records.haveBeenRead(context.providers.keys());
  if (hasNames && incomplete.size === 0) return true;
  const parsed = soundSpecOf(decision);
  if (parsed === undefined || (!hasNames && parsed.spec.environment.name_template !== undefined)) return false;
  const { used } = chooseProviders(parsed, availableProviders(context), [], projectOf(context, project).variables);
  return !used.some(({ provider }) => incomplete.has(provider.name));
};

/** The name of a record, after another one where it is to be made and its name was given away since the listing that showed it. */
export const findFreeName = (
  loop: Loop,
  record: EnvironmentRecord,
  source: Source,
  observed: ObservedEnvironment | undefined,
): EnvironmentName => {
  if (observed === undefined && loop.records.isNameTaken(record.name, record.id))
    loop.records.rename(record, chooseNewName(loop, record.id, source, record.decision));
  return record.name;
};

export const newIdentity = (context: Pick<EngineContext, 'clock'>, name: EnvironmentName, source: Source): Identity => ({
  id: identify(source.project, source.ref),
  name,
  project: source.project,
  source: source.ref,
  createdAt: nowOf(context),
});
