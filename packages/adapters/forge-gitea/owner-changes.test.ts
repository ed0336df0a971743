import { silentLog } from '@eph/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { gitea } from '../../../test/parts/gitea.ts';
import type { GiteaRepository } from '../../../test/parts/gitea-repository.ts';
import { type GiteaFixture, GiteaHarness } from './gitea-harness.fake.ts';
import { GiteaProxy } from './gitea-proxy.fake.ts';
import { createGiteaServer } from './gitea-server.ts';

const { signal } = new AbortController();
const patience = { timeout: 60_000, interval: 100 };
const searches = expect.stringMatching(/^GET \/repos\/issues\/search\?/);

/** Three repositories with a pull request each, of which the first is private and has one from a fork as well. */
describeWith(gitea, 'a pass over the repositories of an organisation of Gitea', () => {
  let harness: GiteaHarness;
  let proxy: GiteaProxy;
  let fixtures: readonly [GiteaFixture, GiteaFixture, GiteaFixture];
  let shop: GiteaRepository;
  let fork: GiteaRepository;
  /** By our watch; Gitea has its own. */
  let now = Date.now();

  beforeAll(async () => {
    harness = await GiteaHarness.start();
    proxy = await GiteaProxy.start(harness.server.port);
    const clocked = { now: () => now, random: Math.random, log: silentLog };
    const shared = createGiteaServer({ ...clocked, baseUrl: proxy.url, token: harness.bot.token }).createSharedChanges(
      harness.owner,
    );
    const createFixture = () => harness.createFixture({ shared, now: () => now });
    fixtures = [await createFixture(), await createFixture(), await createFixture()];
    for (const { repository } of fixtures) {
      for (const label of ['preview', 'demo']) await repository.createLabel(label);
      await repository.pushFiles('topic', { 'a.txt': 'a' });
      await repository.openPullRequest('topic');
    }
    shop = fixtures[0].repository;
    await shop.createBranch('next');
    fork = await shop.as(harness.mallory).fork();
    await fork.pushFiles('foreign', { 'b.txt': 'b' });
    await shop.as(harness.mallory).openPullRequest(`${harness.mallory.name}:foreign`);
    await shop.send('PATCH', '', { private: true });
  }, 300_000);
  afterAll(async () => {
    for (const fixture of fixtures) await fixture[Symbol.asyncDispose]();
    await proxy[Symbol.asyncDispose]();
  });

  /** Which repositories were read, and what was asked for all of them. */
  const pass = async () => {
    now += 1;
    const asOf = now;
    for (const each of [proxy, ...fixtures.map((fixture) => fixture.proxy)]) each.takeApiRequests();
    const readings = await Promise.all(fixtures.map(({ forge }) => forge.sources(signal, asOf)));
    const read = fixtures.flatMap((fixture, index) => (fixture.proxy.takeApiRequests().length === 0 ? [] : [index]));
    return { readings, read, queries: proxy.takeApiRequests() };
  };

  const settle = async () => {
    for (const { repository } of fixtures) harness.setUpdated(repository, new Date(Date.now() - 3_600_000));
    await expect.poll(async () => (await pass()).read, patience).toEqual([]);
  };

  it('is one request when nothing changed, and gives equal readings', async () => {
    await settle();
    const { readings, read, queries } = await pass();
    expect({ read, queries }).toEqual({ read: [], queries: [searches] });
    const afresh = await Promise.all(fixtures.map(({ forge }) => forge.sources(signal)));
    expect(readings.map(({ complete, mark }) => ({ complete, mark }))).toEqual(
      afresh.map(({ mark }) => ({ complete: true, mark })),
    );
  });

  const acts: Readonly<Record<string, () => Promise<unknown>>> = {
    'adds a label': () => shop.addLabels(1, 'preview'),
    'takes a label away': () => shop.removeLabel(1, 'preview'),
    'sets labels': () => shop.setLabels(1, 'preview', 'demo'),
    'changes the title': () => shop.editPullRequest(1, { title: 'Another' }),
    'makes it a draft': () => shop.editPullRequest(1, { title: 'WIP: Another' }),
    'changes the base': () => shop.editPullRequest(1, { base: 'next' }),
    'writes a comment': () => shop.addComment(1, '/deploy'),
    'writes a review': () => shop.as(harness.bob).addReview(1, 'COMMENT', 'Why?'),
    approves: () => shop.as(harness.bob).addReview(1, 'APPROVED'),
    pushes: () => shop.pushFiles('topic', { 'a.txt': 'b' }),
    'pushes with force': () => shop.pushFiles('topic', { 'c.txt': 'c' }, { onto: 'main' }),
    'pushes to the fork': () => fork.pushFiles('foreign', { 'b.txt': 'c' }),
    closes: () => shop.closePullRequest(1),
    reopens: () => shop.reopenPullRequest(1),
    'opens another': () => shop.openPullRequest('topic', 'Again'),
  };
  it.each(Object.entries(acts))('reads the one repository where somebody %s', async (_act, act) => {
    await settle();
    await act();
    // Gitea follows a push a moment later.
    await expect.poll(async () => (await pass()).read, patience).toEqual([0]);
  });

  it('finds what moves no date when it reads everything, after ten minutes', async () => {
    await settle();
    const labelsOf = ({ readings }: Awaited<ReturnType<typeof pass>>) =>
      readings[0]?.items.find(({ ref }) => ref.kind === 'pr' && ref.name === '1')?.pull?.labels;
    const labels = await shop.send<readonly { readonly id: number; readonly name: string }[]>('GET', '/labels');
    const idOf = (name: string) => labels.find((label) => label.name === name)?.id;
    await shop.send('PATCH', `/labels/${idOf('preview')}`, { name: 'renamed' });
    await shop.send('DELETE', `/labels/${idOf('demo')}`);
    expect(labelsOf(await pass())).toEqual(['demo', 'preview']);
    now += 10 * 60_000;
    expect(labelsOf(await pass())).toEqual(['renamed']);
  });

  it('reads every repository when the query fails', async () => {
    await settle();
    for (const substitute of [
      { status: 502 },
      { status: 200, body: '[]' },
      { status: 200, headers: { 'x-total-count': '7' }, body: '[]' },
    ]) {
      proxy.substitute = () => substitute;
      expect((await pass()).read).toEqual([0, 1, 2]);
    }
    proxy.substitute = () => undefined;
    expect((await pass()).read).toEqual([]);
  });
});
