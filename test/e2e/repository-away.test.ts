import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually } from './eventually.ts';
import { app } from './sample-app.ts';
import { SampleRepository } from './sample-repository.ts';
import { Site } from './site.ts';

const faultsOf = async (site: Site): Promise<string> => {
  const { faults } = JSON.parse((await site.api('/healthz')).body) as { faults: unknown };
  return JSON.stringify(faults);
};

describe('a repository that cannot be read', () => {
  it('costs nothing: environments go on, health says so, and all is well when it is back', async () => {
    await using site = await Site.create();
    const ephd = await site.start();
    const commit = await site.repository.push('preview/one', app());
    const { name, createdAt } = await site.untilReady('preview/one', commit);
    const before = site.services().map((one) => one.pid);

    // Git makes folders anew for whatever it is writing at that moment, and the way back would be blocked.
    await site.untilReported(commit, 'Ready');
    await site.repository.hide();
    await site.api('/hooks/git', { method: 'POST' });
    await eventually('health names the repository', async () => (await faultsOf(site)).includes('shop'));
    expect((await site.visit(name)).status).toBe(200);

    // Not even a restart, which remembers nothing, takes the missing answer for an empty one.
    await ephd.kill();
    await site.start();
    await eventually('health names the repository', async () => (await faultsOf(site)).includes('shop'));
    expect((await site.api('/readyz')).status).toBe(503);
    await eventually('the gateway finds it again', async () => (await site.visit(name)).status === 200);
    expect(site.services().map((one) => one.pid)).toEqual(before);

    await site.repository.unhide();
    expect(await site.untilReady('preview/one', commit, 60)).toMatchObject({ name, createdAt });
    await eventually('health is well again', async () => (await faultsOf(site)) === '{}');
    expect(site.services().map((one) => one.pid)).toEqual(before);
  });

  it('an empty repository in its place takes away no more than the deletion guard allows', async () => {
    await using site = await Site.create();
    await site.start();
    for (let index = 0; index < 6; index += 1) await site.repository.push(`preview/b${index}`, app());
    await eventually(
      'all are ready',
      async () => (await site.environments()).filter((one) => one.phase === 'Ready').length === 6,
      60,
    );
    for (const { commit } of await site.environments()) await site.untilReported(commit ?? '', 'Ready');
    await site.repository.hide();
    await SampleRepository.create(site.folder, 'shop');
    await site.api('/hooks/git', { method: 'POST' });
    await eventually('the guard holds', async () => (await site.environments()).some((one) => one.summary.includes('held')), 60);
    expect(site.services().length).toBeGreaterThan(0);
  });

  it('a branch whose objects have not arrived yet waits for them; the others do not', async () => {
    await using site = await Site.create();
    await site.start();
    const good = await site.repository.push('preview/good', app());
    await site.untilReady('preview/good', good);
    const elsewhere = await SampleRepository.create(join(site.folder, 'elsewhere'), 'shop');
    const late = await elsewhere.push('preview/late', { ...app(), only: 'here' });

    // The ref first and the objects later: what a broken push or a copied folder looks like.
    await writeFile(join(site.repository.path, 'refs/heads/preview/late'), `${late}\n`);
    await eventually('health names the branch', async () => (await faultsOf(site)).includes('late'));
    const changed = await site.repository.push('preview/good', app());
    await site.untilReady('preview/good', changed);

    await copyObjects(elsewhere.path, site.repository.path);
    const { name } = await site.untilReady('preview/late', late, 60);
    expect((await site.visit(name)).status).toBe(200);
  });
});

const copyObjects = async (from: string, to: string): Promise<void> => {
  for (const entry of await readdir(join(from, 'objects'), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const target = join(to, entry.parentPath.slice(from.length));
    await mkdir(target, { recursive: true });
    await copyFile(join(entry.parentPath, entry.name), join(target, entry.name));
  }
};
