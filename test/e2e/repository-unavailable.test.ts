import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { runEph } from './run-eph.ts';
import { app, run } from './sample-app.ts';
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
    // Whoever asks has no token, and learns no name of a project.
    const readiness = await harness.anonymousApi('/readyz');
    expect(readiness.status).toBe(503);
    expect(JSON.parse(readiness.body)).toEqual({
      type: 'about:blank',
      title: 'Not available now',
      status: 503,
      detail: 'ephd is not ready yet',
      code: 'api.starting',
      hint: 'Ask again soon.',
      requestId: expect.any(String),
    });
    await eventually('the gateway finds it again', async () => (await harness.visit(name)).status === 200);
    expect(harness.services().map((one) => one.pid)).toEqual(before);

    await harness.repository.unhide();
    expect(await harness.untilReady('preview/one', commit, 60)).toMatchObject({ name, createdAt });
    await eventually('health is well again', async () => (await faultsOf(harness)) === '{}');
    expect(harness.services().map((one) => one.pid)).toEqual(before);
  });

  it('makes eph call no environment gone that ephd does not know of after a restart', async () => {
    await using harness = await EphdHarness.create();
    const ephd = await harness.start();
    // Nothing runs for it, so only its repository says that there is an environment.
    const waiting = app({ web: { command: run('answer.mjs'), env: { API: 'news-preview-one::outputs/web/url' } } });
    await harness.repository.push('preview/one', waiting);
    const { id } = await harness.until('preview/one', 'waiting', (one) => one.summary.includes('news-preview-one'));
    let printed = '';
    const session = runEph(harness, ['up', 'preview/one', '--wait', '--timeout', '5m'], (out) => {
      printed = out;
      return false;
    });
    await eventually('eph waits', () => printed.includes('news-preview-one'));

    await ephd.kill();
    await harness.repository.hide();
    await harness.start();
    const answer = await eventually('ephd answers', () => harness.api(`/api/v1/environments/${id}`));
    expect([answer.status, answer.headers['retry-after'], JSON.parse(answer.body)]).toMatchObject([
      503,
      '1',
      { code: 'api.starting' },
    ]);
    // Meanwhile the other eph asks, too.
    for (const name of [id, 'shop-none', id])
      expect(await runEph(harness, ['status', name])).toMatchObject({
        code: 4,
        err: expect.stringContaining('not read everything yet'),
      });

    await harness.repository.unhide();
    const commit = await harness.repository.push('preview/one', app());
    const { url } = await harness.untilReady('preview/one', commit, 60);
    const { code, out, err } = await session;
    expect({ code, err }).toMatchObject({ code: 0, err: expect.stringContaining('Still trying.') });
    expect(out.endsWith(`${url}\n`)).toBe(true);
    expect(await runEph(harness, ['status', 'shop-none'])).toMatchObject({ code: 3 });
  }, 120_000);

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
