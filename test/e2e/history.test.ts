import { randomBytes } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { eventListSchema } from '@eph/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeWith } from '../parts/describe-with.ts';
import { postgres, type RunningPostgres } from '../parts/postgres.ts';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { app, oneService } from './sample-app.ts';

interface Health {
  readonly leadership: {
    readonly state: string;
    readonly leading?: boolean;
    readonly holder?: string;
    readonly message?: string;
  };
  readonly history: { readonly reachable: boolean; readonly buffered: number; readonly lost: number; readonly message: string };
}

const health = async (harness: EphdHarness): Promise<Health> => JSON.parse((await harness.api('/api/v1/server')).body) as Health;

const eventTypes = async (harness: EphdHarness): Promise<readonly string[]> =>
  (await harness.read('/api/v1/events', eventListSchema)).events.map((one) => one.type);

const accessKey = randomBytes(32).toString('base64');

/** A full lifecycle, with a request through the gateway. */
const runLifecycle = async (harness: EphdHarness, branch: string): Promise<void> => {
  const commit = await harness.repository.push(branch, app(oneService));
  const { name } = await harness.untilReady(branch, commit);
  expect((await harness.visit(name)).status).toBe(200);
  await harness.repository.delete(branch);
  await harness.untilGone(branch);
  expect(harness.services()).toEqual([]);
};

describe('history in the data folder', () => {
  it('may be deleted at any time without other losses', async () => {
    await using harness = await EphdHarness.create();
    const ephd = await harness.start();
    const commit = await harness.repository.push('preview/one', app());
    const { name, createdAt } = await harness.untilReady('preview/one', commit);
    const [before] = harness.services();
    for (const file of readdirSync(harness.dataFolder).filter((one) => one.startsWith('history')))
      rmSync(join(harness.dataFolder, file));

    const next = await harness.repository.push('preview/two', app());
    await harness.untilReady('preview/two', next);
    await eventually('history goes on', async () => (await eventTypes(harness)).includes('environment.wanted'));
    await ephd.kill();
    for (const file of readdirSync(harness.dataFolder).filter((one) => one.startsWith('history')))
      rmSync(join(harness.dataFolder, file));
    await harness.start();
    expect(await harness.untilReady('preview/one', commit)).toMatchObject({ name, createdAt });
    expect(harness.services().map((one) => one.pid)).toContain(before?.pid);
    expect((await health(harness)).history).toMatchObject({ reachable: true });
  });
});

describeWith(postgres, 'history in PostgreSQL', () => {
  let server: RunningPostgres;
  beforeAll(async () => {
    server = await postgres.start();
  });
  afterAll(() => server.stop());

  it('survives a restart, after which ephd leads again', async () => {
    await using harness = await EphdHarness.create();
    const env = { DATABASE_URL: await server.createDatabase(), EPH_ACCESS_KEYS: accessKey };
    const ephd = await harness.start({ env });
    await eventually('it leads', async () => (await health(harness)).leadership.state === 'leading');
    await runLifecycle(harness, 'preview/one');
    await ephd.stop();
    await harness.start({ env });
    await eventually('it leads again', async () => (await health(harness)).leadership.state === 'leading');
    expect(await eventTypes(harness)).toEqual(
      expect.arrayContaining(['environment.wanted', 'component.applied', 'environment.removed']),
    );
    expect(JSON.stringify(ephd.lines)).not.toContain(new URL(env.DATABASE_URL).password);
  });

  it('may be unreachable at the start and later: environments are not affected', { timeout: 120_000 }, async () => {
    await using harness = await EphdHarness.create();
    const env = { DATABASE_URL: await server.createDatabase(), EPH_ACCESS_KEYS: accessKey };
    await server.halt();
    await harness.start({ env });
    await eventually('it works without', async () => (await health(harness)).leadership.leading === true);
    expect(await health(harness)).toMatchObject({
      leadership: { state: 'degraded' },
      history: { reachable: false, message: expect.stringContaining('PostgreSQL') },
    });
    await runLifecycle(harness, 'preview/one');
    expect((await harness.api('/api/v1/events')).status).toBe(503);

    await server.resume();
    await eventually('history is back', async () => (await health(harness)).history.reachable);
    await eventually('it leads', async () => (await health(harness)).leadership.state === 'leading');
    await eventually('what happened meanwhile was kept', async () => (await eventTypes(harness)).includes('environment.removed'));

    await server.halt();
    await eventually('the loss is seen', async () => !(await health(harness)).history.reachable);
    await runLifecycle(harness, 'preview/two');
    await server.resume();
    await eventually('history is back', async () => (await health(harness)).history.reachable);
    const lives = async (): Promise<number> =>
      (await eventTypes(harness)).filter((type) => type === 'environment.removed').length;
    await eventually('nothing of it was lost', async () => (await lives()) === 2);
    expect((await health(harness)).history.lost).toBe(0);
  });

  it('elects one of two ephd as leader; the other takes over when it is killed', { timeout: 120_000 }, async () => {
    await using first = await EphdHarness.create();
    await using second = await EphdHarness.create();
    const env = { DATABASE_URL: await server.createDatabase(), EPH_ACCESS_KEYS: accessKey };
    const projects = [first.repository.path];
    const leader = await first.start({ env, projects });
    await eventually('the first leads', async () => (await health(first)).leadership.state === 'leading');
    await second.start({ env, projects });
    await eventually('the second stands by', async () => (await health(second)).leadership.state === 'standby');
    expect(await health(second)).toMatchObject({ leadership: { holder: expect.stringContaining(String(leader.pid)) } });
    const standby = await second.api('/api/v1/environments');
    expect([standby.status, standby.body.includes(String(leader.pid))]).toEqual([503, true]);

    const commit = await first.repository.push('preview/one', app());
    await first.untilReady('preview/one', commit);
    expect(second.services()).toEqual([]);

    const killed = performance.now();
    await leader.kill();
    await eventually('the second leads', async () => (await health(second)).leadership.state === 'leading', 60);
    console.log(`the standby led ${((performance.now() - killed) / 1000).toFixed(1)} s after the leader was killed`);
    // Processes belong to their machine: the new leader starts the environment itself.
    await second.untilReady('preview/one', commit);
    expect(second.services()).toHaveLength(1);
  });
});
