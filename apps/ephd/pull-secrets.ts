import type { ReadPullSecrets } from '@eph/adapters/registry-oci/pull-secrets';
import { EphError, type ProviderName } from '@eph/contract';
import type { Provider } from '@eph/engine/provider/provider';

/** Registries are asked with what the provider has whose pods fetch the images. Most have nothing. */
export const pullSecretsOf =
  (find: (name: ProviderName) => Provider | undefined): ReadPullSecrets =>
  async (project, { provider: name, names }, signal) => {
    const provider = find(name);
    if (provider === undefined) throw new EphError('internal', `there is no provider ${name}`);
    return (await provider.readPullSecrets?.(project, names, signal)) ?? [];
  };
