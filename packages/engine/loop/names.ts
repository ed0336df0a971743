import type { EnvironmentId, EnvironmentName, Identity, Source } from '@eph/contract';
import { chooseName, identify, nameParts } from '../desired/identity.ts';
import { missingVariables, renderTemplate, sourceValues } from '../values/templates.ts';
import type { Decision, Memory } from './memory.ts';
import { nowOf, type World } from './world.ts';

const defaultNameTemplate = '{project}-{words}-{number}';

/** A name for a new environment that nobody has. */
export const chooseNewName = (
  { serverKey }: Pick<World, 'serverKey'>,
  memory: Memory,
  id: EnvironmentId,
  source: Source,
  decision: Decision,
): EnvironmentName => {
  const spec = decision.state === 'wanted' && decision.spec !== 'missing' && decision.spec.ok ? decision.spec.spec : undefined;
  const values = { ...sourceValues(source), project: spec?.name ?? source.project };
  const asked = spec?.environment.name_template ?? defaultNameTemplate;
  // A template that this source cannot fill is a fault of its file, and is told there.
  const isFillable = missingVariables(asked, { ...values, words: '', number: '' }).length === 0;
  return chooseName(
    (parts) => renderTemplate(isFillable ? asked : defaultNameTemplate, { ...values, ...parts }, 'dns-label'),
    (attempt) => nameParts(serverKey, source.project, source.ref, attempt),
    (name) => memory.isNameTaken(name, id),
  );
};

export const newIdentity = (world: Pick<World, 'clock'>, name: EnvironmentName, source: Source): Identity => ({
  id: identify(source.project, source.ref),
  name,
  project: source.project,
  source: source.ref,
  createdAt: nowOf(world),
});
