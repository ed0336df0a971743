import { type ObservedComponent, providerName } from '@eph/contract';
import { createFakeInfrastructure, FakeProvider } from '@eph/engine/provider/provider.fake';
import { describe, expect, it } from 'vitest';
import { createReadyRecord } from '../environment-record.fake.ts';
import { viewDetail } from './environment-view.ts';
import { readUsage } from './read-usage.ts';

const { signal } = new AbortController();

describe('what the components of an environment use', () => {
  it('is asked of each provider, and one that fails leaves the rest', async () => {
    const known = createReadyRecord('preview/x');
    const [web] = known.observed?.components ?? [];
    if (known.observed === undefined || web === undefined) throw new Error('the record has a component');
    const figures = { cpuSeconds: 1, cpuCores: null, memoryBytes: 2 };
    const provider = (name: string, usage: FakeProvider['usage']): FakeProvider =>
      Object.assign(new FakeProvider(createFakeInfrastructure(), { name, now: () => 0 }), { usage });
    const providers = new Map(
      [
        provider('good', () => Promise.resolve(new Map([[web.name, figures]]))),
        provider('rejects', () => Promise.reject(new Error('down'))),
        provider('throws', () => {
          throw new Error('down');
        }),
        provider('empty', () => Promise.resolve(new Map())),
      ].map((one) => [one.name, one]),
    );
    const components = ['good', 'rejects', 'throws', 'empty', 'unknown'].map(
      (name): ObservedComponent => ({ ...web, provider: providerName(name) }),
    );
    const usageOf = await readUsage(known.id, components, (name) => providers.get(name), signal);
    const addresses = { urlOf: (name: string) => name, aliasOf: () => undefined, away: () => new Map() };
    const view = viewDetail({ ...known, observed: { ...known.observed, components } }, usageOf, addresses);
    expect(view.components.map(({ usage }) => usage)).toEqual([figures, null, null, null, null]);
    expect(view.components.every(({ parts }) => parts.length === 0)).toBe(true);
  });
});
