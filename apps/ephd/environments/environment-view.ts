import type { EnvironmentView } from '@eph/contract';
import type { Known } from '@eph/engine/loop/memory';

export interface Addresses {
  readonly urlOf: (name: string) => string;
  readonly aliasOf: (known: Known) => string | undefined;
}

/** An environment as the API shows it. */
export const viewEnvironment = (known: Known, { urlOf, aliasOf }: Addresses): EnvironmentView => ({
  id: known.id,
  name: known.name,
  alias: aliasOf(known) ?? null,
  project: known.project,
  source: known.ref,
  commit: known.source?.commit ?? null,
  url: urlOf(known.name),
  phase: known.status?.phase ?? 'Pending',
  summary: known.status?.summary ?? 'just noticed',
  createdAt: known.observed?.identity.createdAt ?? null,
  conditions: [...(known.status?.conditions ?? [])],
  components: (known.observed?.components ?? []).map((component) => ({ ...component, dependsOn: [...component.dependsOn] })),
});
