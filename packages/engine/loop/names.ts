import type { EnvironmentId, EnvironmentName, Identity, ObservedEnvironment, Source } from '@eph/contract';
import { type Decision, soundSpecOf } from '../desired/decisions.ts';
import { chooseName, identify, nameParts } from '../desired/identity.ts';
import { missingVariables, renderTemplate, sourceValues } from '../values/templates.ts';
import { type EngineContext, nowOf } from './context.ts';
import type { Loop } from './loop.ts';
import type { EnvironmentRecord } from './record.ts';

const defaultNameTemplate = '{project}-{words}-{number}';

/** A name for a new environment that no other one has. */
export const chooseNewName = (
  { context, records }: Loop,
  id: EnvironmentId,
  source: Source,
  decision: Decision,
): EnvironmentName => {
  const spec = soundSpecOf(decision)?.spec;
  const values = { ...sourceValues(source), project: spec?.name ?? source.project };
  const asked = spec?.environment.name_template ?? defaultNameTemplate;
  // A template that this source cannot fill is a fault of its file, and is reported there.
  const isFillable = missingVariables(asked, { ...values, words: '', number: '' }).length === 0;
  return chooseName(
    (parts) => renderTemplate(isFillable ? asked : defaultNameTemplate, { ...values, ...parts }, 'dns-label'),
    (attempt) => nameParts(context.serverKey, source.project, source.ref, attempt),
    (name) => records.isNameTaken(name, id),
  );
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
