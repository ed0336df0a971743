import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { findSandbox } from './bubblewrap.ts';
import { describeOwnNetwork, describeSandbox } from './sandbox.contract.ts';

const folder = mkdtempSync(join(tmpdir(), 'eph-sandbox-files-'));
afterAll(() => rmSync(folder, { recursive: true }));
const sandbox = findSandbox({ folder, tools: [], network: 'shared', reach: [] });
const { isolation } = sandbox;

const why = isolation.state === 'trusted' ? isolation.because : isolation.lacks.network;
const skipped = why === undefined ? '' : ` [skipped here: ${why}; ordinary-user.test.ts runs it]`;

describe.skipIf(isolation.state === 'trusted')(`bubblewrap${skipped}`, () => {
  describeSandbox(sandbox, undefined);
});

describe.skipIf(why !== undefined)(`bubblewrap with pasta${skipped}`, () => {
  describeSandbox(sandbox, { port: 0, reaches: [] });
  describeOwnNetwork((...reach) => findSandbox({ folder, tools: [], network: 'shared', reach }));
});

describe('without a sandbox', () => {
  it.skipIf(process.getuid?.() !== 0)('says that root has none', () => {
    expect(isolation).toEqual({ state: 'trusted', because: 'ephd runs as root; run it as an ordinary user' });
  });
});
