import { asList, asMap, asText, at, type JsonMap, type JsonValue, type WorkloadKind, withValue } from '@eph/contract';
import { fieldAt, textAt } from '@eph/kube/fields';
import type { KubeObject } from '@eph/kube/object';

/** How a new version takes over, and how long it may take. `isForOnePod` is asked about claims. */
export const prepareUpdates = (object: JsonMap, kind: WorkloadKind, isForOnePod: (claim: string) => boolean): JsonMap => {
  const spec = asMap(object['spec']);
  switch (kind) {
    case 'Deployment':
      return {
        ...object,
        spec: {
          progressDeadlineSeconds: 300,
          ...spec,
          // What it was before is in Git.
          revisionHistoryLimit: 1,
          strategy: computeStrategy(spec, isForOnePod),
        },
      };
    case 'StatefulSet':
      return {
        ...object,
        spec: { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Retain' }, ...spec },
      };
    case 'Job':
      // One that removed itself would look like one that somebody removed, and run again.
      return asMap(withValue(object, ['spec', 'ttlSecondsAfterFinished'], undefined));
    default:
      return object;
  }
};

const computeStrategy = (spec: JsonMap, isForOnePod: (claim: string) => boolean): JsonValue => {
  const { type, rollingUpdate } = asMap(spec['strategy']);
  // Without `rollingUpdate`, even as null: then the server refuses what is left of that of an earlier version.
  if (type === 'Recreate' || claimsOf(spec).some(isForOnePod)) return { type: 'Recreate' };
  const { maxSurge } = asMap(rollingUpdate);
  const surge = maxSurge === 0 || maxSurge === '0' || maxSurge === '0%' ? 1 : maxSurge;
  return { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, ...(surge !== undefined && { maxSurge: surge }) } };
};

const claimsOf = (spec: JsonMap): readonly string[] =>
  asList(at(spec, ['template', 'spec', 'volumes'])).flatMap((volume) => {
    const claim = asText(at(volume, ['persistentVolumeClaim', 'claimName']));
    return claim === '' ? [] : [claim];
  });

/** Why an update of a prepared workload interrupts it; undefined where it goes on serving. */
export const isReplaced = (workload: KubeObject): string | undefined => {
  const { kind, metadata } = workload;
  const shown = `${kind} ${metadata.name}`;
  switch (kind) {
    case 'Deployment':
      return textAt(workload, 'spec', 'strategy', 'type') === 'Recreate'
        ? `${shown} ends its pods before it starts others, because its strategy is Recreate or one of its volumes is for one pod`
        : undefined;
    case 'StatefulSet':
      return `${shown} ends each pod before it starts the next version of it`;
    case 'DaemonSet':
      return fieldAt(workload, 'spec', 'updateStrategy', 'rollingUpdate', 'maxUnavailable') === 0
        ? undefined
        : `${shown} ends the pod of a node before it starts another there`;
    case 'ReplicaSet':
    case 'Job':
    case 'Pod':
      return `${shown} cannot be changed while it runs, so it is removed and made anew`;
    default:
      return undefined;
  }
};
