import { type ComponentName, type EnvironmentId, type Failure, failure } from '@eph/contract';
import type { Cluster } from '@eph/kube/cluster';
import { keepPod } from '@eph/kube/kept-fields';
import type { KindName, KubeObject } from '@eph/kube/object';
import type { Reflector, Sync } from '@eph/kube/reflector';
import { type Inventory, inventoryKind, inventoryLabel, type ObjectReference, readInventory } from './inventory.ts';
import { labels } from './marks.ts';
import { type TrackedObject, trackingOf } from './tracked-object.ts';

/** An inventory with what it says; undefined where it says nothing. */
export interface InventorySecret extends KubeObject {
  readonly inventory: Inventory | undefined;
}

/** The first list of a kind that takes longer leaves environments that use it incomplete. */
const firstSyncMs = 15_000;

/**
 * What a cluster holds of one ephd, kept equal to it by watches: reading it costs no request. Kinds are watched from when the first
 * component uses them.
 */
export class Caches implements AsyncDisposable {
  readonly namespaces: Reflector<TrackedObject, 'environment'>;
  readonly inventories: Reflector<InventorySecret, 'namespace'>;
  readonly pods: Reflector<KubeObject, 'component'>;
  readonly #cluster: Cluster;
  readonly #owner: string;
  readonly #changed: (namespace: string) => void;
  readonly #tracked = new Map<string, Reflector<TrackedObject, 'component'>>();

  /** @param changed called with each namespace in which something changed, and with '' when a watch got in or out of sync */
  constructor(cluster: Cluster, owner: string, changed: (namespace: string) => void) {
    this.#cluster = cluster;
    this.#owner = owner;
    this.#changed = changed;
    const ours = { [labels.owner]: owner };
    this.namespaces = cluster.reflect({ ...namespaceKind, labels: ours }, trackingOf(namespaceKind).keep, {
      environment: ({ metadata }) => [metadata.labels?.[labels.environment] ?? []].flat(),
    });
    this.inventories = cluster.reflect({ ...inventoryKind, labels: { ...ours, [inventoryLabel]: true } }, keepInventory, {
      namespace: ({ metadata }) => [metadata.namespace ?? []].flat(),
    });
    this.pods = cluster.reflect({ apiVersion: 'v1', kind: 'Pod', labels: ours }, keepPod, { component: componentOf });
    this.namespaces.listen((keys) => this.#announce(keys));
    this.inventories.listen((keys) => {
      for (const key of keys) this.#watchKindsOf(this.inventories.cache.get(nameOf(key))?.inventory);
      this.#announceObjects(keys);
    });
    this.pods.listen((keys) => this.#announceObjects(keys));
  }

  /** Why not everything is known; undefined where it is. */
  get fault(): Failure | undefined {
    const late = [this.namespaces, this.inventories, this.pods].map(({ sync }) => sync).find(({ inSync }) => !inSync);
    return late === undefined || late.inSync ? undefined : late.fault;
  }

  /** Whether what is not shown was not there at some time. Before the first lists of all, a half looks like a whole. */
  get wasRead(): boolean {
    return [this.namespaces, this.inventories, this.pods].every(({ wasInSync }) => wasInSync);
  }

  /** Why the objects of one component are not known; undefined where they are. */
  faultOf({ objects, prune }: Pick<Inventory, 'objects' | 'prune'>): Failure | undefined {
    for (const reference of [...objects, ...prune]) {
      if (isNamespace(reference)) continue;
      const sync = this.#tracked.get(keyOf(reference))?.sync ?? notWatched(reference);
      if (!sync.inSync && !isNotServed(sync)) return sync.fault;
    }
    return undefined;
  }

  /** Resolves when everything was read once, or could not be within some time, or the signal aborts. */
  async untilTried(signal: AbortSignal): Promise<void> {
    const late = AbortSignal.any([signal, AbortSignal.timeout(firstSyncMs)]);
    await Promise.all([this.namespaces, this.inventories, this.pods].map((one) => one.untilTried(late)));
    await Promise.all([...this.#tracked.values()].map((one) => one.untilTried(late)));
  }

  async watchKinds(kinds: readonly KindName[], signal: AbortSignal): Promise<void> {
    const used = new Map(kinds.filter((one) => !isNamespace(one)).map((one) => [keyOf(one), one]));
    const added = [...used.values()].map((one) => this.#watch(one));
    if (added.length === 0) return;
    const late = AbortSignal.any([signal, AbortSignal.timeout(firstSyncMs)]);
    await Promise.all(added.map((one) => one.untilTried(late)));
  }

  /** Whether objects of the kind were listed, or cannot be there because the cluster does not serve it. */
  isRead(kind: KindName): boolean {
    if (isNamespace(kind)) return true;
    const reflector = this.#tracked.get(keyOf(kind));
    return reflector !== undefined && (reflector.wasInSync || isNotServed(reflector.sync));
  }

  find(namespace: string, reference: ObjectReference): TrackedObject | undefined {
    const { name } = reference;
    if (isNamespace(reference)) return this.namespaces.cache.get({ name });
    return this.#tracked.get(keyOf(reference))?.cache.get({ namespace, name });
  }

  /** What carries the label of the component, of the kinds that are watched. */
  labelled(environment: EnvironmentId, component: ComponentName): readonly ObjectReference[] {
    const value = `${environment}/${component}`;
    return [...this.#tracked.values()].flatMap(({ cache }) =>
      cache.by('component', value).map(({ apiVersion, kind, metadata: { name } }) => ({ apiVersion, kind, name })),
    );
  }

  podsOf(environment: EnvironmentId, component: ComponentName): readonly KubeObject[] {
    return this.pods.cache.by('component', `${environment}/${component}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [this.namespaces, this.inventories, this.pods, ...this.#tracked.values()];
    await Promise.all(all.map((one) => one[Symbol.asyncDispose]()));
  }

  #watch(kind: KindName): Reflector<TrackedObject, 'component'> {
    const key = keyOf(kind);
    const known = this.#tracked.get(key);
    if (known !== undefined) return known;
    const { keep, metadataOnly } = trackingOf(kind);
    const { apiVersion, kind: name } = kind;
    const selection = { apiVersion, kind: name, labels: { [labels.owner]: this.#owner }, metadataOnly };
    const reflector = this.#cluster.reflect(selection, keep, { component: componentOf });
    this.#tracked.set(key, reflector);
    reflector.listen((keys) => this.#announceObjects(keys));
    return reflector;
  }

  #watchKindsOf(inventory: Inventory | undefined): void {
    for (const reference of [...(inventory?.objects ?? []), ...(inventory?.prune ?? [])])
      if (!isNamespace(reference)) this.#watch(reference);
  }

  #announceObjects(keys: readonly string[]): void {
    this.#announce(keys.map((key) => nameOf(key).namespace));
  }

  #announce(namespaces: readonly string[]): void {
    for (const namespace of namespaces.length === 0 ? [''] : new Set(namespaces)) this.#changed(namespace);
  }
}

export const namespaceKind = { apiVersion: 'v1', kind: 'Namespace' } as const;

const isNamespace = (kind: KindName): boolean => keyOf(kind) === keyOf(namespaceKind);

const keyOf = ({ apiVersion, kind }: KindName): string => `${apiVersion}/${kind}`;

/** Of the key of an object in a namespace. */
const nameOf = (key: string): { readonly namespace: string; readonly name: string } => {
  const end = key.indexOf('/');
  return { namespace: key.slice(0, end), name: key.slice(end + 1) };
};

const componentOf = ({ metadata }: KubeObject): readonly string[] => {
  const { [labels.environment]: environment, [labels.component]: component } = metadata.labels ?? {};
  return environment === undefined || component === undefined ? [] : [`${environment}/${component}`];
};

const keepInventory = (secret: KubeObject): InventorySecret => {
  const { apiVersion, kind, metadata } = secret;
  const { name, namespace = '', uid = '', labels: own = {} } = metadata;
  return { apiVersion, kind, metadata: { name, namespace, uid, labels: own }, inventory: readInventory(secret) };
};

/** What the cluster does not serve is not there. */
const isNotServed = (sync: Sync | ReturnType<typeof notWatched>): boolean => !sync.inSync && sync.fault.code === 'object.missing';

const notWatched = ({ kind }: KindName) =>
  ({ inSync: false, fault: failure('cluster.unreachable', `${kind}s have not been listed yet.`) }) as const;
