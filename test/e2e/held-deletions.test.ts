import { heldSchema } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { runEph } from './run-eph.ts';
import { app, worker } from './sample-app.ts';

const branches = Array.from({ length: 20 }, (_, index) => `preview/b${index}`);

describe('many branches deleted at once', () => {
  it('remove only as many environments as the bound allows; an operator releases the rest', async () => {
    await using harness = await EphdHarness.create();
    const ephd = await harness.start();
    await harness.repository.push('main', { README: 'what stays' });
    for (const branch of branches) await harness.repository.push(branch, app(worker));
    await eventually(
      'all are ready',
      async () => (await harness.environments()).filter((one) => one.phase === 'Ready').length === 20,
      60,
    );
    expect(harness.services()).toHaveLength(20);

    await harness.repository.delete(...branches);
    const held = await eventually('the rest is held', async () => {
      const environments = await harness.environments();
      const all = environments.every((one) => one.conditions.some(({ type, status }) => type === 'Held' && status === 'True'));
      return all && environments.length < 20 ? environments : undefined;
    });
    expect(held).toHaveLength(15);
    expect(harness.services()).toHaveLength(15);
    expect((await harness.api('/metrics')).body).toMatch(/^eph_held_deletions 15$/m);
    const [first] = held;
    const why = await harness.api(`/api/v1/environments/${first?.id}/why`);
    expect(why.body).toContain('until an operator releases it');

    // All or nothing after a restart: an ephd that restarts repeatedly must not remove a few each time.
    await ephd.kill();
    await harness.start();
    await eventually(
      'all are held again',
      async () => (await harness.environments()).filter((one) => one.summary.includes('held')).length === 15,
    );
    expect(harness.services()).toHaveLength(15);

    const listed = (await harness.read('/api/v1/held', heldSchema)).environments;
    expect(listed.map(({ id }) => id).toSorted()).toEqual(held.map(({ id }) => id).toSorted());
    expect(listed.map(({ name }) => name)).toEqual(listed.map(({ name }) => name).toSorted());
    expect(listed[0]).toMatchObject({
      project: 'shop',
      because: expect.stringMatching(/^removal is held: branch preview\/b\d+ is gone$/),
      createdAt: expect.stringMatching(/Z$/),
    });
    const { out } = await runEph(harness, ['held']);
    for (const { name } of listed) expect(out).toMatch(new RegExp(`^${name} +shop +\\S+ +removal is held: branch`, 'm'));
    expect(out).toContain('`eph release <environment>` lets one go.');
    for (const { id } of held) {
      const release = async () => (await harness.api(`/api/v1/environments/${id}/release`, { method: 'POST' })).status;
      expect(await release()).toBe(204);
      // It may be gone by now.
      expect([204, 404]).toContain(await release());
    }
    await eventually('nothing is left', async () => (await harness.environments()).length === 0);
    expect(harness.services()).toEqual([]);
  }, 120_000);

  it('and pushed again keep their environments', async () => {
    await using harness = await EphdHarness.create();
    await harness.start();
    const commits = new Map<string, string>();
    for (const branch of branches.slice(0, 6)) commits.set(branch, await harness.repository.push(branch, app(worker)));
    for (const [branch, commit] of commits) await harness.untilReady(branch, commit);
    const before = new Map((await harness.environments()).map((one) => [one.source.name, one.createdAt]));
    await harness.repository.delete(...commits.keys());
    const held = await eventually('one is held', async () =>
      (await harness.environments()).find((one) => one.summary.includes('held')),
    );
    const { name } = held.source;
    await harness.repository.git(['update-ref', `refs/heads/${name}`, commits.get(name) ?? '']);
    const back = await harness.untilReady(name, commits.get(name) ?? '');
    expect(back.createdAt).toBe(before.get(name));
  });
});
