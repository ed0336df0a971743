import {
  asList,
  asMap,
  at,
  type JsonMap,
  type JsonValue,
  podTemplatePath,
  type ResolvedComponent,
  type WorkloadKind,
  withValue,
} from '@eph/contract';
import { computeDefaultLimits, raiseLimits } from './default-limits.ts';
import type { PreparedMetadata } from './prepare-metadata.ts';

export interface PodFacts {
  readonly budget: ResolvedComponent['budget'];
  readonly imagePullSecrets: readonly string[];
  /** A Service leads to the pods. */
  readonly isServed: boolean;
  /** The metadata of a template, with the labels of Eph. */
  readonly mark: (metadata: JsonMap) => PreparedMetadata;
}

/** Everything that a workload makes carries the labels of Eph, which never change: others would start its pods anew. */
export const prepareTemplates = (object: JsonMap, kind: WorkloadKind, facts: PodFacts): JsonMap => {
  const path = podTemplatePath(kind);
  const template = asMap(at(object, path));
  const marked = kind === 'Pod' ? object : withValue(object, [...path, 'metadata'], markAt(template, facts));
  const withPods = asMap(withValue(marked, [...path, 'spec'], preparePods(asMap(template['spec']), facts)));
  switch (kind) {
    case 'CronJob': {
      const job = at(withPods, ['spec', 'jobTemplate']);
      return asMap(withValue(withPods, ['spec', 'jobTemplate', 'metadata'], markAt(job, facts)));
    }
    case 'StatefulSet': {
      const claims = asList(at(withPods, ['spec', 'volumeClaimTemplates']));
      if (claims.length === 0) return withPods;
      const all = claims.map((claim) => ({ ...asMap(claim), metadata: markAt(claim, facts) }));
      return asMap(withValue(withPods, ['spec', 'volumeClaimTemplates'], all));
    }
    default:
      return withPods;
  }
};

const markAt = (template: JsonValue | undefined, { mark }: PodFacts): JsonMap => ({
  ...mark(asMap(asMap(template)['metadata'])),
});

const preparePods = (spec: JsonMap, { budget, imagePullSecrets, isServed }: PodFacts): JsonMap => {
  const limits = budget === undefined ? {} : computeDefaultLimits(budget);
  const given = asList(spec['imagePullSecrets']);
  const names = given.map((one) => asMap(one)['name']);
  const pullSecrets = [...given, ...imagePullSecrets.filter((name) => !names.includes(name)).map((name) => ({ name }))];
  const fill = (key: 'containers' | 'initContainers'): JsonMap =>
    Array.isArray(spec[key]) ? { [key]: asList(spec[key]).map((one) => raiseLimits(one, limits)) } : {};
  const filled = fill('containers');
  return {
    enableServiceLinks: false,
    ...spec,
    automountServiceAccountToken: wantsToken(spec),
    ...(pullSecrets.length > 0 && { imagePullSecrets: pullSecrets }),
    ...(isServed ? { containers: serveOn(spec, asList(filled['containers'])) } : filled),
    ...fill('initContainers'),
  };
};

/** By then everybody knows that the pod gets no more traffic. */
const servedOnSeconds = 2;

/**
 * Whoever is told to end mostly does so at once, and others learn later that the pod is no longer there for them: without a moment in which
 * it serves on, they lose requests with every version. Where a container says itself what it does before its end, that stands.
 */
const serveOn = ({ terminationGracePeriodSeconds }: JsonMap, containers: readonly JsonValue[]): readonly JsonValue[] => {
  const grace = typeof terminationGracePeriodSeconds === 'number' ? terminationGracePeriodSeconds : 30;
  // The rest is for what it does after that.
  const seconds = Math.min(servedOnSeconds, Math.floor(grace / 2));
  if (seconds < 1) return containers;
  return containers.map((container) => {
    const lifecycle = asMap(asMap(container)['lifecycle']);
    if (lifecycle['preStop'] !== undefined) return container;
    return { ...asMap(container), lifecycle: { ...lifecycle, preStop: { sleep: { seconds } } } };
  });
};

/**
 * Only pods that say so themselves and run as a service account of their own. What such an account may do, policy decides: it gets rights by
 * Roles alone. What the account says does not count, as charts write it without need.
 */
const wantsToken = ({ automountServiceAccountToken, serviceAccountName }: JsonMap): boolean =>
  automountServiceAccountToken === true &&
  typeof serviceAccountName === 'string' &&
  !['', 'default'].includes(serviceAccountName);
