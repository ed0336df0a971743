import { describe, expect, it } from 'vitest';
import { findSandbox } from './bubblewrap.ts';
import { describeSandbox } from './sandbox.contract.ts';

const sandbox = findSandbox({ tools: [] });

describe.skipIf(sandbox.isolation.state === 'trusted')('bubblewrap', () => {
  describeSandbox(() => sandbox);
});

describe('without a sandbox', () => {
  it.skipIf(process.getuid?.() !== 0)('says that root has none', () => {
    expect(sandbox.isolation).toEqual({ state: 'trusted', because: 'ephd runs as root; run it as an ordinary user' });
  });
});
