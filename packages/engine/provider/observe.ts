import {
  type EnvironmentId,
  type Failure,
  failure,
  type Identity,
  incompleteReading,
  type ObservedEnvironment,
  type ProviderName,
  type Reading,
  toFailure,
} from '@eph/contract';
import type { Provider, Scope } from './provider.ts';

/** What all providers hold in a scope. */
export interface Observation {
  readonly items: readonly ObservedEnvironment[];
  /** Providers that could not be read completely, with the reason: what they hold is unknown. */
  readonly incomplete: ReadonlyMap<ProviderName, Failure>;
}

/** Reads all providers at once and joins their components environment by environment. */
export const observe = async (providers: Iterable<Provider>, scope: Scope, signal: AbortSignal): Promise<Observation> => {
  const incomplete = new Map<ProviderName, Failure>();
  const read = async (provider: Provider): Promise<readonly ObservedEnvironment[]> => {
    const reading = await list(provider, scope, signal);
    if (!reading.complete) incomplete.set(provider.name, reasonOf(provider.name, reading));
    return reading.items;
  };
  return { items: joinAll(await Promise.all(Array.from(providers, read))), incomplete };
};

/** Async, so that a provider that throws at once is caught like one that rejects. */
const list = async (provider: Provider, scope: Scope, signal: AbortSignal): Promise<Reading<ObservedEnvironment>> => {
  try {
    return await provider.list(scope, signal);
  } catch (error) {
    return incompleteReading([], toFailure(error));
  }
};

const reasonOf = (provider: ProviderName, { faults: [first, ...others] }: Reading<unknown>): Failure => {
  if (first === undefined) return failure('provider.incomplete', `provider ${provider} could not list everything it holds`);
  return others.length === 0 ? first : { ...first, message: `${first.message} (and ${others.length} more)` };
};

const joinAll = (listings: readonly (readonly ObservedEnvironment[])[]): readonly ObservedEnvironment[] => {
  const [first = [], ...others] = listings.filter((items) => items.length > 0);
  if (others.length === 0) return first;
  const byId = new Map<EnvironmentId, ObservedEnvironment>();
  for (const environment of first) byId.set(environment.identity.id, environment);
  for (const listing of others)
    for (const environment of listing) {
      const other = byId.get(environment.identity.id);
      byId.set(environment.identity.id, other === undefined ? environment : join(other, environment));
    }
  return [...byId.values()];
};

const join = (a: ObservedEnvironment, b: ObservedEnvironment): ObservedEnvironment => ({
  identity: isOlder(b.identity, a.identity) ? b.identity : a.identity,
  components: [...a.components, ...b.components],
  held: a.held || b.held,
  complete: a.complete && b.complete,
  mark: `${a.mark}\n${b.mark}`,
});

/** The name was chosen when the oldest identity was written. Of two of one age, all readings must choose the same. */
const isOlder = (a: Identity, b: Identity): boolean =>
  a.createdAt === b.createdAt ? a.name < b.name : a.createdAt < b.createdAt;
