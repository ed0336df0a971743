import { createHash } from 'node:crypto';
import { fieldAt, listAt, textAt } from '@eph/kube/fields';
import { keepMetadata, keepStatus } from '@eph/kube/kept-fields';
import type { KindName, KubeObject } from '@eph/kube/object';
import type { Keep } from '@eph/kube/object-cache';
import { fieldManager } from './marks.ts';

/** An object that Eph applied, as far as the provider looks at it. */
export interface TrackedObject extends KubeObject {
  /** Digest of the fields that are still as Eph applied them. Whoever changes one of them takes it over, and the digest changes. */
  readonly applied: string;
}

/** Of which only the existence and the applied fields count. */
const silentKinds: ReadonlySet<string> = new Set([
  'v1/ConfigMap',
  'v1/Secret',
  'v1/Service',
  'v1/ServiceAccount',
  'v1/ResourceQuota',
  'v1/LimitRange',
  'batch/v1/CronJob',
  'discovery.k8s.io/v1/EndpointSlice',
  'networking.k8s.io/v1/Ingress',
  'networking.k8s.io/v1/NetworkPolicy',
  'policy/v1/PodDisruptionBudget',
  'rbac.authorization.k8s.io/v1/Role',
  'rbac.authorization.k8s.io/v1/RoleBinding',
]);

export const isSilent = ({ apiVersion, kind }: KindName): boolean => silentKinds.has(`${apiVersion}/${kind}`);

/** What is read of the kind, and how much of it is sent. */
export const trackingOf = (kind: KindName): { readonly keep: Keep<TrackedObject>; readonly metadataOnly: boolean } => {
  const metadataOnly = isSilent(kind);
  const keep = metadataOnly ? keepMetadata : keepStatus;
  return { metadataOnly, keep: (object) => ({ ...keep(object), applied: computeApplied(object) }) };
};

export const computeApplied = (object: KubeObject): string => {
  const own = listAt(object, 'metadata', 'managedFields').filter(
    (entry) =>
      textAt(entry, 'manager') === fieldManager &&
      textAt(entry, 'operation') === 'Apply' &&
      textAt(entry, 'subresource') === undefined,
  );
  const text = JSON.stringify(own.map((entry) => fieldAt(entry, 'fieldsV1')));
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
};
