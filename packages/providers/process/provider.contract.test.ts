import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeProvider, type ProviderHarness } from '@eph/engine/provider/provider.contract';
import { describe } from 'vitest';
import { findSandbox } from './bubblewrap.ts';
import { ProcessHarness, run, until } from './process-harness.fake.ts';

const programs = { 'gets ready': 'answer.mjs', 'never ready': 'idle.mjs', crashes: 'crash.mjs' } as const;

const folder = mkdtempSync(join(tmpdir(), 'eph-contract-'));
const { isolation } = findSandbox({ folder, tools: [], network: 'shared', reach: [] });
rmSync(folder, { recursive: true });

const createHarness = (): Promise<ProviderHarness> => {
  const harness = new ProcessHarness();
  return Promise.resolve({
    provider: () => harness.provider,
    restart: () => harness.restart(),
    values: ({ behaviour, commit }) => ({
      command: run(programs[behaviour]),
      env: { COMMIT: commit },
      ready: { kind: 'http', path: '/' },
      readyTimeoutSeconds: behaviour === 'never ready' ? 0.5 : 30,
    }),
    refusedValues: { command: [], env: {}, ready: { kind: 'carrier pigeon' }, readyTimeoutSeconds: -1 },
    until: (check) => until('what the suite waits for', check),
    [Symbol.asyncDispose]: () => harness[Symbol.asyncDispose](),
  });
};

describe('the process provider', () => {
  describeProvider(createHarness, { execRefused: isolation.state === 'trusted' ? 'isolation.missing' : undefined });
});
