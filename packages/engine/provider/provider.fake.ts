import type { Duplex } from 'node:stream';
import {
  type ComponentName,
  type ComponentVersion,
  completeReading,
  type EnvironmentId,
  EphError,
  type Identity,
  type Isolation,
  incompleteReading,
  type ObservedComponent,
  type ObservedEnvironment,
  observedEnvironment,
  type Part,
  type ProviderName,
  providerName,
  type Reading,
  type ResolvedComponent,
  toFailure,
  type Usage,
} from '@eph/contract';
import { fakePort, openFakeConnection } from './connect.fake.ts';
import { startFakeSession } from './exec.fake.ts';
import type { ExecRequest, ExecSession, LogEntry, LogOptions, Provider, Scope } from './provider.ts';

interface Version {
  readonly component: ResolvedComponent;
  readonly url: string;
  readonly startedAt: number;
  /** Since when it has its health. */
  since: string;
  isReady: boolean;
}

interface Slot {
  current: Version | undefined;
  next: Version | undefined;
  /** Never empty. */
  retiring: readonly Version[] | undefined;
  /** When its removal began. */
  removingSince?: number;
  /** Aborts when it is removed; made for the first command or connection. */
  life?: AbortController;
}

const emptySlot = (): Slot => ({ current: undefined, next: undefined, retiring: undefined });

interface FakeEnvironment {
  readonly identity: Identity;
  readonly slots: Map<ComponentName, Slot>;
  held: boolean;
}

/** The infrastructure itself: what is left when the provider's memory is gone. */
export interface FakeInfrastructure {
  readonly environments: Map<EnvironmentId, FakeEnvironment>;
}

export const createFakeInfrastructure = (): FakeInfrastructure => ({ environments: new Map() });

type Operation = 'list' | 'ensure' | 'remove' | 'hold';
/** `during` an effect, half of it has taken hold: a component without a version. */
type Moment = 'before' | 'during' | 'after';

export type Behaviour = 'gets ready' | 'never ready' | 'crashes';

export interface FakeProviderOptions {
  readonly name?: string;
  readonly isolation?: Isolation;
  readonly type?: string;
  readonly now: () => number;
  /** How long a version takes to get ready. */
  readonly startMs?: number;
  /** How long a component takes to go once its removal began; until then calls answer `component.removing`. */
  readonly removeMs?: number;
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
  readonly type: string;
  readonly holdsSecrets = false;
  readonly isolation: Isolation;
  /** How often each operation was called. */
  readonly calls = { list: 0, ensure: 0, remove: 0, hold: 0 };
  readonly #infrastructure: FakeInfrastructure;
  readonly #options: FakeProviderOptions;
  readonly #watchers = new Set<(environment: EnvironmentId) => void>();

  constructor(infrastructure: FakeInfrastructure, options: FakeProviderOptions) {
    this.name = providerName(options.name ?? 'process');
    this.type = options.type ?? 'process';
    this.isolation = options.isolation ?? { state: 'sandboxed', network: 'shared', lacks: {} };
    this.#infrastructure = infrastructure;
    this.#options = options;
  }

  async list(scope: Scope): Promise<Reading<ObservedEnvironment>> {
    this.calls.list += 1;
    try {
      await this.#disturb('list', 'before');
      const parts = 'parts' in scope;
      const items = this.#inScope(scope).map((environment) => this.#observe(environment, parts));
      await this.#disturb('list', 'after');
      const kept = this.#options.lose?.(items) ?? items;
      return kept === items ? completeReading(items) : incompleteReading(kept);
    } catch (error) {
      return incompleteReading([], toFailure(error));
    }
  }

  async ensure(identity: Identity, component: ResolvedComponent, signal: AbortSignal): Promise<void> {
    this.calls.ensure += 1;
    await this.#disturb('ensure', 'before', identity.id);
    signal.throwIfAborted();
    const before = this.#infrastructure.environments.get(identity.id);
    if (before !== undefined) this.#settle(before);
    this.#finishRemoval(identity.id, component.name);
    const slot = this.#slot(identity, component.name);
    await this.#disturb('ensure', 'during', identity.id);
    signal.throwIfAborted();
    if (slot.current?.component.revision === component.revision) {
      slot.next = undefined;
      slot.retiring = undefined;
    } else if (slot.next?.component.revision !== component.revision) {
      slot.next = this.#begin(component);
    }
    this.#changed(identity.id);
    await this.#disturb('ensure', 'after', identity.id);
  }

  async remove(identity: Identity, component: ComponentName, signal: AbortSignal): Promise<void> {
    this.calls.remove += 1;
    await this.#disturb('remove', 'before', identity.id);
    signal.throwIfAborted();
    const environment = this.#infrastructure.environments.get(identity.id);
    const slot = environment?.slots.get(component);
    slot?.life?.abort();
    if (slot !== undefined) Object.assign(slot, emptySlot());
    await this.#disturb('remove', 'during', identity.id);
    signal.throwIfAborted();
    if (slot !== undefined) slot.removingSince ??= this.#options.now();
    try {
      this.#finishRemoval(identity.id, component);
    } finally {
      this.#changed(identity.id);
    }
    await this.#disturb('remove', 'after', identity.id);
  }

  async hold(identity: Identity, held: boolean, signal: AbortSignal): Promise<void> {
    this.calls.hold += 1;
    await this.#disturb('hold', 'before', identity.id);
    signal.throwIfAborted();
    const environment = this.#infrastructure.environments.get(identity.id);
    if (environment !== undefined) environment.held = held;
    await this.#disturb('hold', 'after', identity.id);
  }

  usage(environment: EnvironmentId): Promise<ReadonlyMap<ComponentName, Usage>> {
    const names = [...(this.#infrastructure.environments.get(environment)?.slots.keys() ?? [])];
    return Promise.resolve(new Map(names.map((name) => [name, { cpuSeconds: 0, cpuCores: null, memoryBytes: 0 }])));
  }

  async *logs(
    environment: EnvironmentId,
    component: ComponentName,
    { tail, since, previous }: LogOptions,
  ): AsyncIterable<LogEntry> {
    const slot = this.#infrastructure.environments.get(environment)?.slots.get(component);
    const versions = previous === true ? (slot?.retiring ?? []) : [slot?.current, slot?.next];
    const entries = versions.flatMap((version): readonly LogEntry[] => {
      if (version === undefined || (since !== undefined && version.startedAt < since.getTime())) return [];
      const at = new Date(version.startedAt).toISOString();
      return [{ at, part: version.component.revision, text: `started ${version.component.commit}` }];
    });
    if (tail > 0) yield* entries.slice(-tail);
  }

  async exec(environment: EnvironmentId, component: ComponentName, request: ExecRequest): Promise<ExecSession> {
    const slot = this.#infrastructure.environments.get(environment)?.slots.get(component);
    if (slot === undefined) throw new EphError('api.not_found', `There is no component ${component} in ${environment}.`);
    if (this.isolation.state === 'trusted') throw new EphError('isolation.missing', `${component} runs without a sandbox.`);
    if ((slot.current ?? slot.next) === undefined) throw new EphError('component.not_ready', `${component} does not run.`);
    slot.life ??= new AbortController();
    return await startFakeSession(request, slot.life.signal);
  }

  async connect(environment: EnvironmentId, component: ComponentName, port: number, signal: AbortSignal): Promise<Duplex> {
    const slot = this.#infrastructure.environments.get(environment)?.slots.get(component);
    if (slot === undefined) throw new EphError('api.not_found', `There is no component ${component} in ${environment}.`);
    if (slot.current === undefined || port !== fakePort)
      throw new EphError('component.not_ready', `${component} does not listen on port ${port}.`);
    slot.life ??= new AbortController();
    return openFakeConnection(signal, slot.life.signal);
  }

  watch(changed: (environment: EnvironmentId) => void, signal: AbortSignal): void {
    this.#watchers.add(changed);
    signal.addEventListener('abort', () => this.#watchers.delete(changed), { once: true });
  }

  #inScope(scope: Scope): readonly FakeEnvironment[] {
    const { environments } = this.#infrastructure;
    if ('environment' in scope) return [environments.get(scope.environment)].filter((one) => one !== undefined);
    const all = [...environments.values()];
    return 'project' in scope ? all.filter(({ identity }) => identity.project === scope.project) : all;
  }

  #slot(identity: Identity, name: ComponentName): Slot {
    let environment = this.#infrastructure.environments.get(identity.id);
    if (environment === undefined) {
      environment = { identity, slots: new Map(), held: false };
      this.#infrastructure.environments.set(identity.id, environment);
    }
    let slot = environment.slots.get(name);
    if (slot === undefined) {
      slot = emptySlot();
      environment.slots.set(name, slot);
    }
    return slot;
  }

  #finishRemoval(id: EnvironmentId, name: ComponentName): void {
    const environment = this.#infrastructure.environments.get(id);
    const since = environment?.slots.get(name)?.removingSince;
    if (environment === undefined || since === undefined) return;
    if (this.#options.now() - since < (this.#options.removeMs ?? 0))
      throw new EphError('component.removing', `${name} is being removed: it waits for its volume`);
    environment.slots.delete(name);
    if (environment.slots.size === 0) this.#infrastructure.environments.delete(id);
  }

  /** Lets time do its work: versions that had long enough get ready and take over. */
  #settle({ slots }: FakeEnvironment): void {
    for (const slot of slots.values()) {
      const { next } = slot;
      if (next === undefined || this.#behaviour(next) === 'never ready') continue;
      if (this.#behaviour(next) === 'crashes' || this.#options.now() - next.startedAt < (this.#options.startMs ?? 0)) continue;
      next.isReady = true;
      next.since = this.#time();
      if (slot.current !== undefined) slot.retiring = [...(slot.retiring ?? []), slot.current];
      slot.current = next;
      slot.next = undefined;
    }
  }

  #observe(environment: FakeEnvironment, parts: boolean): ObservedEnvironment {
    this.#settle(environment);
    const { identity, slots, held } = environment;
    const components: ObservedComponent[] = [];
    for (const [name, slot] of slots) components.push(this.#observeSlot(name, slot, parts));
    return observedEnvironment({ identity: { ...identity }, components, held, complete: true });
  }

  #observeSlot(name: ComponentName, slot: Slot, parts: boolean): ObservedComponent {
    const version = slot.current ?? slot.next;
    const url = slot.current?.url ?? null;
    return {
      name,
      provider: this.name,
      entry: version?.component.entry ?? false,
      dependsOn: version?.component.dependsOn ?? [],
      current: slot.current === undefined ? null : this.#observeVersion(slot.current),
      next: slot.next === undefined ? null : this.#observeVersion(slot.next),
      retiring: slot.retiring !== undefined,
      upstream: url,
      outputs: url === null ? {} : { url },
      ...(parts && { parts: [slot.current, slot.next].flatMap((one) => (one === undefined ? [] : [this.#partOf(one)])) }),
    };
  }

  #begin(component: ResolvedComponent): Version {
    const url = `http://${component.name}.${this.name}.test/${component.revision}`;
    return { component, url, startedAt: this.#options.now(), since: this.#time(), isReady: false };
  }

  #observeVersion({ component, since, isReady }: Version): ComponentVersion {
    const { revision, commit, images } = component;
    const version = { revision, commit, ...(images && { images }), since };
    if (isReady) return { ...version, health: 'ready', message: '' };
    const failing = this.#behaviour({ component }) !== 'gets ready';
    const message = failing ? 'it does not answer' : 'it has just been started';
    return { ...version, health: failing ? 'failing' : 'starting', message };
  }

  #time(): string {
    return new Date(this.#options.now()).toISOString();
  }

  #partOf(version: Version): Part {
    const restarts = this.#behaviour(version) === 'crashes' ? Math.floor((this.#options.now() - version.startedAt) / 1000) : 0;
    const { revision: instance, message } = this.#observeVersion(version);
    return { instance, image: null, restarts, message };
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
