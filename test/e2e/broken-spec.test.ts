import { describe, expect, it } from 'vitest';
import { EphdHarness } from './ephd-harness.ts';
import { app, oneService, spec } from './sample-app.ts';

const bomb = [
  'a: &a [x, x, x, x, x, x, x, x, x]',
  ...'bcdefghij'.split('').map((name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghi'[index]}`).join(', ')}]`),
].join('\n');

/** Contents of `eph.yaml`, and a word that the condition must contain. */
const hostile: Readonly<Record<string, readonly [content: string | Uint8Array, says: RegExp]>> = {
  malformed: ['version: "1.0"\nname: [\n', /eph\.yaml:\d+:\d+/],
  empty: ['', /empty/],
  huge: ['#'.repeat(10 * 1024 * 1024), /at most \d+|larger than|too large|bytes/],
  deep: [`version: ${'['.repeat(1_000)}`, /nested|deep/],
  'very-deep': [`version: ${'['.repeat(100_000)}`, /nested|deep|complex/],
  'alias-bomb': [`${bomb}\n`, /alias/],
  'not-utf-8': [Uint8Array.of(0x76, 0x3a, 0xff, 0xfe, 0x80), /UTF-8/],
  'wrong-key': [spec({ web: { comand: ['x'] } }), /command/],
  'endless-reference': [spec({ web: { command: 'true', env: { A: 'outputs/web/url' } } }), /circle|itself|cycle/],
  'unknown-need': [spec({ web: { command: 'true', depends_on: ['wbe'] } }), /web/],
};

describe('an eph.yaml that cannot be used', () => {
  it('sets a condition on its own environment; the others are not affected', async () => {
    await using harness = await EphdHarness.create();
    await harness.start();
    const good = await harness.repository.push('preview/good', app());
    const healthy = await harness.untilReady('preview/good', good);
    const [{ pid } = { pid: 0 }] = harness.services();

    for (const [branch, [content]] of Object.entries(hostile))
      await harness.repository.push(`preview/${branch}`, app(oneService, { 'eph.yaml': content }));
    for (const [branch, [, says]] of Object.entries(hostile)) {
      const { conditions, summary } = await harness.until(`preview/${branch}`, 'failed', (one) => one.phase === 'Failed');
      const condition = conditions.find((one) => one.type === 'SpecValid');
      expect(condition, branch).toMatchObject({ status: 'False' });
      expect(condition?.message, branch).toMatch(says);
      expect(summary.length, branch).toBeLessThan(1000);
    }

    expect((await harness.environment(healthy.id)).phase).toBe('Ready');
    expect((await harness.visit(healthy.name)).status).toBe(200);
    expect(harness.services().map((one) => one.pid)).toEqual([pid]);
  });

  it('waits for a reference that does not resolve, and lists what exists', async () => {
    await using harness = await EphdHarness.create();
    await harness.start();
    await harness.repository.push('preview/one', app({ web: { command: 'true', env: { A: 'outputs/wbe/url' } } }));
    const waiting = await harness.until('preview/one', 'waiting', (one) => one.summary.includes('outputs/wbe/url'));
    expect(waiting).toMatchObject({ phase: 'Pending', components: [] });
    expect(waiting.summary).toContain('web');
    expect(harness.services()).toEqual([]);
  });

  it('leaves the previous version serving, and the next commit fixes it', async () => {
    await using harness = await EphdHarness.create();
    await harness.start();
    const first = await harness.repository.push('preview/one', app());
    const { name } = await harness.untilReady('preview/one', first);
    await harness.repository.push('preview/one', app(oneService, { 'eph.yaml': 'version: 2\n' }));
    const broken = await harness.until('preview/one', 'degraded', (one) => one.phase === 'Degraded');
    expect(broken.summary).toContain('keeps serving');
    expect(JSON.parse((await harness.visit(name)).body)).toMatchObject({ commit: first });
    const third = await harness.repository.push('preview/one', app());
    await harness.untilReady('preview/one', third);
    expect(JSON.parse((await harness.visit(name)).body)).toMatchObject({ commit: third });
  });

  it('does not matter if no trigger matches', async () => {
    await using harness = await EphdHarness.create();
    await harness.start();
    await harness.repository.push('main', { README: 'nothing here' });
    await harness.repository.push('preview/none', { README: 'nothing here' });
    const missing = await harness.until('preview/none', 'failed', (one) => one.phase === 'Failed');
    expect(missing.summary).toContain('there is no eph.yaml');
    expect(await harness.environments()).toHaveLength(1);
  });
});
