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
});

/** Whether two looks at an environment show the same; resource usage moves all the time and does not count. */
export const looksTheSame = (a: ObservedEnvironment | undefined, b: ObservedEnvironment | undefined): boolean => {
  if (a === b) return true;
  if (a === undefined || b === undefined) return false;
  if (a.complete !== b.complete || a.components.length !== b.components.length) return false;
  return a.components.every((component, index) => {
    const other = b.components[index];
    return (
      other !== undefined &&
      component.name === other.name &&
      component.retiring === other.retiring &&
      sameVersion(component.current, other.current) &&
      sameVersion(component.next, other.next) &&
      sameOutputs(component.outputs, other.outputs)
    );
  });
};

type Version = ObservedEnvironment['components'][number]['current'];

const sameVersion = (a: Version, b: Version): boolean =>
  a === b || (a !== null && b !== null && a.revision === b.revision && a.health === b.health && a.message === b.message);

const sameOutputs = (a: { readonly [key: string]: string }, b: { readonly [key: string]: string }): boolean => {
  if (a === b) return true;
  let count = 0;
  for (const key in a) {
    if (a[key] !== b[key]) return false;
    count += 1;
  }
  for (const _ in b) count -= 1;
  return count === 0;
};
