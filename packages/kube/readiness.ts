import { fieldAt, listAt, numberAt, textAt } from './fields.ts';
import type { KubeObject } from './object.ts';

/**
 * How far an object is.
 * - `ready`: it does what it is for, or has done it.
 * - `progressing`: the cluster works on it.
 * - `failed`: the cluster gave up, or says that somebody has to act. It may still become ready.
 * - `removing`: it is being removed.
 */
export type ReadinessState = 'ready' | 'progressing' | 'failed' | 'removing';

export interface Readiness {
  readonly state: ReadinessState;
  /** A sentence. */
  readonly reason: string;
}

const ready = (reason: string): Readiness => ({ state: 'ready', reason });
const progressing = (reason: string): Readiness => ({ state: 'progressing', reason });
const failed = (reason: string): Readiness => ({ state: 'failed', reason });

/** Of any kind, from what its controller says of it. What says nothing of itself is ready as soon as it is there. */
export const computeReadiness = (object: KubeObject): Readiness => {
  const { deletionTimestamp, finalizers = [] } = object.metadata;
  if (deletionTimestamp !== undefined) {
    // The cluster's own: it removes what belongs to the object first.
    const others = finalizers.filter((one) => one !== 'foregroundDeletion');
    const by = others.length === 0 ? '' : `, and waits for ${others.join(', ')}`;
    return { state: 'removing', reason: `It is being removed${by}.` };
  }
  if (isBehind(object)) return progressing('Its controller has not seen its last change yet.');
  const group = object.apiVersion.includes('/') ? object.apiVersion.split('/')[0] : '';
  return (ofKind.get(`${group}/${object.kind}`) ?? ofConditions)(object);
};

const isBehind = ({ metadata: { generation }, status }: KubeObject): boolean => {
  const seen = numberAt(status, 'observedGeneration');
  return seen !== undefined && generation !== undefined && seen < generation;
};

interface Condition {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

export const conditionOf = (object: KubeObject, type: string): Condition | undefined => {
  const found = listAt(object, 'status', 'conditions').find((one) => textAt(one, 'type') === type);
  const status = textAt(found, 'status');
  if (status !== 'True' && status !== 'False' && status !== 'Unknown') return undefined;
  // A condition may be older than the object: then it says nothing of it.
  const seen = numberAt(found, 'observedGeneration');
  if (seen !== undefined && seen < (object.metadata.generation ?? 0)) return undefined;
  return { status, reason: textAt(found, 'reason') ?? '', message: textAt(found, 'message') ?? '' };
};

const say = ({ reason, message }: Condition, otherwise: string): string => {
  const text = (message || reason || otherwise).replace(/\s+/g, ' ').trim().slice(0, 300);
  return /[.!?]$/.test(text) ? text : `${text}.`;
};

const count = (object: KubeObject, field: string): number => numberAt(object, 'status', field) ?? 0;

const ofDeployment = (object: KubeObject): Readiness => {
  const wanted = numberAt(object, 'spec', 'replicas') ?? 1;
  const progress = conditionOf(object, 'Progressing');
  const refusal = conditionOf(object, 'ReplicaFailure');
  if (progress?.reason === 'ProgressDeadlineExceeded')
    return failed(refusal?.status === 'True' ? sayRefused(refusal) : 'The rollout made no progress for too long.');
  if (numberAt(object, 'status', 'observedGeneration') === undefined) return progressing('Its controller has not seen it yet.');
  const updated = count(object, 'updatedReplicas');
  if (updated < wanted) {
    if (refusal?.status === 'True') return failed(sayRefused(refusal));
    return progressing(`${updated} of ${wanted} pods are of the new version.`);
  }
  const old = count(object, 'replicas') - updated;
  if (old > 0) return progressing(`${old} ${pods(old)} of the version before ${old === 1 ? 'is' : 'are'} still there.`);
  return readyCount(count(object, 'availableReplicas'), wanted);
};

/** Why the cluster does not let a controller create pods. */
const sayRefused = (condition: Condition): string => {
  const quota = /exceeded quota: (\S+), requested: (.+?), used: (.+?), limited: (.+)$/.exec(condition.message);
  if (quota === null) return `Its pods cannot be created: ${say(condition, 'the cluster does not say why')}`;
  const [, name, requested, used, limited] = quota;
  return `Its pods cannot be created because quota ${name} is used up: they need ${requested}, used is ${used} of ${limited}.`;
};

const pods = (number: number): string => (number === 1 ? 'pod' : 'pods');

const readyCount = (found: number, wanted: number): Readiness =>
  found < wanted
    ? progressing(`${found} of ${wanted} ${pods(wanted)} ${wanted === 1 ? 'is' : 'are'} ready.`)
    : ready(
        wanted === 0 ? 'It is scaled to zero.' : `${wanted} of ${wanted} ${pods(wanted)} ${wanted === 1 ? 'is' : 'are'} ready.`,
      );

const ofStatefulSet = (object: KubeObject): Readiness => {
  const wanted = numberAt(object, 'spec', 'replicas') ?? 1;
  if (numberAt(object, 'status', 'observedGeneration') === undefined) return progressing('Its controller has not seen it yet.');
  const ready = readyCount(count(object, 'readyReplicas'), wanted);
  if (ready.state !== 'ready' || textAt(object, 'spec', 'updateStrategy', 'type') === 'OnDelete') return ready;
  const partition = numberAt(object, 'spec', 'updateStrategy', 'rollingUpdate', 'partition') ?? 0;
  const toUpdate = Math.max(0, wanted - partition);
  const updated = count(object, 'updatedReplicas');
  const isUpdated = textAt(object, 'status', 'currentRevision') === textAt(object, 'status', 'updateRevision');
  return isUpdated || updated >= toUpdate ? ready : progressing(`${updated} of ${toUpdate} pods are of the new version.`);
};

const ofDaemonSet = (object: KubeObject): Readiness => {
  if (numberAt(object, 'status', 'observedGeneration') === undefined) return progressing('Its controller has not seen it yet.');
  const wanted = count(object, 'desiredNumberScheduled');
  const updated = count(object, 'updatedNumberScheduled');
  if (textAt(object, 'spec', 'updateStrategy', 'type') !== 'OnDelete' && updated < wanted)
    return progressing(`${updated} of ${wanted} pods are of the new version.`);
  return readyCount(count(object, 'numberAvailable'), wanted);
};

const ofReplicaSet = (object: KubeObject): Readiness => {
  const wanted = numberAt(object, 'spec', 'replicas') ?? 1;
  const refusal = conditionOf(object, 'ReplicaFailure');
  if (refusal?.status === 'True') return failed(sayRefused(refusal));
  if (numberAt(object, 'status', 'observedGeneration') === undefined) return progressing('Its controller has not seen it yet.');
  return readyCount(count(object, 'availableReplicas'), wanted);
};

const ofJob = (object: KubeObject): Readiness => {
  const failure = conditionOf(object, 'Failed');
  if (failure?.status === 'True') return failed(`It failed: ${say(failure, 'the cluster does not say why')}`);
  if (conditionOf(object, 'Complete')?.status === 'True') return ready('It succeeded.');
  if (conditionOf(object, 'Suspended')?.status === 'True') return progressing('It is suspended.');
  const [active, succeeded] = [count(object, 'active'), count(object, 'succeeded')];
  const wanted = numberAt(object, 'spec', 'completions') ?? 1;
  return progressing(active === 0 && succeeded === 0 ? 'It has not begun.' : `${succeeded} of ${wanted} runs succeeded.`);
};

const ofPod = (object: KubeObject): Readiness => {
  switch (textAt(object, 'status', 'phase')) {
    case 'Succeeded':
      return ready('It succeeded.');
    case 'Failed':
      return failed(
        `It failed: ${say({ status: 'False', reason: textAt(object, 'status', 'reason') ?? '', message: textAt(object, 'status', 'message') ?? '' }, 'a container ended with an error')}`,
      );
    case 'Running': {
      const condition = conditionOf(object, 'Ready');
      return condition?.status === 'True'
        ? ready('It is ready.')
        : progressing(say(condition ?? { status: 'Unknown', reason: '', message: '' }, 'It is not ready'));
    }
    default:
      return progressing(conditionOf(object, 'PodScheduled')?.status === 'True' ? 'It is being started.' : 'It has no node yet.');
  }
};

const ofClaim = (object: KubeObject): Readiness => {
  const phase = textAt(object, 'status', 'phase');
  if (phase === 'Bound') return ready('It has a volume.');
  return phase === 'Lost' ? failed('Its volume is lost.') : progressing('It has no volume yet; some wait until a pod uses them.');
};

const ofService = (object: KubeObject): Readiness => {
  if (textAt(object, 'spec', 'type') !== 'LoadBalancer') return ready('It is there.');
  return listAt(object, 'status', 'loadBalancer', 'ingress').length > 0
    ? ready('It has an address.')
    : progressing('It waits for an address of the load balancer.');
};

const ofAutoscaler = (object: KubeObject): Readiness => {
  const able = conditionOf(object, 'AbleToScale');
  if (able?.status === 'False') return failed(`It cannot scale: ${say(able, 'the cluster does not say why')}`);
  const active = conditionOf(object, 'ScalingActive');
  if (active === undefined) return progressing('Its controller has not seen it yet.');
  if (active.status === 'True' || active.reason === 'ScalingDisabled') return ready('It is active.');
  // Pods that have just begun have no metrics.
  return progressing(`It does not scale: ${say(active, 'the cluster does not say why')}`);
};

const ofNamespace = (object: KubeObject): Readiness =>
  textAt(object, 'status', 'phase') === 'Active' ? ready('It is there.') : progressing('It is being created.');

const ofDefinition = (object: KubeObject): Readiness => {
  const accepted = conditionOf(object, 'NamesAccepted');
  if (accepted?.status === 'False') return failed(`Its names are in use: ${say(accepted, 'by another')}`);
  return conditionOf(object, 'Established')?.status === 'True' ? ready('It is served.') : progressing('It is not served yet.');
};

/** As `kstatus` reads them: `Stalled` and `Reconciling` tell what is not normal, `Ready` and `Available` what is. */
const ofConditions = (object: KubeObject): Readiness => {
  const stalled = conditionOf(object, 'Stalled');
  if (stalled?.status === 'True') return failed(say(stalled, 'It is stalled'));
  const reconciling = conditionOf(object, 'Reconciling');
  if (reconciling?.status === 'True') return progressing(say(reconciling, 'It is being reconciled'));
  const summary = conditionOf(object, 'Ready') ?? conditionOf(object, 'Available');
  if (summary !== undefined)
    return summary.status === 'True' ? ready(say(summary, 'It is ready')) : progressing(say(summary, 'It is not ready'));
  // There are conditions of it, but none of its present generation.
  const isOutdated = listAt(fieldAt(object, 'status'), 'conditions').some((one) =>
    ['Ready', 'Available'].includes(textAt(one, 'type') ?? ''),
  );
  return isOutdated ? progressing('Its controller has not seen its last change yet.') : ready('It is there.');
};

const ofKind: ReadonlyMap<string, (object: KubeObject) => Readiness> = new Map([
  ['apps/Deployment', ofDeployment],
  ['apps/StatefulSet', ofStatefulSet],
  ['apps/DaemonSet', ofDaemonSet],
  ['apps/ReplicaSet', ofReplicaSet],
  ['batch/Job', ofJob],
  ['/Pod', ofPod],
  ['/PersistentVolumeClaim', ofClaim],
  ['/Service', ofService],
  ['/Namespace', ofNamespace],
  ['autoscaling/HorizontalPodAutoscaler', ofAutoscaler],
  ['apiextensions.k8s.io/CustomResourceDefinition', ofDefinition],
]);
