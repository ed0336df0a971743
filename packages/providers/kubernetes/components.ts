import {
  type ComponentName,
  EphError,
  type Identity,
  isWorkload,
  type ObservedComponent,
  type ProjectId,
  type ResolvedComponent,
} from '@eph/contract';
import type { Clock } from '@eph/engine/time/clock';
import type { Cluster } from '@eph/kube/cluster';
import { fieldAt, listAt, numberAt, textAt } from '@eph/kube/fields';
import { isCode } from '@eph/kube/kube-client';
import type { KubeObject } from '@eph/kube/object';
import { type Caches, namespaceKind } from './caches.ts';
import { findDrift } from './component-state.ts';
import { type CopyRule, copyPullSecrets, copySecrets, secretsOf } from './copied-secrets.ts';
import type { Environments, EnvironmentView } from './environments.ts';
import {
  type Inventory,
  type InventoryService,
  inventoryKind,
  inventoryName,
  isSameObject,
  type ObjectReference,
  type RecordedVersion,
  toInventorySecret,
} from './inventory.ts';
import { annotations, fieldManager, labels } from './marks.ts';
import { computeGuards, computeNamespace, type NamespaceSettings } from './namespace-objects.ts';
import { applyObjects, deleteObjects, removingNamespace } from './object-effects.ts';
import { type EnvironmentFacts, type PreparedObject, prepareObjects } from './prepare-objects.ts';
import type { Repairs } from './repairs.ts';
import { computeApplied } from './tracked-object.ts';
import { type KubernetesValues, parseKubernetesValues, refuse } from './values.ts';

export interface ComponentsOptions extends NamespaceSettings {
  /** Which secrets of the cluster environments may have copies of. */
  readonly copyRules: readonly CopyRule[];
  readonly cluster: Cluster;
  readonly caches: Caches;
  readonly environments: Environments;
  readonly repairs: Repairs;
  readonly clock: Clock;
  readonly secretOf: (project: ProjectId, name: string) => string | undefined;
  readonly urlOf: (identity: Identity) => string;
  readonly invalidate: (namespace: string) => void;
}

/** The component that holds what belongs to the environment as a whole. */
const namespaceComponent = 'namespace';
/** Who writes what the deletion guard says: applying the namespace again must not take it away. */
const holdManager = 'eph-hold';
/** Who keeps the number of pods until an autoscaler changes it. */
const replicasManager = 'eph-replicas';
/** Namespaces are DNS labels. */
const namespaceForm = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Changes the cluster, one component at a time. The inventory is written before the first effect and marked complete after the last, so
 * what was cut off anywhere is found, and the same call completes it.
 */
export class Components {
  readonly #options: ComponentsOptions;

  constructor(options: ComponentsOptions) {
    this.#options = options;
  }

  async ensure(given: Identity, component: ResolvedComponent, signal: AbortSignal): Promise<void> {
    const { cluster, caches, environments, owner } = this.#options;
    const values = parseKubernetesValues(component);
    const identity = environments.get(given.id)?.observed.identity ?? given;
    const namespace = await this.#obtainNamespace(identity, component, values, signal);
    const view = environments.get(identity.id);
    const before = view?.inventories.get(component.name);
    const prepared = await this.#prepare(identity, component, values, namespace, view, signal);
    const [workloads, others] = partition(prepared, ({ object }) => isWorkload(object.kind));
    const references = [...workloads, ...others].map(({ object }) => toReference(object));
    await caches.watchKinds(references, signal);
    const find = (reference: ObjectReference) => caches.find(namespace, reference);
    const isThere = before?.version.revision === component.revision && before.version.complete;
    const isRead = (reference: ObjectReference) => caches.isRead(reference);
    const drift = isThere ? findDrift({ inventory: before, find, isRead }) : undefined;
    if (isThere && drift === undefined) return await this.#prune(before, namespace, view, signal);

    const seen = view?.observed.components.find(({ name }) => name === component.name);
    const inventory: Inventory = {
      format: 1,
      identity,
      component: component.name,
      dependsOn: [...component.dependsOn],
      entry: values.entry ?? null,
      services: prepared.flatMap(({ object }) => toService(object)),
      ...(values.imagePullSecrets !== undefined && { pullSecrets: values.imagePullSecrets }),
      ...this.#planVersions(component, prepared, before, seen),
      objects: references,
      prune: withoutRepeated([...(before?.prune ?? []), ...(before?.objects ?? [])]).filter(
        (old) => !references.some((one) => isSameObject(one, old)),
      ),
    };
    const write = (changes: Partial<Inventory>): Promise<unknown> =>
      cluster.apply(
        toInventorySecret({ ...inventory, ...changes }, namespace, owner),
        { manager: fieldManager, force: true },
        signal,
      );
    if (drift === undefined) await write({});
    else this.#noteRepair(identity, component.name, namespace);
    if (before !== undefined) await this.#handOverReplicas(before, workloads, references, namespace, signal);
    const applied = [
      ...(await applyObjects(cluster, others, signal)),
      // What they use is there when they start.
      ...(await applyObjects(cluster, workloads, signal)),
    ];
    const fieldsOf = (reference: ObjectReference): string | undefined => {
      const answer = applied.find((one) => isSameObject(toReference(one), reference));
      return answer === undefined ? undefined : computeApplied(answer);
    };
    await write({
      objects: references.map((reference) => {
        const fields = fieldsOf(reference);
        return { ...reference, ...(fields !== undefined && { fields }) };
      }),
      version: { ...inventory.version, complete: true },
    });
  }

  async remove({ id }: Identity, component: ComponentName, signal: AbortSignal): Promise<void> {
    const { caches, cluster, environments } = this.#options;
    const view = environments.get(id);
    if (view === undefined) return;
    if (view.removal !== undefined) throw removingNamespace(view.removal);
    const secrets = caches.inventories.cache.by('namespace', view.namespace);
    const own = secrets.find(({ metadata }) => metadata.name === inventoryName(component));
    if (secrets.every((one) => one === own)) return await this.#removeNamespace(view, signal);
    if (own === undefined) return;
    const { objects, prune } = own.inventory ?? { objects: [...usualObjects], prune: [] };
    await caches.watchKinds([...objects, ...prune], signal);
    this.#requireRead({ objects, prune });
    const all = withoutRepeated([...objects, ...prune, ...caches.labelled(id, component)]).filter(
      // The rest of the environment is still guarded.
      (one) => !isGuard(one) && one.name !== inventoryName(component),
    );
    const [workloads, others] = partition(all, ({ kind }) => isWorkload(kind));
    const place = { namespace: view.namespace, component };
    await deleteObjects(cluster, caches, place, workloads, signal);
    await deleteObjects(cluster, caches, place, others, signal);
    await cluster.delete(inventoryKind, own.metadata, { propagation: 'Background' }, signal);
    // Of several that go at the same time, the last one has nobody left.
    const after = environments.get(id);
    if (after === undefined || caches.inventories.cache.by('namespace', after.namespace).length > 0) return;
    await this.#removeNamespace(after, signal);
  }

  async hold({ id }: Identity, held: boolean, signal: AbortSignal): Promise<void> {
    const { caches, cluster, environments } = this.#options;
    const view = environments.get(id);
    if (view === undefined || view.observed.held === held) return;
    const name = view.namespace;
    // With the uid, one that is gone by now is not made again.
    const uid = caches.namespaces.cache.get({ name })?.metadata.uid;
    const metadata = { name, ...(uid !== undefined && { uid }), ...(held && { annotations: { [annotations.held]: 'true' } }) };
    await cluster.apply({ ...namespaceKind, metadata }, { manager: holdManager, force: true }, signal);
  }

  /** The namespace of the environment, made if it is not there. One that is not ours is refused. */
  async #obtainNamespace(
    identity: Identity,
    component: ResolvedComponent,
    values: KubernetesValues,
    signal: AbortSignal,
  ): Promise<string> {
    const { caches, cluster, environments, owner } = this.#options;
    const view = environments.get(identity.id);
    if (view?.removal !== undefined) throw removingNamespace(view.removal);
    const known = view?.namespace ?? caches.namespaces.cache.by('environment', identity.id)[0]?.metadata.name;
    if (known !== undefined) return known;
    const name = values.namespace ?? defaultNamespace(owner, identity);
    if (!namespaceForm.test(name))
      throw refuse(component, `${JSON.stringify(name.slice(0, 80))} cannot be the name of a namespace`);
    const live = await cluster.client.get(namespaceKind, { name }, signal);
    if (live !== undefined) this.#requireOwn(identity, component, live);
    else await this.#createNamespace(identity, component, name, signal);
    if (component.name !== namespaceComponent) await applyObjects(cluster, this.#guards(identity, name, component), signal);
    return name;
  }

  /** Not applied: that would take the one that another environment has made meanwhile. Another component may have been faster, though. */
  async #createNamespace(identity: Identity, component: ResolvedComponent, name: string, signal: AbortSignal): Promise<void> {
    const { cluster } = this.#options;
    try {
      await cluster.create(computeNamespace(identity, name, this.#options), signal);
    } catch (error) {
      const live = isCode(error, 'object.conflict') ? await cluster.client.get(namespaceKind, { name }, signal) : undefined;
      if (live === undefined) throw error;
      this.#requireOwn(identity, component, live);
    }
  }

  #requireOwn({ id }: Identity, component: ResolvedComponent, namespace: KubeObject): void {
    const { name, labels: own = {}, deletionTimestamp } = namespace.metadata;
    if (own[labels.owner] !== this.#options.owner || own[labels.environment] !== id)
      throw refuse(
        component,
        `namespace ${name} exists and is not of this environment; kubernetes.namespace_template must name another`,
      );
    if (deletionTimestamp !== undefined) throw removingNamespace(namespace);
  }

  #guards(identity: Identity, namespace: string, { budget }: ResolvedComponent): readonly PreparedObject[] {
    return computeGuards(identity, namespace, this.#options, budget).map((object) => ({ object, keep: [] }));
  }

  async #prepare(
    identity: Identity,
    component: ResolvedComponent,
    values: KubernetesValues,
    namespace: string,
    view: EnvironmentView | undefined,
    signal: AbortSignal,
  ): Promise<readonly PreparedObject[]> {
    const { owner, secretOf, urlOf, copyRules, cluster, caches } = this.#options;
    const { copies: wanted } = values;
    const readSecret = secretsOf(cluster, signal);
    const copies = [
      ...(wanted === undefined ? [] : await copySecrets(component, wanted, copyRules, identity, readSecret)),
      ...(await copyPullSecrets(component, values, copyRules, identity, readSecret)),
    ];
    const facts: EnvironmentFacts = {
      owner,
      identity,
      namespace,
      secretOf: (name) => secretOf(identity.project, name),
      url: urlOf(identity),
      imagePullSecrets: [...(view?.inventories.values() ?? [])].flatMap((one) => one.pullSecrets ?? []),
      accessModesOf(name) {
        const claim = caches.find(namespace, { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name });
        return claim === undefined ? undefined : listAt(claim, 'spec', 'accessModes').map(String);
      },
    };
    const { objects } = prepareObjects(component, values, facts, copies);
    if (component.name !== namespaceComponent) return objects;
    const own = { object: computeNamespace(identity, namespace, this.#options), keep: [] };
    return [own, ...this.#guards(identity, namespace, component), ...objects];
  }

  /** Which version is made, and which one serves until then. */
  #planVersions(
    { revision, commit, images }: ResolvedComponent,
    prepared: readonly PreparedObject[],
    before: Inventory | undefined,
    seen: ObservedComponent | undefined,
  ): Pick<Inventory, 'version' | 'previous'> {
    const version = { revision, commit, ...(images && { images }), complete: false };
    const now = new Date(this.#options.clock.now()).toISOString();
    if (before === undefined) return { version: { ...version, since: now }, previous: null };
    const { since, served } = before.version;
    if (before.version.revision === revision)
      return { version: { ...version, since, ...(served && { served }) }, previous: before.previous };
    const isServing = seen?.current !== null && seen?.next === null;
    const serving = isServing ? toRecorded(before.version, seen?.current?.since) : before.previous;
    // It never stopped serving, and need not become ready again.
    if (serving?.revision === revision) return { version: { ...version, since: serving.since, served: true }, previous: null };
    return { version: { ...version, since: now }, previous: prepared.some(isRolling) ? serving : null };
  }

  /**
   * What Eph no longer applies falls back to its default: without another owner of the field, a workload that an autoscaler is to scale from
   * now on would have one pod until that looks at it.
   */
  async #handOverReplicas(
    before: Inventory,
    workloads: readonly PreparedObject[],
    references: readonly ObjectReference[],
    namespace: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { caches, cluster } = this.#options;
    const scales = (all: readonly ObjectReference[]): boolean => all.some(({ kind }) => kind === 'HorizontalPodAutoscaler');
    if (!scales(references) || (scales(before.objects) && before.version.complete)) return;
    for (const { object } of workloads) {
      const live = caches.find(namespace, toReference(object));
      const replicas = live === undefined ? undefined : numberAt(live, 'spec', 'replicas');
      if (replicas === undefined || fieldAt(object, 'spec', 'replicas') !== undefined) continue;
      const { apiVersion, kind, metadata } = object;
      const scaled = { apiVersion, kind, metadata: { name: metadata.name, namespace }, spec: { replicas } };
      await cluster.apply(scaled, { manager: replicasManager, force: true }, signal);
    }
  }

  async #prune(inventory: Inventory, namespace: string, view: EnvironmentView | undefined, signal: AbortSignal): Promise<void> {
    const { cluster, caches, owner } = this.#options;
    const seen = view?.observed.components.find(({ name }) => name === inventory.component);
    if (inventory.prune.length === 0 || seen?.retiring !== true) return;
    this.#requireRead(inventory);
    await deleteObjects(cluster, caches, { namespace, component: inventory.component }, inventory.prune, signal);
    const pruned = toInventorySecret({ ...inventory, prune: [] }, namespace, owner);
    await cluster.apply(pruned, { manager: fieldManager, force: true }, signal);
  }

  async #removeNamespace({ namespace: name }: EnvironmentView, signal: AbortSignal): Promise<void> {
    const { caches, cluster } = this.#options;
    const uid = caches.namespaces.cache.get({ name })?.metadata.uid;
    const preconditions = uid === undefined ? {} : { preconditions: { uid } };
    const deletion = await cluster.delete(namespaceKind, { name }, { propagation: 'Background', ...preconditions }, signal);
    if (deletion.state === 'removing') throw removingNamespace(deletion.object);
  }

  #requireRead(inventory: Pick<Inventory, 'objects' | 'prune'>): void {
    const fault = this.#options.caches.faultOf(inventory);
    if (fault !== undefined) throw new EphError(fault.code, fault.message, { retryAfterMs: fault.retryAfterMs });
  }

  /** Before it is tried: drift that is left alone for now must be seen again, whatever comes of the repair. */
  #noteRepair({ id }: Identity, component: ComponentName, namespace: string): void {
    const { clock, repairs, invalidate } = this.#options;
    repairs.note(id, component);
    clock.after(repairs.waitMs(id, component) + 1, () => invalidate(namespace));
  }
}

/** What is looked for by labels where somebody changed an inventory so that it says nothing. */
const usualObjects: readonly ObjectReference[] = [
  ...['Deployment', 'StatefulSet', 'DaemonSet'].map((kind) => ({ apiVersion: 'apps/v1', kind, name: '' })),
  ...['Job', 'CronJob'].map((kind) => ({ apiVersion: 'batch/v1', kind, name: '' })),
  ...['Service', 'ConfigMap', 'Secret', 'PersistentVolumeClaim'].map((kind) => ({ apiVersion: 'v1', kind, name: '' })),
  { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', name: '' },
  { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', name: '' },
];

/** With the owner: environments of two ephd with one name do not meet. */
const defaultNamespace = (owner: string, { name, id }: Identity): string => {
  const whole = `${owner}-${name}`;
  return whole.length <= 63 ? whole : `${whole.slice(0, 46)}-${id}`;
};

/** What keeps the rest of the environment apart, and its namespace. */
const isGuard = ({ kind, name }: ObjectReference): boolean =>
  kind === namespaceKind.kind || ['eph-isolation', 'eph-limits', 'eph-quota'].includes(name);

const toReference = ({ apiVersion, kind, metadata: { name } }: KubeObject): ObjectReference => ({ apiVersion, kind, name });

const toRecorded = (
  { revision, commit, images, since }: Inventory['version'],
  shownSince: string | undefined,
): RecordedVersion => ({
  revision,
  commit,
  ...(images && { images }),
  since: shownSince ?? since,
});

/** Pods of two versions can run at once, and the old ones stay until new ones are ready. */
const isRolling = ({ object }: PreparedObject): boolean =>
  object.kind === 'Deployment' && textAt(object, 'spec', 'strategy', 'type') !== 'Recreate';

const toService = (object: KubeObject): InventoryService[] => {
  if (object.kind !== 'Service' || object.apiVersion !== 'v1') return [];
  const ports = listAt(object, 'spec', 'ports').flatMap((one) => {
    const port = numberAt(one, 'port');
    if (port === undefined || (textAt(one, 'protocol') ?? 'TCP') !== 'TCP') return [];
    const target = fieldAt(one, 'targetPort');
    const name = textAt(one, 'name');
    const isTarget = typeof target === 'number' || typeof target === 'string';
    return [{ port, target: isTarget ? target : port, ...(name !== undefined && { name }) }];
  });
  return [{ name: object.metadata.name, ports }];
};

const withoutRepeated = (references: readonly ObjectReference[]): ObjectReference[] =>
  references.filter((one, index) => references.findIndex((other) => isSameObject(one, other)) === index);

const partition = <T>(all: readonly T[], holds: (one: T) => boolean): readonly [readonly T[], readonly T[]] => [
  all.filter(holds),
  all.filter((one) => !holds(one)),
];
