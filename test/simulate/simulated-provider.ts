import {
  type ComponentName,
  completeReading,
  type EnvironmentId,
  EphError,
  type Identity,
  type ObservedEnvironment,
  type ProviderName,
  providerName,
  type Reading,
  type ResolvedComponent,
  type Usage,
} from '@eph/contract';
import type { LogEntry, Provider, Scope } from '@eph/engine/provider/provider';
import { type FakeInfrastructure, FakeProvider, type FakeProviderOptions } from '@eph/engine/provider/provider.fake';
import type { Call, Calls, Operation } from './calls.ts';
import type { InvariantChecker } from './invariants.ts';

/** What outlives the process of a provider. */
export interface SimulatedInfrastructure extends FakeInfrastructure {
  /** Slow removals under way, as `environment/component`, with how many more calls they refuse. */
  readonly removals: Map<string, number>;
}

export interface SimulatedProviderOptions extends Pick<FakeProviderOptions, 'now' | 'startMs' | 'behaviourOf'> {
  readonly name: string;
  readonly type: string;
  readonly infrastructure: SimulatedInfrastructure;
  /** How many calls a removal refuses with `component.removing` before it is over. */
  readonly refusals: number;
  readonly calls: Calls;
  readonly invariants: InvariantChecker;
}

/** A provider whose delays and faults the simulation decides. */
export class SimulatedProvider implements Provider {
  readonly name: ProviderName;
  readonly type: string;
  readonly holdsSecrets = false;
  readonly isolation = { state: 'sandboxed', network: 'shared', lacks: {} } as const;
  /** Called when a component gets ready or dies. */
  changed: (environment: EnvironmentId) => void = () => {};
  readonly #options: SimulatedProviderOptions;
  readonly #infrastructure: SimulatedInfrastructure;
  readonly #calls: Calls;
  readonly #invariants: InvariantChecker;

  constructor(options: SimulatedProviderOptions) {
    this.name = providerName(options.name);
    this.type = options.type;
    this.#options = options;
    this.#infrastructure = options.infrastructure;
    this.#calls = options.calls;
    this.#invariants = options.invariants;
  }

  list(scope: Scope, signal: AbortSignal): Promise<Reading<ObservedEnvironment>> {
    return this.#ask('list', keyOf(scope), this.#describe(scope), signal, async (call) => {
      this.#invariants.listingBegins(this.name, scope, call);
      // Nothing changes an environment while its run reads it, so the answer is as good at once as later.
      const reading = await this.#fake(call, 'environment' in scope).list(scope);
      const lie = call.loss?.startsWith('lying') === true && !reading.complete;
      const delivered = lie ? completeReading(reading.items) : call.loss === 'torn' ? tear(reading) : reading;
      this.#invariants.listed(this.name, scope, call, delivered, lie);
      return delivered;
    });
  }

  ensure(identity: Identity, component: ResolvedComponent, signal: AbortSignal): Promise<void> {
    const place = { provider: this.name, component: component.name };
    const slot = this.#infrastructure.environments.get(identity.id)?.slots.get(component.name);
    if (slot?.current?.component.revision === component.revision) this.#invariants.stops(identity, place, 'the version before');
    this.#invariants.makingBegins(identity, this.name, component);
    return this.#effect('ensure', identity, component.name, signal, async (fake, call) => {
      await this.#finishRemoval(identity, component.name, call, signal);
      await fake.ensure(identity, component, signal);
    });
  }

  remove(identity: Identity, component: ComponentName, signal: AbortSignal): Promise<void> {
    this.#invariants.removalBegins(identity, { provider: this.name, component });
    return this.#effect('remove', identity, component, signal, async (fake, call) => {
      await this.#beginRemoval(identity, component, call);
      await this.#finishRemoval(identity, component, call, signal);
      await fake.remove(identity, component, signal);
    });
  }

  hold(identity: Identity, held: boolean, signal: AbortSignal): Promise<void> {
    const about = `${this.name} ${identity.name} ${held ? 'on' : 'off'}`;
    return this.#ask('hold', `environment:${identity.id}`, about, signal, async (call) => {
      if (signal.aborted) this.#invariants.fail('an aborted run begins nothing', `an aborted run holds ${identity.name}`);
      await this.#fake(call).hold(identity, held, signal);
    });
  }

  usage(): Promise<ReadonlyMap<ComponentName, Usage>> {
    return Promise.resolve(new Map());
  }

  async *logs(): AsyncIterable<LogEntry> {}

  exec(): Promise<never> {
    return Promise.reject(new EphError('feature.unavailable', 'Nothing runs in a simulation.'));
  }

  connect(): Promise<never> {
    return Promise.reject(new EphError('feature.unavailable', 'Nothing listens in a simulation.'));
  }

  watch(changed: (environment: EnvironmentId) => void): void {
    this.changed = changed;
  }

  #describe(scope: Scope): string {
    if ('all' in scope) return `${this.name} everything`;
    const name = 'project' in scope ? scope.project : this.#infrastructure.environments.get(scope.environment)?.identity.name;
    return `${this.name} ${name ?? ('environment' in scope ? scope.environment : '')}`;
  }

  /** A slow removal stops the component first and refuses the next calls. */
  async #beginRemoval({ id }: Identity, component: ComponentName, call: Call): Promise<void> {
    const { environments, removals } = this.#infrastructure;
    const slots = environments.get(id)?.slots;
    const key = `${id}/${component}`;
    if (this.#options.refusals === 0 || removals.has(key) || slots?.has(component) !== true) return;
    await this.#calls.pause(call, 'before');
    slots.set(component, { current: undefined, next: undefined, retiring: undefined });
    removals.set(key, this.#options.refusals);
  }

  async #finishRemoval(identity: Identity, component: ComponentName, call: Call, signal: AbortSignal): Promise<void> {
    const { removals } = this.#infrastructure;
    const key = `${identity.id}/${component}`;
    const left = removals.get(key);
    if (left === undefined) return;
    await this.#calls.pause(call, 'during');
    if (left > 0) {
      removals.set(key, left - 1);
      throw new EphError('component.removing', `${component} is still being stopped`);
    }
    removals.delete(key);
    await new FakeProvider(this.#infrastructure, this.#options).remove(identity, component, signal);
  }

  #effect(
    operation: 'ensure' | 'remove',
    identity: Identity,
    component: ComponentName,
    signal: AbortSignal,
    act: (fake: FakeProvider, call: Call) => Promise<void>,
  ): Promise<void> {
    const about = `${this.name} ${identity.name}/${component}`;
    const place = { provider: this.name, component };
    return this.#ask(operation, `environment:${identity.id}`, about, signal, async (call) => {
      this.#invariants.effectBegins(identity, place, signal);
      const fake = this.#fake(call);
      fake.watch(this.changed, signal);
      try {
        await act(fake, call);
      } finally {
        this.#invariants.effectEnds(identity, place);
      }
    });
  }

  /** Each call has its own provider over the one infrastructure, so that its faults are its own. */
  #fake(call: Call, isShort = false): FakeProvider {
    return new FakeProvider(this.#infrastructure, {
      ...this.#options,
      disturb: (operation, moment, environment) => {
        if (environment !== undefined) this.#noteWritten(operation, moment, environment);
        return isShort && moment === 'after' ? Promise.resolve() : this.#calls.pause(call, moment);
      },
      lose: (all) =>
        call.loss === undefined || call.loss === 'torn'
          ? all
          : all.filter((_, index) => call.loss?.endsWith('half') && index % 2 === 0),
    });
  }

  #noteWritten(operation: string, moment: string, id: EnvironmentId): void {
    const written = this.#infrastructure.environments.get(id);
    if (written === undefined) return;
    if (operation === 'ensure' && moment === 'during') this.#invariants.identityWritten(written.identity);
    if (operation === 'hold' && moment === 'after') this.#invariants.holdWritten(written.identity, written.held);
  }

  async #ask<T>(
    operation: Operation,
    key: string,
    about: string,
    signal: AbortSignal,
    act: (call: Call) => Promise<T>,
  ): Promise<T> {
    const call: Call = { operation, key, about, party: this.name, signal, loss: undefined };
    this.#invariants.callBegins(call);
    try {
      return await act(call);
    } finally {
      this.#invariants.callEnds(call);
    }
  }
}

const keyOf = (scope: Scope): string => {
  if ('all' in scope) return 'pass';
  return 'project' in scope ? `project:${scope.project}` : `environment:${scope.environment}`;
};

/** Part of one environment could not be read. */
const tear = (reading: Reading<ObservedEnvironment>): Reading<ObservedEnvironment> => ({
  ...reading,
  items: reading.items.map((one, index) =>
    index === 0 ? { ...one, components: one.components.slice(1), complete: false } : one,
  ),
});
