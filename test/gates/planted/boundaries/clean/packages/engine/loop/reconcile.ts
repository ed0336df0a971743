import { plan } from '../plan/diff.ts';
import type { Provider } from '../provider/provider.ts';
import type { Forge } from '../source/forge.ts';
import { readSpec } from '../source/read-spec.ts';
import { queue } from './queue.ts';

export const reconcile = (forge: Forge, provider: Provider): string =>
  plan(readSpec(forge)) + provider.name + queue({ now: () => 0 });
