import type { ComponentName, EnvironmentId, ObservedComponent, ProviderName, Usage } from '@eph/contract';
import type { Provider } from '@eph/engine/provider/provider';

const timeoutMs = 5_000;

/** Asks every provider that has one of the components; one that does not answer costs nothing but its figures. */
export const readUsage = async (
  id: EnvironmentId,
  components: readonly ObservedComponent[],
  providerOf: (name: ProviderName) => Provider | undefined,
  signal: AbortSignal,
): Promise<(component: ObservedComponent) => Usage | undefined> => {
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const read = async (name: ProviderName): Promise<ReadonlyMap<ComponentName, Usage> | undefined> => {
    try {
      return await providerOf(name)?.usage(id, inTime);
    } catch {
      return undefined;
    }
  };
  const names = [...new Set(components.map(({ provider }) => provider))];
  const usages = new Map(await Promise.all(names.map(async (name) => [name, await read(name)] as const)));
  return ({ provider, name }) => usages.get(provider)?.get(name);
};
