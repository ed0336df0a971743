import {
  type ComponentName,
  componentName,
  type EnvironmentId,
  environmentId,
  type Failure,
  failure,
  type Identity,
  type Log,
  type ObservedComponent,
  type ObservedEnvironment,
  observedEnvironment,
  type ProviderName,
} from '@eph/contract';
import type { Caches, InventorySecret } from './caches.ts';
import { computeComponent, computeParts, findDrift } from './component-state.ts';
import { type Inventory, readIdentity } from './inventory.ts';
import { annotations, labels } from './marks.ts';
import type { Repairs } from './repairs.ts';
import type { TrackedObject } from './tracked-object.ts';

/** One environment as the caches show it. */
export interface EnvironmentView {
  readonly namespace: string;
  /** Present while the namespace is being removed. */
  readonly removal: TrackedObject | undefined;
  readonly inventories: ReadonlyMap<ComponentName, Inventory>;
  readonly observed: ObservedEnvironment;
}

export interface EnvironmentsOptions {
  readonly provider: ProviderName;
  readonly caches: Caches;
  readonly repairs: Repairs;
  /** Where the gateway reaches the entry of an environment; undefined where that is not known yet. */
  readonly upstreamOf: (environment: EnvironmentId, namespace: string, inventory: Inventory) => string | undefined;
  readonly log: Log;
}

/** In a namespace without any component: what is left of a creation that was cut off, or of a removal. */
const leftover = componentName('namespace');

/** What the caches show, environment by environment. What is computed stays the same object until something in it changes. */
export class Environments {
  readonly #options: EnvironmentsOptions;
  readonly #views = new Map<EnvironmentId, EnvironmentView>();
  /** Also of namespaces that are gone, until that was noticed. */
  readonly #byNamespace = new Map<string, EnvironmentId>();
  /** Namespaces of which nothing says to which environment they belong: told once. */
  readonly #nameless = new Set<string>();
  #items: readonly ObservedEnvironment[] | undefined;

  constructor(options: EnvironmentsOptions) {
    this.#options = options;
  }

  /** Something in the namespace changed, or, without one, maybe anything. Returns the environments that this concerns. */
  invalidate(namespace: string): readonly EnvironmentId[] {
    const live = this.#options.caches.namespaces.cache.get({ name: namespace });
    this.#items = undefined;
    const concerned = new Set(namespace === '' ? [...this.#views.keys(), ...this.#ids()] : []);
    for (const id of [idOf(live), this.#byNamespace.get(namespace)]) if (id !== undefined) concerned.add(id);
    if (live === undefined) this.#byNamespace.delete(namespace);
    for (const one of concerned) this.#views.delete(one);
    return [...concerned];
  }

  get(id: EnvironmentId): EnvironmentView | undefined {
    const known = this.#views.get(id);
    if (known !== undefined) return known;
    const view = this.#compute(id);
    if (view !== undefined) this.#views.set(id, view);
    return view;
  }

  /** Why nobody can say what there is of an environment, although something is; undefined where that is known. */
  faultOf(id: EnvironmentId): Failure | undefined {
    const [namespace] = this.#options.caches.namespaces.cache.by('environment', id);
    if (namespace === undefined || this.get(id) !== undefined) return undefined;
    return failure('provider.incomplete', nameless(namespace.metadata.name));
  }

  all(): readonly ObservedEnvironment[] {
    this.#items ??= this.#ids().flatMap((id) => this.get(id)?.observed ?? []);
    return this.#items;
  }

  withParts({ observed }: EnvironmentView): ObservedEnvironment {
    const { caches } = this.#options;
    const parts = ({ name }: ObservedComponent) => computeParts(name, caches.podsOf(observed.identity.id, name));
    return { ...observed, components: observed.components.map((one) => ({ ...one, parts: parts(one) })) };
  }

  ids(): ReadonlySet<EnvironmentId> {
    return new Set(this.#ids());
  }

  #ids(): readonly EnvironmentId[] {
    return Array.from(this.#options.caches.namespaces.cache.valuesOf('environment')).flatMap((text) => toId(text) ?? []);
  }

  /** It cannot be listed, and whoever made it may need it: only a person can say what becomes of it. */
  #tell(namespace: string): void {
    if (this.#nameless.has(namespace)) return;
    this.#nameless.add(namespace);
    this.#options.log.warn({ provider: this.#options.provider, namespace }, nameless(namespace));
  }

  #compute(id: EnvironmentId): EnvironmentView | undefined {
    const { caches } = this.#options;
    const found = caches.namespaces.cache.by('environment', id);
    // A new one is made under another name only after the old one was removed by hand.
    const namespace = found.find(({ metadata }) => metadata.deletionTimestamp === undefined) ?? found[0];
    if (namespace === undefined) return undefined;
    const { name, deletionTimestamp } = namespace.metadata;
    this.#byNamespace.set(name, id);
    const secrets = caches.inventories.cache.by('namespace', name);
    const inventories = new Map(
      secrets.flatMap(({ inventory }) => (inventory === undefined ? [] : [[inventory.component, inventory] as const])),
    );
    const identity = identityOf(id, namespace, inventories);
    if (identity === undefined) {
      this.#tell(name);
      return undefined;
    }
    this.#nameless.delete(name);
    const components = secrets.flatMap((secret) => this.#component(identity, name, secret));
    const observed = observedEnvironment({
      identity,
      components: components.length === 0 ? [this.#emptyComponent(leftover)] : components,
      held: namespace.metadata.annotations?.[annotations.held] === 'true',
      complete: caches.wasRead && ![...inventories.values()].some((one) => caches.faultOf(one) !== undefined),
    });
    return { namespace: name, removal: deletionTimestamp === undefined ? undefined : namespace, inventories, observed };
  }

  #component({ id }: Identity, namespace: string, { inventory, metadata }: InventorySecret): readonly ObservedComponent[] {
    const { caches, provider, repairs, upstreamOf } = this.#options;
    // It was changed so that it says nothing any more: the component is made again, or removed by its labels.
    if (inventory === undefined) return toName(metadata.labels?.[labels.component]).map((name) => this.#emptyComponent(name));
    const find = (reference: Parameters<Caches['find']>[1]) => caches.find(namespace, reference);
    const isRead = (reference: Parameters<Caches['isRead']>[0]) => caches.isRead(reference);
    const isDrifted = findDrift({ inventory, find, isRead }) !== undefined;
    return [
      computeComponent({
        provider,
        inventory,
        namespace,
        find,
        isRead,
        pods: caches.podsOf(id, inventory.component),
        upstream: inventory.entry === null ? undefined : upstreamOf(id, namespace, inventory),
        isTolerant: isDrifted && repairs.isTooSoon(id, inventory.component),
      }),
    ];
  }

  #emptyComponent(name: ComponentName): ObservedComponent {
    const { provider } = this.#options;
    const nothing = { current: null, next: null, retiring: false, upstream: null, outputs: {} } as const;
    return { name, provider, entry: false, dependsOn: [], ...nothing };
  }
}

const idOf = (namespace: TrackedObject | undefined): EnvironmentId | undefined =>
  toId(namespace?.metadata.labels?.[labels.environment] ?? '');

/** Labels can be changed by whoever may change the namespace. */
const toId = (text: string): EnvironmentId | undefined => {
  try {
    return environmentId(text);
  } catch {
    return undefined;
  }
};

const nameless = (namespace: string): string =>
  `namespace ${namespace} carries the label of this ephd, and nothing in it says of which environment it is; restore its annotation ${annotations.identity}, or remove it`;

const toName = (text = ''): readonly ComponentName[] => {
  try {
    return [componentName(text)];
  } catch {
    return [];
  }
};

const identityOf = (
  id: EnvironmentId,
  { metadata }: TrackedObject,
  inventories: ReadonlyMap<ComponentName, Inventory>,
): Identity | undefined => {
  const written = [
    readIdentity(metadata.annotations?.[annotations.identity]),
    ...[...inventories.values()].map((one) => one.identity),
  ];
  return written.find((one) => one?.id === id);
};
