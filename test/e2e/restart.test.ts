import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { EphdHarness } from './ephd-harness.ts';
import { app, twoServices, worker } from './sample-app.ts';

const pids = (harness: EphdHarness): readonly number[] =>
  harness
    .services()
    .map((one) => one.pid)
    .toSorted((a, b) => a - b);

describe('a restarted ephd', () => {
  it.each(['kill', 'stop'] as const)('finds the running services after %s and restarts none of them', async (end) => {
    await using harness = await EphdHarness.create();
    const ephd = await harness.start();
    const [pair, lone] = [
      await harness.repository.push('preview/pair', app(twoServices)),
      await harness.repository.push('preview/lone', app(worker)),
    ];
    const { name, createdAt } = await harness.untilReady('preview/pair', pair);
    await harness.untilReady('preview/lone', lone);
    const before = pids(harness);
    expect(before).toHaveLength(3);

    const exit = await ephd[end]();
    expect(exit).toMatchObject(end === 'stop' ? { code: 0, stderr: '' } : { signal: 'SIGKILL' });
    expect(pids(harness)).toEqual(before);
    await harness.start();
    expect(await harness.untilReady('preview/pair', pair)).toMatchObject({ name, createdAt });
    await harness.untilReady('preview/lone', lone);
    expect((await harness.visit(name, { path: '/forwarded' })).status).toBe(200);
    expect(pids(harness)).toEqual(before);
  });

  it('catches up with changes made while it was down', async () => {
    await using harness = await EphdHarness.create();
    const ephd = await harness.start();
    const [stays, changes] = [
      await harness.repository.push('preview/stays', app()),
      await harness.repository.push('preview/changes', app()),
    ];
    const goes = await harness.repository.push('preview/goes', app());
    await Promise.all([
      harness.untilReady('preview/stays', stays),
      harness.untilReady('preview/changes', changes),
      harness.untilReady('preview/goes', goes),
    ]);
    await ephd.kill();

    const changed = await harness.repository.push('preview/changes', app());
    await harness.repository.delete('preview/goes');
    const comes = await harness.repository.push('preview/comes', app());
    await harness.start();
    await Promise.all([
      harness.untilReady('preview/changes', changed),
      harness.untilReady('preview/comes', comes),
      harness.untilGone('preview/goes'),
    ]);
    const names = (await harness.environments()).map((one) => one.source.name);
    expect(names.toSorted()).toEqual(['preview/changes', 'preview/comes', 'preview/stays']);
  });

  it('keeps every name even if the server key is lost', async () => {
    await using harness = await EphdHarness.create();
    const ephd = await harness.start();
    const commit = await harness.repository.push('preview/one', app());
    const before = await harness.untilReady('preview/one', commit);
    await ephd.kill();
    await rm(join(harness.dataFolder, 'server.key'));
    await harness.start();
    const after = await harness.untilReady('preview/one', commit);
    expect([after.id, after.name, after.createdAt]).toEqual([before.id, before.name, before.createdAt]);
    expect(harness.services()).toHaveLength(1);
  });
});

describe('a resource in use', () => {
  it('the data folder: the second ephd names the process that uses it', async () => {
    await using harness = await EphdHarness.create();
    await using other = await EphdHarness.create();
    const { pid } = await harness.start();
    const { code, stderr } = await other.launch({ dataFolder: harness.dataFolder }).exited;
    expect(code).toBe(3);
    expect(stderr).toContain(`data folder ${harness.dataFolder} is in use`);
    expect(stderr).toContain(`pid ${pid}`);
    expect((await harness.api('/healthz')).status).toBe(200);
  });

  it.each(['apiPort', 'gatewayPort'] as const)('the %s: the message names it', async (port) => {
    await using harness = await EphdHarness.create();
    const server = createServer().listen(harness[port], '127.0.0.1');
    onTestFinished(() => void server.close());
    const { code, stderr } = await harness.launch().exited;
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`^ephd: [^\\n]*${harness[port]}[^\\n]*(taken|in use)[^\\n]*\\n$`));
  });
});
