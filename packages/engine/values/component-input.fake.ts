import {
  commitSha,
  environmentId,
  environmentName,
  noConfiguration,
  parseSpec,
  projectId,
  providerName,
  type Section,
  type SectionComponent,
  shippedSections,
} from '@eph/contract';
import type { SpecFile } from './component-layers.ts';
import type { ComponentInput } from './components.ts';
import { type AvailableProvider, chooseProviders } from './providers.ts';

const shop = projectId('shop');
const ref = { kind: 'branch', name: 'preview/a' } as const;
const commit = commitSha('1'.repeat(40));

export const fakeProvider = (name: string, type = name, holdsSecrets = false): AvailableProvider => ({
  name: providerName(name),
  type,
  holdsSecrets,
});

/** What an environment is computed from, when nothing about it is special. */
export const createComponentInput = (
  file: SpecFile,
  changes: Partial<ComponentInput> = {},
  available: readonly AvailableProvider[] = [fakeProvider('process')],
): ComponentInput => ({
  file,
  source: { project: shop, ref, commit },
  identity: {
    id: environmentId('0'.repeat(16)),
    name: environmentName('shop-calm-bay-1234'),
    project: shop,
    source: ref,
    createdAt: '2026-01-05T09:00:00.000Z',
  },
  url: 'http://shop-calm-bay-1234.localhost',
  images: new Map(),
  observed: [],
  layers: noConfiguration,
  variables: {},
  outputsOf: () => undefined,
  hasOwnNetwork: () => false,
  providers: chooseProviders(file, available, changes.observed ?? [], changes.variables ?? {}),
  ...changes,
});

/** A file that has no faults. */
export const parseSound = (
  text: string,
  sections: readonly Section[] = shippedSections,
): Extract<ReturnType<typeof parseSpec>, { ok: true }> => {
  const parsed = parseSpec(new TextEncoder().encode(text), 'eph.yaml', sections);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
  return parsed;
};

/** A file with more components than anybody could write into one. */
export const createLargeFile = (
  count: number,
  describe: (index: number) => Partial<Pick<SectionComponent, 'needs' | 'values'>>,
): SpecFile => {
  const file = parseSound('{ version: "1.0", name: shop, process: { services: { web: { command: run } } } }');
  const components = Array.from({ length: count }, (_, index) =>
    file.components.map((one) => ({ ...one, name: `c${index}`, ...describe(index) })),
  );
  return { ...file, components: components.flat() };
};
