import { type EnvironmentId, incompleteReading, type ObservedEnvironment, type Reading, toFailure } from '@eph/contract';
import type { Provider, Scope } from './provider.ts';

/** What all providers hold in a scope, environment by environment, their components put together. */
export const observe = async (
  providers: Iterable<Provider>,
  scope: Scope,
  signal: AbortSignal,
): Promise<Reading<ObservedEnvironment>> => {
  const readings = await Promise.all(
    [...providers].map((provider) =>
      provider.list(scope, signal).catch((error: unknown) => incompleteReading<ObservedEnvironment>([], toFailure(error))),
    ),
  );
  const [only] = readings;
  if (readings.length === 1 && only !== undefined) return only;
  const byId = new Map<EnvironmentId, ObservedEnvironment>();
  for (const environment of readings.flatMap((reading) => reading.items)) {
    const other = byId.get(environment.identity.id);
    byId.set(environment.identity.id, other === undefined ? environment : join(other, environment));
  }
  return {
    items: [...byId.values()],
    complete: readings.every((reading) => reading.complete),
    faults: readings.flatMap((reading) => reading.faults),
  };
};

/** The older identity wins: the name was chosen when it was written. */
const join = (a: ObservedEnvironment, b: ObservedEnvironment): ObservedEnvironment => ({
  identity: a.identity.createdAt <= b.identity.createdAt ? a.identity : b.identity,
  components: [...a.components, ...b.components],
  complete: a.complete && b.complete,
  mark: `${a.mark}\n${b.mark}`,
});
