import { asList, asMap, asText, at, type JsonMap, type JsonValue, type WorkloadKind, withValue } from '@eph/contract';

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
