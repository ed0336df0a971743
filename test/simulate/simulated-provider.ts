import {
  type ComponentName,
  completeReading,
  type EnvironmentId,
  type Identity,
  type ObservedEnvironment,
  type ProviderName,
  providerName,
  type Reading,
  type ResolvedComponent,
} from '@eph/contract';
import type { Provider, Scope } from '@eph/engine/provider/provider';
import { type FakeInfrastructure, FakeProvider, type FakeProviderOptions } from '@eph/engine/provider/provider.fake';
import type { Call, Calls, Operation } from './calls.ts';
import type { Witness } from './witness.ts';

/** A provider whose every answer and effect takes as long and goes as wrong as the simulation says. */
export class SimulatedProvider implements Provider {
  readonly name: ProviderName = providerName('process');
  /** What a provider says when a component gets ready or dies. */
  changed: (environment: EnvironmentId) => void = () => {};
  readonly #infrastructure: FakeInfrastructure;
  readonly #behaviour: Pick<FakeProviderOptions, 'now' | 'startMs' | 'behaviourOf'>;
  readonly #calls: Calls;
  readonly #witness: Witness;

  constructor(
    infrastructure: FakeInfrastructure,
    behaviour: Pick<FakeProviderOptions, 'now' | 'startMs' | 'behaviourOf'>,
    calls: Calls,
    witness: Witness,
  ) {
    this.#infrastructure = infrastructure;
    this.#behaviour = behaviour;
    this.#calls = calls;
    this.#witness = witness;
  }

  list(scope: Scope, signal: AbortSignal): Promise<Reading<ObservedEnvironment>> {
    return this.#ask('list', keyOf(scope), this.#describe(scope), signal, async (call) => {
      const reading = await this.#fake(call).list(scope);
      const lie = call.loss?.startsWith('lying') === true && !reading.complete;
      const delivered = lie ? completeReading(reading.items) : call.loss === 'torn' ? tear(reading) : reading;
      this.#witness.listed(scope, delivered, signal, lie);
      return delivered;
    });
  }

  ensure(identity: Identity, component: ResolvedComponent, signal: AbortSignal): Promise<void> {
    const slot = this.#infrastructure.environments.get(identity.id)?.slots.get(component.name);
    if (slot?.current?.component.revision === component.revision)
      this.#witness.stops(identity, component.name, 'the version before');
    return this.#effect('ensure', identity, component.name, signal, (fake) => fake.ensure(identity, component, signal));
  }

  remove(identity: Identity, component: ComponentName, signal: AbortSignal): Promise<void> {
    this.#witness.removalBegins(identity, component, signal);
    return this.#effect('remove', identity, component, signal, (fake) => fake.remove(identity, component, signal));
  }

  async *logs(): AsyncIterable<string> {}

  watch(changed: (environment: EnvironmentId) => void): void {
    this.changed = changed;
  }

  #describe(scope: Scope): string {
    if ('all' in scope) return 'everything';
    return 'project' in scope
      ? scope.project
      : (this.#infrastructure.environments.get(scope.environment)?.identity.name ?? scope.environment);
  }

  #effect(
    operation: 'ensure' | 'remove',
    identity: Identity,
    component: ComponentName,
    signal: AbortSignal,
    act: (fake: FakeProvider) => Promise<void>,
  ): Promise<void> {
    return this.#ask(operation, `environment:${identity.id}`, `${identity.name}/${component}`, signal, async (call) => {
      this.#witness.effectBegins(identity, component, signal);
      const fake = this.#fake(call);
      fake.watch(this.changed, signal);
      try {
        await act(fake);
      } finally {
        this.#witness.effectEnds(identity, component);
      }
    });
  }

  /** Every call has a provider of its own over the one infrastructure, so that its mishaps are its own. */
  #fake(call: Call): FakeProvider {
    return new FakeProvider(this.#infrastructure, {
      ...this.#behaviour,
      disturb: (operation, moment, environment) => {
        if (operation === 'ensure' && moment === 'during' && environment !== undefined) this.#reportIdentity(environment);
        return this.#calls.pause(call, moment);
      },
      lose: (all) =>
        call.loss === undefined || call.loss === 'torn'
          ? all
          : all.filter((_, index) => call.loss?.endsWith('half') && index % 2 === 0),
    });
  }

  #reportIdentity(environment: EnvironmentId): void {
    const written = this.#infrastructure.environments.get(environment);
    if (written !== undefined) this.#witness.identityWritten(written.identity);
  }

  async #ask<T>(
    operation: Operation,
    key: string,
    about: string,
    signal: AbortSignal,
    act: (call: Call) => Promise<T>,
  ): Promise<T> {
    this.#witness.callBegins(key, signal);
    try {
      return await act({ operation, key, about, party: 'provider', loss: undefined });
    } finally {
      this.#witness.callEnds(key);
    }
  }
}

const keyOf = (scope: Scope): string => {
  if ('all' in scope) return 'pass';
  return 'project' in scope ? `project:${scope.project}` : `environment:${scope.environment}`;
};

/** One environment of the reading could not be read to its end. */
const tear = (reading: Reading<ObservedEnvironment>): Reading<ObservedEnvironment> => ({
  ...reading,
  items: reading.items.map((one, index) =>
    index === 0 ? { ...one, components: one.components.slice(1), complete: false } : one,
  ),
});
