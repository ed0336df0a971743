import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { app, twoServices } from './sample-app.ts';

describe('the lifecycle of an environment', () => {
  it('begins with its branch, follows it without a failed request, and ends with it', async () => {
    await using harness = await EphdHarness.create();
    await harness.start();

    const first = await harness.repository.push('preview/one', app(twoServices));
    const environment = await harness.untilReady('preview/one', first);
    expect(environment.name).toMatch(/^shop-[a-z]+-[a-z]+-\d{4}$/);
    const answer = await harness.visit(environment.name, { path: '/forwarded' });
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body)).toMatchObject({ commit: first, ref: 'preview/one', api: { commit: first } });
    expect(harness.services()).toHaveLength(2);

    const stopAsking = askAllTheTime(harness, environment.name);
    const second = await harness.repository.push('preview/one', app(twoServices));
    await harness.untilReady('preview/one', second);
    await eventually('the first version has ended', () =>
      harness.services().every((one) => one.variables['EPH_COMMIT'] === second),
    );
    const answers = await stopAsking();
    expect(answers.filter((one) => one.status !== 200)).toEqual([]);
    const commits = answers.map((one) => (JSON.parse(one.body) as { commit: string }).commit);
    expect(new Set(commits)).toEqual(new Set([first, second]));
    expect(commits.at(-1)).toBe(second);
    expect((await harness.environment(environment.id)).name).toBe(environment.name);

    await harness.repository.delete('preview/one');
    await harness.untilGone('preview/one');
    expect(harness.services()).toEqual([]);
    expect(readdirSync(join(harness.dataFolder, 'process'))).not.toContain(environment.id);
    expect((await harness.visit(environment.name)).status).toBe(404);
    expect((await harness.visit('shop-preview-one')).status).toBe(404);
  });

  it('also begins and ends with a push from a clone', async () => {
    await using harness = await EphdHarness.create();
    await harness.start();
    const commit = await harness.repository.push('main', app());
    const clone = join(harness.folder, 'clone');
    await harness.repository.git(['clone', '--quiet', harness.repository.path, clone]);
    const push = (...refs: string[]): Promise<string> =>
      harness.repository.git(['-C', clone, `--git-dir=${clone}/.git`, 'push', '--quiet', 'origin', ...refs]);
    await push('HEAD:refs/heads/preview/pushed');
    const { name } = await harness.untilReady('preview/pushed', commit);
    expect((await harness.visit(name)).status).toBe(200);
    await push(':refs/heads/preview/pushed');
    await harness.untilGone('preview/pushed');
    expect(harness.services()).toEqual([]);
    expect(existsSync(join(harness.dataFolder, 'process'))).toBe(true);
  });
});

/** Starts four clients that send requests without pause; the returned function stops them and returns every answer. */
const askAllTheTime = (harness: EphdHarness, name: string): (() => Promise<Awaited<ReturnType<EphdHarness['visit']>>[]>) => {
  let stopping = false;
  const client = async (): Promise<Awaited<ReturnType<EphdHarness['visit']>>[]> => {
    const answers = [];
    while (!stopping) answers.push(await harness.visit(name));
    return answers;
  };
  const clients = Promise.all(Array.from({ length: 4 }, client));
  return async () => {
    stopping = true;
    return (await clients).flat();
  };
};
