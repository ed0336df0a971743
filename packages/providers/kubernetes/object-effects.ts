import { type ComponentName, EphError, isWorkload, parsePointer } from '@eph/contract';
import type { Cluster } from '@eph/kube/cluster';
import { fieldAt, listAt, textAt } from '@eph/kube/fields';
import { isCode } from '@eph/kube/kube-client';
import { isRecord, type KubeObject } from '@eph/kube/object';
import type { Caches } from './caches.ts';
import { print } from './component-state.ts';
import type { ObjectReference } from './inventory.ts';
import { fieldManager, labels } from './marks.ts';
import type { PreparedObject } from './prepare-objects.ts';
import type { TrackedObject } from './tracked-object.ts';

/** More requests at a time are not faster, and ephd shares the cluster with others. */
const atOnce = 8;

/** Applies objects side by side and returns them as the cluster has them, in the same order. After the first failure it begins no other. */
export const applyObjects = async (
  cluster: Cluster,
  objects: readonly PreparedObject[],
  signal: AbortSignal,
): Promise<readonly KubeObject[]> => {
  const answers: KubeObject[] = [];
  await doSideBySide(objects, signal, async (prepared, index) => {
    answers[index] = await applyObject(cluster, prepared, signal);
  });
  return answers;
};

/** Returns, or throws the first failure, when nothing is under way any more: whoever comes next must not meet a late write. */
const doSideBySide = async <T>(
  all: readonly T[],
  signal: AbortSignal,
  effect: (one: T, index: number) => Promise<void>,
): Promise<void> => {
  const failed = new AbortController();
  const queue = all.entries();
  const work = async (): Promise<void> => {
    for (const [index, one] of queue) {
      if (failed.signal.aborted) return;
      signal.throwIfAborted();
      await effect(one, index);
    }
  };
  const workers = Array.from({ length: Math.min(atOnce, all.length) }, () =>
    work().catch((error: unknown) => failed.abort(error ?? new Error('failed'))),
  );
  await Promise.all(workers);
  failed.signal.throwIfAborted();
};

const applyObject = async (cluster: Cluster, { object, keep }: PreparedObject, signal: AbortSignal): Promise<KubeObject> => {
  const wanted =
    keep.length === 0 ? object : withLiveValues(object, keep, await cluster.client.get(object, object.metadata, signal));
  try {
    const answer = await cluster.apply(wanted, { manager: fieldManager, force: true }, signal);
    if (answer.metadata.deletionTimestamp !== undefined) throw removing(answer);
    return answer;
  } catch (error) {
    if (!isCode(error, 'object.immutable')) throw error;
    const live = await cluster.client.get(object, object.metadata, signal);
    if (live !== undefined && holdsData(live)) throw error;
    return await makeAnew(cluster, object, live, signal);
  }
};

/** Its data would go with it. */
const holdsData = (live: KubeObject): boolean =>
  live.kind === 'PersistentVolumeClaim' ||
  (listAt(live, 'spec', 'volumeClaimTemplates').length > 0 &&
    textAt(live, 'spec', 'persistentVolumeClaimRetentionPolicy', 'whenDeleted') === 'Delete');

/** The API server allows no other way to change what it calls immutable. The next call creates the object. */
const makeAnew = async (
  cluster: Cluster,
  object: KubeObject,
  live: KubeObject | undefined,
  signal: AbortSignal,
): Promise<never> => {
  const uid = live?.metadata.uid;
  if (live !== undefined && uid !== undefined)
    await cluster.delete(object, live.metadata, { propagation: 'Foreground', preconditions: { uid } }, signal);
  throw removing(live ?? object);
};

/** What every rendering makes anew, such as a password, stays as it was created. */
const withLiveValues = (object: KubeObject, pointers: readonly string[], live: KubeObject | undefined): KubeObject => {
  if (live === undefined) return object;
  const copy = structuredClone(object);
  for (const pointer of pointers) {
    const path = parsePointer(pointer) ?? [];
    const value = valueAt(live, path);
    if (value !== undefined) setAt(copy, path, value);
  }
  return copy;
};

const valueAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((at, step) => (Array.isArray(at) ? at[Number(step)] : fieldAt(at, step)), value);

const setAt = (value: unknown, path: readonly string[], to: unknown): void => {
  const last = path.at(-1) ?? '';
  const parent = valueAt(value, path.slice(0, -1));
  if (Array.isArray(parent)) parent[Number(last)] = to;
  else if (isRecord(parent)) parent[last] = to;
};

/**
 * Deletes what is there of these, and throws `component.removing` for as long as some of it is. What another component has taken over
 * since, such as a Service that now selects its pods, stays.
 */
export const deleteObjects = async (
  cluster: Cluster,
  caches: Caches,
  { namespace, component }: { readonly namespace: string; readonly component: ComponentName },
  references: readonly ObjectReference[],
  signal: AbortSignal,
): Promise<void> => {
  const left: KubeObject[] = [];
  await doSideBySide(references, signal, async (reference) => {
    const live = caches.find(namespace, reference);
    if (live === undefined || (live.metadata.labels?.[labels.component] ?? component) !== component) return;
    const still = live.metadata.deletionTimestamp === undefined ? await deleteObject(cluster, live, signal) : live;
    if (still !== undefined) left.push(still);
  });
  const [first] = left;
  if (first !== undefined) throw removing(first, left.length - 1);
};

/** A workload stays until its pods are gone, so that nothing is called removed that still runs. Undefined once it is gone. */
const deleteObject = async (cluster: Cluster, live: TrackedObject, signal: AbortSignal): Promise<KubeObject | undefined> => {
  const { uid } = live.metadata;
  const propagation = isWorkload(live.kind) ? 'Foreground' : 'Background';
  const preconditions = uid === undefined ? {} : { preconditions: { uid } };
  const deletion = await cluster.delete(live, live.metadata, { propagation, ...preconditions }, signal);
  return deletion.state === 'removing' ? deletion.object : undefined;
};

const removing = (object: KubeObject, others = 0): EphError => {
  const { name, finalizers = [] } = object.metadata;
  const by = finalizers.filter((one) => one !== 'foregroundDeletion');
  const more = others === 0 ? '' : ` and ${others} more`;
  const blockers = by.length === 0 ? '' : ` and waits for ${by.join(', ')}`;
  return new EphError('component.removing', `${print({ ...object, name })}${more} is being removed${blockers}`);
};

/** Why a namespace that is being removed is still there, in the words of the cluster. */
export const removingNamespace = ({ metadata, status }: KubeObject): EphError => {
  const said = listAt(status, 'conditions').flatMap((one) =>
    textAt(one, 'status') === 'True' && textAt(one, 'type')?.startsWith('Namespace') === true
      ? (textAt(one, 'message') ?? [])
      : [],
  );
  const why = said.length === 0 ? '' : `: ${said.join(' ').replace(/\s+/g, ' ').slice(0, 500)}`;
  return new EphError('component.removing', `namespace ${metadata.name} is being removed${why}`);
};
