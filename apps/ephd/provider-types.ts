import { z } from 'zod';
import { kubernetes } from './provider-types/kubernetes.ts';
import { process } from './provider-types/process.ts';
import type { ProviderType } from './provider-types/provider-type.ts';

/** Every type of provider there is. A new one is an entry here. */
export const providerTypes = { process, kubernetes } as const satisfies Readonly<Record<string, ProviderType>>;

const { process: first, ...others } = providerTypes;

export const providerSchema = z.discriminatedUnion('type', [
  first.schema,
  ...Object.values<ProviderType>(others).map(({ schema }) => schema),
]);
