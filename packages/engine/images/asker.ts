import type { ImageLocation } from './registry.ts';
import type { ImageRequest } from './resolver.ts';

/** On whose behalf a registry is asked, and with whose credentials. */
export const askerOf = ({ source, pullSecrets }: ImageRequest): Pick<ImageLocation, 'project' | 'pullSecrets'> => ({
  project: source.project,
  ...(pullSecrets && { pullSecrets }),
});
