import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually } from './eventually.ts';
import { app, twoServices } from './sample-app.ts';
import { Site } from './site.ts';

describe('the life of an environment', () => {
  it('comes with its branch, follows it without a failed request, and goes with it', async () => {
    await using site = await Site.create();
    await site.start();

    const first = await site.repository.push('preview/one', app(twoServices));
    const environment = await site.untilReady('preview/one', first);
    expect(environment.name).toMatch(/^shop-[a-z]+-[a-z]+-\d{4}$/);
    const answer = await site.visit(environment.name, { path: '/forwarded' });
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body)).toMatchObject({ commit: first, ref: 'preview/one', api: { commit: first } });
    expect(site.services()).toHaveLength(2);

    const stopAsking = askAllTheTime(site, environment.name);
    const second = await site.repository.push('preview/one', app(twoServices));
    await site.untilReady('preview/one', second);
    await eventually('the first version has ended', () => site.services().every((one) => one.variables['EPH_COMMIT'] === second));
    const answers = await stopAsking();
    expect(answers.filter((one) => one.status !== 200)).toEqual([]);
    const commits = answers.map((one) => (JSON.parse(one.body) as { commit: string }).commit);
    expect(new Set(commits)).toEqual(new Set([first, second]));
    expect(commits.at(-1)).toBe(second);
    expect((await site.environment(environment.id)).name).toBe(environment.name);

    await site.repository.delete('preview/one');
    await site.untilGone('preview/one');
    expect(site.services()).toEqual([]);
    expect(readdirSync(join(site.dataFolder, 'process'))).not.toContain(environment.id);
    expect((await site.visit(environment.name)).status).toBe(404);
    expect((await site.visit('shop-preview-one')).status).toBe(404);
  });

  it('begins and ends with a push from a clone, too', async () => {
    await using site = await Site.create();
    await site.start();
    const commit = await site.repository.push('main', app());
    const clone = join(site.folder, 'clone');
    await site.repository.git(['clone', '--quiet', site.repository.path, clone]);
    const push = (...refs: string[]): Promise<string> =>
      site.repository.git(['-C', clone, `--git-dir=${clone}/.git`, 'push', '--quiet', 'origin', ...refs]);
    await push('HEAD:refs/heads/preview/pushed');
    const { name } = await site.untilReady('preview/pushed', commit);
    expect((await site.visit(name)).status).toBe(200);
    await push(':refs/heads/preview/pushed');
    await site.untilGone('preview/pushed');
    expect(site.services()).toEqual([]);
    expect(existsSync(join(site.dataFolder, 'process'))).toBe(true);
  });
});

/** Four clients that never pause; the function returned stops them and hands out every answer they got. */
const askAllTheTime = (site: Site, name: string): (() => Promise<Awaited<ReturnType<Site['visit']>>[]>) => {
  let stopping = false;
  const client = async (): Promise<Awaited<ReturnType<Site['visit']>>[]> => {
    const answers = [];
    while (!stopping) answers.push(await site.visit(name));
    return answers;
  };
  const clients = Promise.all(Array.from({ length: 4 }, client));
  return async () => {
    stopping = true;
    return (await clients).flat();
  };
};
