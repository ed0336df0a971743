import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { providerName } from '@eph/contract';
import { describeProvider, type ProviderHarness } from '@eph/engine/provider/provider.contract';
import { describe, expect } from 'vitest';
import { createTemplateProvider } from './provider.ts';

const createHarness = (): Promise<ProviderHarness> => {
  const folder = mkdtempSync(join(tmpdir(), 'eph-template-'));
  const start = () => createTemplateProvider({ name: providerName('template'), folder });
  let provider = start();
  return Promise.resolve({
    provider: () => provider,
    restart: () => {
      provider = start();
      return Promise.resolve();
    },
    values: ({ behaviour }) => ({ behaviour }),
    refusedValues: { behaviour: 'flies' },
    until: async (check) => {
      await expect.poll(check).toBe(true);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(rmSync(folder, { recursive: true, force: true })),
  });
};

describe('the template of a provider', () => {
  describeProvider(createHarness, { execRefused: 'feature.unavailable', connectRefused: 'feature.unavailable' });
});
