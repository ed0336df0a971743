import {
  type ComponentName,
  type ComponentVersion,
  completeReading,
  type EnvironmentId,
  type Identity,
  incompleteReading,
  markListing,
  type ObservedComponent,
  type ObservedEnvironment,
  observedEnvironment,
  type ProviderName,
  providerName,
  type Reading,
  type ResolvedComponent,
  toFailure,
} from '@eph/contract';
import type { LogOptions, Provider, Scope } from './provider.ts';

interface Version {
  readonly component: ResolvedComponent;
  readonly startedAt: number;
  readyAt: number | undefined;
}

interface Slot {
  current: Version | undefined;
  next: Version | undefined;
  /** Never empty. */
  retiring: readonly Version[] | undefined;
}

const emptySlot = (): Slot => ({ current: undefined, next: undefined, retiring: undefined });

/** The infrastructure itself: what is left when the provider's memory is gone. */
export interface FakeInfrastructure {
  readonly environments: Map<EnvironmentId, { readonly identity: Identity; readonly slots: Map<ComponentName, Slot> }>;
}

export const createFakeInfrastructure = (): FakeInfrastructure => ({ environments: new Map() });

type Operation = 'list' | 'ensure' | 'remove';
/** `during` an effect, half of it has taken hold: a component without a version. */
type Moment = 'before' | 'during' | 'after';

export type Behaviour = 'gets ready' | 'never ready' | 'crashes';

export interface FakeProviderOptions {
  readonly name?: string;
  readonly now: () => number;
  /** How long a version takes to get ready. */
  readonly startMs?: number;
  readonly behaviourOf?: (component: ResolvedComponent) => Behaviour;
  /** Called around every operation and in the middle of effects, awaited; may delay it or throw to make it fail there. */
  readonly disturb?: (operation: Operation, moment: Moment, environment?: EnvironmentId) => Promise<void>;
  /** Which part of a listing is lost on the way; the reading is then incomplete. */
  readonly lose?: (environments: readonly ObservedEnvironment[]) => readonly ObservedEnvironment[];
}

const undisturbed = (): Promise<void> => Promise.resolve();

/** Keeps the contract of a provider in memory, with time that passes only when the clock says so. */
export class FakeProvider implements Provider {
  readonly name: ProviderName;
  /** How often each operation was called. */
  readonly calls = { list: 0, ensure: 0, remove: 0 };
  readonly #infrastructure: FakeInfrastructure;
  readonly #options: FakeProviderOptions;
  readonly #watchers = new Set<(environment: EnvironmentId) => void>();

  constructor(infrastructure: FakeInfrastructure, options: FakeProviderOptions) {
    this.name = providerName(options.name ?? 'process');
    this.#infrastructure = infrastructure;
    this.#options = options;
  }

  async list(scope: Scope): Promise<Reading<ObservedEnvironment>> {
    this.calls.list += 1;
    try {
      await this.#disturb('list', 'before');
      const items = [...this.#inScope(scope)].map(([id]) => this.#observe(id)).filter((one) => one !== undefined);
      await this.#disturb('list', 'after');
      if (this.#options.lose === undefined) return completeReading(items, markListing(items));
      const kept = this.#options.lose(items);
      return kept === items ? completeReading(items, markListing(items)) : incompleteReading(kept);
    } catch (error) {
      return incompleteReading([], toFailure(error));
    }
  }

  async ensure(identity: Identity, component: ResolvedComponent, signal: AbortSignal): Promise<void> {
    this.calls.ensure += 1;
    await this.#disturb('ensure', 'before', identity.id);
    signal.throwIfAborted();
    this.#settle(identity.id);
    const slot = this.#slot(identity, component.name);
    await this.#disturb('ensure', 'during', identity.id);
    signal.throwIfAborted();
    const begin = (): Version => ({ component, startedAt: this.#options.now(), readyAt: undefined });
    if (slot.current?.component.revision === component.revision) {
      slot.next = undefined;
      slot.retiring = undefined;
    } else if (slot.next?.component.revision !== component.revision) {
      slot.next = begin();
    }
    this.#changed(identity.id);
    await this.#disturb('ensure', 'after', identity.id);
  }

  async remove(identity: Identity, component: ComponentName, signal: AbortSignal): Promise<void> {
    this.calls.remove += 1;
    await this.#disturb('remove', 'before', identity.id);
    signal.throwIfAborted();
    const environment = this.#infrastructure.environments.get(identity.id);
    if (environment?.slots.has(component)) environment.slots.set(component, emptySlot());
    await this.#disturb('remove', 'during', identity.id);
    signal.throwIfAborted();
    environment?.slots.delete(component);
    if (environment?.slots.size === 0) this.#infrastructure.environments.delete(identity.id);
    this.#changed(identity.id);
    await this.#disturb('remove', 'after', identity.id);
  }

  async *logs(environment: EnvironmentId, component: ComponentName, options: LogOptions): AsyncIterable<string> {
    const slot = this.#infrastructure.environments.get(environment)?.slots.get(component);
    const lines = [slot?.current, slot?.next].flatMap((version) =>
      version === undefined ? [] : [`started ${version.component.commit}`],
    );
    for (const line of options.tail === 0 ? [] : lines.slice(-options.tail)) yield line;
  }

  watch(changed: (environment: EnvironmentId) => void, signal: AbortSignal): void {
    this.#watchers.add(changed);
    signal.addEventListener('abort', () => this.#watchers.delete(changed), { once: true });
  }

  *#inScope(scope: Scope): Iterable<[EnvironmentId]> {
    if ('environment' in scope) {
      if (this.#infrastructure.environments.has(scope.environment)) yield [scope.environment];
      return;
    }
    for (const [id, { identity }] of this.#infrastructure.environments)
      if (!('project' in scope) || identity.project === scope.project) yield [id];
  }

  #slot(identity: Identity, name: ComponentName): Slot {
    let environment = this.#infrastructure.environments.get(identity.id);
    if (environment === undefined) {
      environment = { identity, slots: new Map() };
      this.#infrastructure.environments.set(identity.id, environment);
    }
    let slot = environment.slots.get(name);
    if (slot === undefined) {
      slot = emptySlot();
      environment.slots.set(name, slot);
    }
    return slot;
  }

  /** Lets time do its work: versions that had long enough get ready and take over. */
  #settle(id: EnvironmentId): void {
    const environment = this.#infrastructure.environments.get(id);
    for (const slot of environment?.slots.values() ?? []) {
      const { next } = slot;
      if (next === undefined || this.#behaviour(next) === 'never ready') continue;
      if (this.#behaviour(next) === 'crashes' || this.#options.now() - next.startedAt < (this.#options.startMs ?? 0)) continue;
      next.readyAt = this.#options.now();
      if (slot.current !== undefined) slot.retiring = [...(slot.retiring ?? []), slot.current];
      slot.current = next;
      slot.next = undefined;
    }
  }

  #observe(id: EnvironmentId): ObservedEnvironment | undefined {
    this.#settle(id);
    const environment = this.#infrastructure.environments.get(id);
    if (environment === undefined) return undefined;
    const components = [...environment.slots].map(([name, slot]) => this.#observeSlot(name, slot));
    return observedEnvironment({ identity: environment.identity, components, complete: true });
  }

  #observeSlot(name: ComponentName, slot: Slot): ObservedComponent {
    const version = slot.current ?? slot.next;
    return {
      name,
      provider: this.name,
      entry: version?.component.entry ?? false,
      dependsOn: version?.component.dependsOn ?? [],
      current: slot.current === undefined ? null : this.#observeVersion(slot.current),
      next: slot.next === undefined ? null : this.#observeVersion(slot.next),
      retiring: slot.retiring !== undefined,
      outputs: slot.current === undefined ? {} : { url: `http://${name}.test/${slot.current.component.revision}` },
      usage: null,
    };
  }

  #observeVersion({ component, readyAt, startedAt }: Version): ComponentVersion {
    const { revision, commit } = component;
    const failing = readyAt === undefined && this.#behaviour({ component }) !== 'gets ready';
    return {
      revision,
      commit,
      health: readyAt !== undefined ? 'ready' : failing ? 'failing' : 'starting',
      message: readyAt !== undefined ? '' : failing ? 'it does not answer' : 'it has just been started',
      since: new Date(readyAt ?? startedAt).toISOString(),
    };
  }

  #behaviour({ component }: Pick<Version, 'component'>): Behaviour {
    return this.#options.behaviourOf?.(component) ?? 'gets ready';
  }

  #changed(id: EnvironmentId): void {
    for (const watcher of this.#watchers) watcher(id);
  }

  #disturb(operation: Operation, moment: Moment, environment?: EnvironmentId): Promise<void> {
    return (this.#options.disturb ?? undisturbed)(operation, moment, environment);
  }
}
