import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { app, twoServices, worker } from './sample-app.ts';
import { Site } from './site.ts';

const pids = (site: Site): readonly number[] =>
  site
    .services()
    .map((one) => one.pid)
    .toSorted((a, b) => a - b);

describe('a restarted ephd', () => {
  it.each(['kill', 'stop'] as const)('finds the services again after %s, and starts none of them again', async (end) => {
    await using site = await Site.create();
    const ephd = await site.start();
    const [pair, lone] = [
      await site.repository.push('preview/pair', app(twoServices)),
      await site.repository.push('preview/lone', app(worker)),
    ];
    const { name, createdAt } = await site.untilReady('preview/pair', pair);
    await site.untilReady('preview/lone', lone);
    const before = pids(site);
    expect(before).toHaveLength(3);

    const exit = await ephd[end]();
    expect(exit).toMatchObject(end === 'stop' ? { code: 0, stderr: '' } : { signal: 'SIGKILL' });
    expect(pids(site)).toEqual(before);
    await site.start();
    expect(await site.untilReady('preview/pair', pair)).toMatchObject({ name, createdAt });
    await site.untilReady('preview/lone', lone);
    expect((await site.visit(name, { path: '/forwarded' })).status).toBe(200);
    expect(pids(site)).toEqual(before);
  });

  it('catches up with what happened while it was away', async () => {
    await using site = await Site.create();
    const ephd = await site.start();
    const [stays, changes] = [
      await site.repository.push('preview/stays', app()),
      await site.repository.push('preview/changes', app()),
    ];
    const goes = await site.repository.push('preview/goes', app());
    await Promise.all([
      site.untilReady('preview/stays', stays),
      site.untilReady('preview/changes', changes),
      site.untilReady('preview/goes', goes),
    ]);
    await ephd.kill();

    const changed = await site.repository.push('preview/changes', app());
    await site.repository.delete('preview/goes');
    const comes = await site.repository.push('preview/comes', app());
    await site.start();
    await Promise.all([
      site.untilReady('preview/changes', changed),
      site.untilReady('preview/comes', comes),
      site.untilGone('preview/goes'),
    ]);
    const names = (await site.environments()).map((one) => one.source.name);
    expect(names.toSorted()).toEqual(['preview/changes', 'preview/comes', 'preview/stays']);
  });

  it('keeps every name although the server key is lost', async () => {
    await using site = await Site.create();
    const ephd = await site.start();
    const commit = await site.repository.push('preview/one', app());
    const before = await site.untilReady('preview/one', commit);
    await ephd.kill();
    await rm(join(site.dataFolder, 'server.key'));
    await site.start();
    const after = await site.untilReady('preview/one', commit);
    expect([after.id, after.name, after.createdAt]).toEqual([before.id, before.name, before.createdAt]);
    expect(site.services()).toHaveLength(1);
  });
});

describe('what is taken already', () => {
  it('the data folder: the second ephd says who has it', async () => {
    await using site = await Site.create();
    await using other = await Site.create();
    const { pid } = await site.start();
    const { code, stderr } = await other.launch({ dataFolder: site.dataFolder }).exited;
    expect(code).toBe(3);
    expect(stderr).toContain(`data folder ${site.dataFolder} is in use`);
    expect(stderr).toContain(`pid ${pid}`);
    expect((await site.api('/healthz')).status).toBe(200);
  });

  it.each(['apiPort', 'gatewayPort'] as const)('the %s: a sentence says which', async (port) => {
    await using site = await Site.create();
    const server = createServer().listen(site[port], '127.0.0.1');
    onTestFinished(() => void server.close());
    const { code, stderr } = await site.launch().exited;
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`^ephd: [^\\n]*${site[port]}[^\\n]*taken[^\\n]*\\n$`));
  });
});
