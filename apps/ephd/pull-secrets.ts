import { EphError, type ProjectId, type ProviderName, type PullSecrets } from '@eph/contract';
import type { Provider } from '@eph/engine/provider/provider';

/** Registries are asked with what the provider has whose pods fetch the images. Most have nothing. */
export const pullSecretsOf =
  (find: (name: ProviderName) => Provider | undefined) =>
  async (project: ProjectId, { provider: name, names }: PullSecrets, signal: AbortSignal): Promise<readonly string[]> => {
    const provider = find(name);
    if (provider === undefined) throw new EphError('internal', `there is no provider ${name}`);
    return (await provider.readPullSecrets?.(project, names, signal)) ?? [];
  };
