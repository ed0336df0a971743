import {
  commitSha,
  environmentId,
  environmentName,
  noConfiguration,
  type Places,
  parseSpec,
  projectId,
  providerName,
  type Spec,
} from '@eph/contract';
import type { ComponentInput } from './components.ts';

const shop = projectId('shop');
const ref = { kind: 'branch', name: 'preview/a' } as const;
const commit = commitSha('1'.repeat(40));

/** What an environment is worked out from, when nothing about it is special. */
export const createComponentInput = (
  file: { readonly spec: Spec; readonly places: Places },
  changes: Partial<ComponentInput> = {},
): ComponentInput => ({
  ...file,
  source: { project: shop, ref, commit },
  identity: {
    id: environmentId('0'.repeat(16)),
    name: environmentName('shop-calm-bay-1234'),
    project: shop,
    source: ref,
    createdAt: '2026-01-05T09:00:00.000Z',
  },
  url: 'http://shop-calm-bay-1234.localhost',
  artifact: `tree:${commit}`,
  observed: [],
  configuration: noConfiguration,
  variables: {},
  outputsOf: () => undefined,
  provider: { name: providerName('process'), holdsSecrets: false },
  ...changes,
});

/** A file that has no faults. */
export const parseSound = (text: string): Extract<ReturnType<typeof parseSpec>, { ok: true }> => {
  const parsed = parseSpec(new TextEncoder().encode(text));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
  return parsed;
};
