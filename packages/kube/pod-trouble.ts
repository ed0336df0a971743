import { fieldAt, listAt, numberAt, textAt } from './fields.ts';
import type { KubeObject } from './object.ts';
import { conditionOf } from './readiness.ts';

/** Why a pod does not run, as far as the cluster knows. */
export interface PodTrouble {
  readonly kind: 'image' | 'crash' | 'configuration' | 'memory' | 'unschedulable' | 'evicted' | 'probe' | 'deadline';
  /** In plain words, for whoever wrote the manifest. */
  readonly sentence: string;
  /** Nothing changes it but another manifest or image, or an operator. */
  readonly isLasting: boolean;
}

/** Undefined for a pod that runs, or is about to. The first trouble is told: the others often follow from it. */
export const findPodTrouble = (pod: KubeObject): PodTrouble | undefined => {
  if (textAt(pod, 'status', 'phase') === 'Succeeded' || pod.metadata.deletionTimestamp !== undefined) return undefined;
  const statuses = ['initContainerStatuses', 'containerStatuses'].flatMap((list) => listAt(pod, 'status', list));
  for (const status of statuses) {
    const trouble = ofContainer(status);
    if (trouble !== undefined) return trouble;
  }
  return ofPod(pod);
};

const ofPod = (pod: KubeObject): PodTrouble | undefined => {
  const reason = textAt(pod, 'status', 'reason');
  if (reason === 'Evicted')
    return { kind: 'evicted', sentence: `The node evicted the pod: ${clip(textAt(pod, 'status', 'message'))}`, isLasting: false };
  if (reason === 'DeadlineExceeded')
    return { kind: 'deadline', sentence: 'The pod ran longer than its deadline allows.', isLasting: true };
  const scheduled = conditionOf(pod, 'PodScheduled');
  if (scheduled?.status === 'False' && scheduled.reason === 'Unschedulable')
    return { kind: 'unschedulable', sentence: `No node can run the pod: ${clip(scheduled.message)}`, isLasting: false };
  return undefined;
};

const ofContainer = (status: unknown): PodTrouble | undefined => {
  const name = textAt(status, 'name') ?? 'a container';
  const image = textAt(status, 'image') ?? 'its image';
  const waiting = fieldAt(status, 'state', 'waiting');
  const reason = textAt(waiting, 'reason') ?? '';
  const message = clip(textAt(waiting, 'message'));
  if (imageReasons.has(reason)) return ofImage(name, image, reason, message);
  if (configurationReasons.has(reason))
    return {
      kind: 'configuration',
      sentence: `${name} cannot be created: ${message}`,
      isLasting: reason !== 'CreateContainerError',
    };
  const ended = fieldAt(status, 'state', 'terminated') ?? fieldAt(status, 'lastState', 'terminated');
  const restarts = numberAt(status, 'restartCount') ?? 0;
  if (reason === 'CrashLoopBackOff') return ofEnd(name, ended, `, ${times(restarts)} so far, and is started again later`);
  const failed = fieldAt(status, 'state', 'terminated');
  if (failed !== undefined && numberAt(failed, 'exitCode') !== 0) return ofEnd(name, failed, '');
  if (fieldAt(status, 'state', 'running') === undefined || restarts === 0) return undefined;
  if (fieldAt(status, 'started') === false)
    return {
      kind: 'probe',
      sentence: `${name} was restarted ${times(restarts)} and has not passed its startup probe.`,
      isLasting: false,
    };
  // Between two crashes it looks like one that starts for the first time.
  if (fieldAt(status, 'ready') === false && (numberAt(ended, 'exitCode') ?? 0) !== 0)
    return ofEnd(name, ended, `, ${times(restarts)} so far, and was started again`);
  return undefined;
};

const imageReasons: ReadonlySet<string> = new Set([
  'ImagePullBackOff',
  'ErrImagePull',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
  'RegistryUnavailable',
]);

const configurationReasons: ReadonlySet<string> = new Set([
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
]);

const ofImage = (name: string, image: string, reason: string, message: string): PodTrouble => {
  const trouble = (why: string, isLasting: boolean): PodTrouble => ({
    kind: 'image',
    sentence: `The image ${image} of ${name} cannot be pulled: ${why}`,
    isLasting,
  });
  if (reason === 'InvalidImageName') return trouble('it is no name of an image.', true);
  if (reason === 'ErrImageNeverPull') return trouble('it is not on the node, and the policy is never to pull it.', true);
  if (/not found|manifest unknown|does not exist|no such/i.test(message))
    return trouble('it does not exist in the registry.', true);
  if (/unauthorized|denied|forbidden|authentication|authorization failed|401|403/i.test(message))
    return trouble('the registry does not let the cluster read it. It may need a pull secret.', true);
  return trouble(message, false);
};

const ofEnd = (name: string, ended: unknown, more: string): PodTrouble => {
  const code = numberAt(ended, 'exitCode');
  const reason = textAt(ended, 'reason');
  if (reason === 'OOMKilled')
    return { kind: 'memory', sentence: `${name} used more memory than its limit and was killed${more}.`, isLasting: false };
  if (reason === 'ContainerCannotRun' || reason === 'StartError')
    return { kind: 'configuration', sentence: `${name} cannot be started: ${clip(textAt(ended, 'message'))}`, isLasting: true };
  const how =
    code === undefined
      ? 'ended'
      : code === 0
        ? 'ended with exit code 0 although it should go on'
        : `ended with exit code ${code}`;
  return { kind: 'crash', sentence: `${name} ${how}${more}.`, isLasting: false };
};

const times = (number: number): string => (number === 1 ? 'once' : `${number} times`);

const clip = (text: string | undefined): string => {
  const line = (text ?? '').replace(/\s+/g, ' ').trim();
  if (line === '') return 'the cluster does not say why.';
  const short = line.length > 300 ? `${line.slice(0, 299)}…` : line;
  return /[.…]$/.test(short) ? short : `${short}.`;
};
