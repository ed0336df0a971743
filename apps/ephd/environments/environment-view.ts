import type {
  EnvironmentDetailView,
  EnvironmentStatus,
  EnvironmentView,
  ObservedComponent,
  ProviderName,
  Usage,
} from '@eph/contract';
import type { EnvironmentRecord } from '@eph/engine/loop/record';

export interface Addresses {
  readonly urlOf: (name: string) => string;
  readonly aliasOf: (known: EnvironmentRecord) => string | undefined;
  /** Providers that do not answer. Why may name environments of other projects. */
  readonly away: () => { has(name: ProviderName): boolean };
}

/** An environment as the API shows it. */
export const viewEnvironment = (known: EnvironmentRecord, { urlOf, aliasOf, away }: Addresses): EnvironmentView => ({
  id: known.id,
  name: known.name,
  alias: aliasOf(known) ?? null,
  project: known.project,
  source: known.ref,
  commit: known.source?.commit ?? null,
  author: known.source?.pull?.author ?? null,
  title: known.source?.pull?.title ?? null,
  labels: [...(known.source?.pull?.labels ?? [])],
  url: urlOf(known.name),
  ...computeHeadline(known, away()),
  createdAt: known.observed?.identity.createdAt ?? null,
  expiresAt: known.lifetime?.expiry === undefined ? null : new Date(known.lifetime.expiry.at).toISOString(),
  conditions: [...(known.status?.conditions ?? [])],
  components: (known.observed?.components ?? []).map((component) => ({ ...component, dependsOn: [...component.dependsOn] })),
});

/** The same with what runs for its components and what that uses. */
export const viewDetail = (
  known: EnvironmentRecord,
  usageOf: (component: ObservedComponent) => Usage | undefined,
  addresses: Addresses,
): EnvironmentDetailView => ({
  ...viewEnvironment(known, addresses),
  components: (known.observed?.components ?? []).map((component) => ({
    ...component,
    dependsOn: [...component.dependsOn],
    parts: [...(component.parts ?? [])],
    usage: usageOf(component) ?? null,
  })),
});

/**
 * Between the moment a new commit is noticed and the first look at it, the status still speaks of the commit before. Next to the new
 * commit it must not be taken for an answer about that one.
 */
export const computeHeadline = (
  { source, status, observed }: EnvironmentRecord,
  away: ReturnType<Addresses['away']>,
): Pick<EnvironmentStatus, 'phase' | 'summary'> => {
  if (status === undefined) return { phase: 'Pending', summary: 'just noticed' };
  const silent = observed?.components.find(({ provider }) => away.has(provider))?.provider;
  if (silent !== undefined) return { phase: status.phase, summary: `seen last; provider ${silent} could not be read completely` };
  const isAboutAnother = source !== undefined && status.conditions.some((one) => one.observedGeneration !== source.commit);
  if (status.phase !== 'Ready' || !isAboutAnother) return { phase: status.phase, summary: status.summary };
  return { phase: 'Progressing', summary: `commit ${source.commit.slice(0, 12)} has just been noticed` };
};
