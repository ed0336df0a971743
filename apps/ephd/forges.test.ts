import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGitlabServer } from '@eph/adapters/forge-gitlab/gitlab-server';
import { projectId, silentLog } from '@eph/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { GitlabEmulator } from '../../test/parts/gitlab/gitlab-emulator.ts';
import { type ConfiguredForge, plainProject } from './config.ts';
import { Forges } from './forges.ts';

const { signal } = new AbortController();
const hour = 3_600_000;

/** A GitLab with these projects, unchanged for an hour, and ephd's forges for them. */
const start = async (...paths: readonly string[]) => {
  let ago = hour;
  const gitlab = await GitlabEmulator.start({ now: () => Date.now() - ago });
  const dataFolder = await mkdtemp(join(tmpdir(), 'eph-forges-'));
  const alice = gitlab.person('alice');
  for (const path of paths) {
    await alice.createProject(path, { files: { 'README.md': path } });
    await alice.push(path, 'topic', { 'a.txt': 'a' });
    await alice.openMergeRequest(path, { source: 'topic' });
  }
  ago = 0;
  const forge: ConfiguredForge = {
    name: 'work',
    type: 'gitlab',
    url: gitlab.url,
    createServer: (options) => createGitlabServer({ ...options, baseUrl: gitlab.url, token: gitlab.personalToken(alice) }),
    webhookSecret: undefined,
  };
  const projects = paths.map((path, index) => ({ ...plainProject(projectId(`p${index}`), path), forge }));
  const forges = new Forges({ dataFolder, environment: { PATH: process.env.PATH }, links: {}, log: silentLog });
  forges.add(projects);
  onTestFinished(async () => {
    await forges[Symbol.asyncDispose]();
    await gitlab[Symbol.asyncDispose]();
    await rm(dataFolder, { recursive: true, force: true });
  });

  /** How often what GitLab was asked for over its API, twice in a row. */
  return async (): Promise<readonly Readonly<Record<string, number>>[]> => {
    const passes: Record<string, number>[] = [];
    for (let pass = 0; pass < 2; pass += 1) {
      gitlab.requests.clear();
      // Later than the look of the pass before began.
      const before = Date.now();
      await expect.poll(() => Date.now(), { interval: 2 }).toBeGreaterThan(before);
      const asOf = Date.now();
      for (const { forge: each } of forges.all.values())
        expect(await each.sources(signal, asOf)).toMatchObject({ complete: true, items: { length: 3 } });
      const asked = gitlab.requests.entries.filter(({ path }) => path.startsWith('/api/'));
      const counts = Map.groupBy(asked, ({ path }) => decodeURIComponent(path).replace('/api/v4', '').replace(/\?.*/, ''));
      passes.push(Object.fromEntries([...counts].map(([path, requests]) => [path, requests.length])));
    }
    return passes;
  };
};

describe('passes over the projects of a forge', () => {
  it('read the projects of one group together, and the others one by one', async () => {
    const countTwice = await start('acme/web/shop', 'acme/web/news', 'other/shop');
    const others = { '/projects/other/shop/merge_requests': 1 };
    const look = { '/groups/acme/web/merge_requests': 1 };
    expect(await countTwice()).toEqual([
      { ...look, ...others, '/projects/acme/web/shop/merge_requests': 1, '/projects/acme/web/news/merge_requests': 1 },
      { ...look, ...others },
    ]);
  });
});
