import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { app } from './sample-app.ts';
import { SampleRepository } from './sample-repository.ts';

const faultsOf = async (harness: EphdHarness): Promise<string> => {
  const { faults } = JSON.parse((await harness.api('/api/v1/server')).body) as { faults: unknown };
  return JSON.stringify(faults);
};

describe('a repository that cannot be read', () => {
  it('does not affect environments; health reports it until the repository is back', async () => {
    await using harness = await EphdHarness.create();
    const ephd = await harness.start();
    const commit = await harness.repository.push('preview/one', app());
    const { name, createdAt } = await harness.untilReady('preview/one', commit);
    const before = harness.services().map((one) => one.pid);

    // A Git process that is writing would recreate the folder, and the repository could not be moved back.
    await harness.untilReported(commit, 'Ready');
    await harness.repository.hide();
    await harness.api('/hooks/git', { method: 'POST' });
    await eventually('health names the repository', async () => (await faultsOf(harness)).includes('shop'));
    expect((await harness.visit(name)).status).toBe(200);

    // Even after a restart, without any memory, a missing answer is not taken for an empty one.
    await ephd.kill();
    await harness.start();
    await eventually('health names the repository', async () => (await faultsOf(harness)).includes('shop'));
    expect((await harness.api('/readyz')).status).toBe(503);
    await eventually('the gateway finds it again', async () => (await harness.visit(name)).status === 200);
    expect(harness.services().map((one) => one.pid)).toEqual(before);

    await harness.repository.unhide();
    expect(await harness.untilReady('preview/one', commit, 60)).toMatchObject({ name, createdAt });
    await eventually('health is well again', async () => (await faultsOf(harness)) === '{}');
    expect(harness.services().map((one) => one.pid)).toEqual(before);
  });

  it('and is replaced by an empty one removes no more environments than the deletion guard allows', async () => {
    await using harness = await EphdHarness.create();
    await harness.start();
    for (let index = 0; index < 6; index += 1) await harness.repository.push(`preview/b${index}`, app());
    await eventually(
      'all are ready',
      async () => (await harness.environments()).filter((one) => one.phase === 'Ready').length === 6,
      60,
    );
    for (const { commit } of await harness.environments()) await harness.untilReported(commit ?? '', 'Ready');
    await harness.repository.hide();
    await SampleRepository.create(harness.folder, 'shop');
    await harness.api('/hooks/git', { method: 'POST' });
    await eventually(
      'the guard holds',
      async () => (await harness.environments()).some((one) => one.summary.includes('held')),
      60,
    );
    expect(harness.services().length).toBeGreaterThan(0);
  });

  // The branch is tried again after a wait that grows while its objects are missing.
  it('in part, because objects of one branch are missing, delays only that branch', { timeout: 90_000 }, async () => {
    await using harness = await EphdHarness.create();
    await harness.start();
    const good = await harness.repository.push('preview/good', app());
    await harness.untilReady('preview/good', good);
    const elsewhere = await SampleRepository.create(join(harness.folder, 'elsewhere'), 'shop');
    const late = await elsewhere.push('preview/late', { ...app(), only: 'here' });

    // The ref first and the objects later, as after a broken push or while a folder is copied.
    await writeFile(join(harness.repository.path, 'refs/heads/preview/late'), `${late}\n`);
    await eventually('health names the branch', async () => (await faultsOf(harness)).includes('late'));
    const changed = await harness.repository.push('preview/good', app());
    await harness.untilReady('preview/good', changed);

    await copyObjects(elsewhere.path, harness.repository.path);
    const { name } = await harness.untilReady('preview/late', late, 60);
    expect((await harness.visit(name)).status).toBe(200);
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
