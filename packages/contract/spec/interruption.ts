import type { JsonMap } from '../layers.ts';
import { asList, asMap, asText, at, podTemplatePath } from './rendered-objects.ts';

/**
 * Why an update of this workload interrupts it, as part of a sentence; undefined where its old pods serve until the new ones do.
 *
 * @param claims the claims of the environment, of which only those count that the workload mounts
 */
export const interruptionOf = (workload: JsonMap, claims: readonly JsonMap[]): string | undefined => {
  switch (workload['kind']) {
    case 'StatefulSet':
      return 'each pod of a StatefulSet ends before its successor starts';
    case 'DaemonSet':
      return at(workload, ['spec', 'updateStrategy', 'rollingUpdate', 'maxUnavailable']) === 0
        ? undefined
        : 'the pod of a machine ends before its successor starts there';
    case 'ReplicaSet':
    case 'Job':
    case 'Pod':
      return `a ${workload['kind']} cannot be changed, so it is removed and made again`;
    case 'Deployment':
      return deploymentInterruption(workload, claims);
    default:
      return undefined;
  }
};

const deploymentInterruption = (deployment: JsonMap, claims: readonly JsonMap[]): string | undefined => {
  if (at(deployment, ['spec', 'strategy', 'type']) === 'Recreate')
    return 'its pods end before the new ones start, as its strategy Recreate says';
  const exclusive = findExclusiveClaim(deployment, claims);
  return exclusive === undefined
    ? undefined
    : `its pods end before the new ones start, because claim ${exclusive} is for one pod`;
};

/** The name of a claim that a Deployment mounts, and that its old and its new pods could not mount at the same time. */
export const findExclusiveClaim = (deployment: JsonMap, claims: readonly JsonMap[]): string | undefined => {
  const volumes = asList(at(deployment, [...podTemplatePath('Deployment'), 'spec', 'volumes']));
  const mounted = volumes
    .map((volume) => asText(at(volume, ['persistentVolumeClaim', 'claimName'])))
    .filter((name) => name !== '');
  const exclusive = claims.filter((claim) => !asList(at(claim, ['spec', 'accessModes'])).some(isShared));
  return mounted.find((name) => exclusive.some((claim) => asText(asMap(claim['metadata'])['name']) === name));
};

/** `ReadWriteOnce` allows all pods of one machine, and nobody knows which machine the next pod gets. */
const isShared = (mode: unknown): boolean => mode === 'ReadWriteMany' || mode === 'ReadOnlyMany';
