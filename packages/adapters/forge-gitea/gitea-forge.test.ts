import { type CommitSha, commitSha, type SourceRef, silentLog } from '@eph/contract';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { gitea } from '../../../test/parts/gitea.ts';
import { Origin } from '../forge-git/origin.fake.ts';
import { type FixtureOptions, type GiteaFixture, GiteaHarness } from './gitea-harness.fake.ts';
import { createGiteaServer } from './gitea-server.ts';

const { signal } = new AbortController();
const patience = { timeout: 60_000, interval: 50 };
const pr = (number: number | string): SourceRef => ({ kind: 'pr', name: String(number) });

describeWith(gitea, 'a repository of Gitea', () => {
  let harness: GiteaHarness;
  beforeAll(async () => {
    harness = await GiteaHarness.start();
  });

  const start = async (options: FixtureOptions = {}) => {
    const fixture = await harness.createFixture(options);
    onTestFinished(() => fixture[Symbol.asyncDispose]());
    return fixture;
  };

  const open = async ({ repository }: GiteaFixture, branch: string): Promise<{ number: number; commit: CommitSha }> => {
    const commit = commitSha(await repository.pushFiles(branch, { [`${branch}.txt`]: branch }));
    return { number: (await repository.openPullRequest(branch)).number, commit };
  };

  const pullsOf = async ({ forge }: GiteaFixture) => {
    const { items, complete, faults } = await forge.sources(signal);
    return { count: items.filter(({ ref }) => ref.kind === 'pr').length, complete, faults };
  };

  describe('with many pull requests', () => {
    let fixture: GiteaFixture;
    const total = 120;
    beforeAll(async () => {
      fixture = await harness.createFixture();
      await open(fixture, 'one');
      harness.multiplyFirstPull(fixture.repository, total);
    });
    afterAll(() => fixture[Symbol.asyncDispose]());

    it('is read page by page, and an unchanged pass costs no more than the pages', async () => {
      expect(await pullsOf(fixture)).toEqual({ count: total, complete: true, faults: [] });
      const readMark = async () => (await fixture.forge.sources(signal)).mark;
      await expect.poll(async () => (await readMark()) === (await readMark()), patience).toBe(true);
      fixture.proxy.takeApiRequests();
      await readMark();
      await readMark();
      const pages = [1, 2, 3].map((page) => expect.stringMatching(new RegExp(`^GET /repos/${harness.owner}/.*&page=${page}$`)));
      expect(fixture.proxy.takeApiRequests()).toEqual([...pages, ...pages]);
    });

    it('is seen over all pages by whoever looks at what changed in the whole organisation', async () => {
      let now = Date.now();
      const clocked = { now: () => now, random: Math.random, log: silentLog };
      const changes = createGiteaServer({ ...clocked, baseUrl: fixture.proxy.url, token: harness.bot.token }).createSharedChanges(
        harness.owner,
      );
      const readAt = now;
      const isUnchanged = (name: string) => changes.isUnchanged(`${harness.owner}/${name}`, readAt, now, signal);
      harness.setUpdated(fixture.repository, new Date(0));
      await isUnchanged('other');
      now += 1;
      harness.setUpdated(fixture.repository, new Date());
      fixture.proxy.takeApiRequests();
      expect([await isUnchanged('other'), await isUnchanged(fixture.repository.name)]).toEqual([true, false]);
      const pages = [1, 2, 3].map((page) => expect.stringMatching(new RegExp(`^GET /repos/issues/search.*&page=${page}$`)));
      expect(fixture.proxy.takeApiRequests()).toEqual(pages);
    });

    it.each([
      ['does not come', { status: 502, body: '<html>' }, { code: 'forge.unreachable' }],
      [
        'is half of one',
        { status: 200, headers: { 'x-total-count': String(total) }, body: '[{"number":1' },
        { code: 'forge.incomplete' },
      ],
      ['is empty', { status: 200, headers: { 'x-total-count': String(total) }, body: '[]' }, { code: 'forge.incomplete' }],
      ['does not say how many there are', { status: 200, body: '[]' }, { code: 'forge.incomplete' }],
      [
        'says that there are fewer',
        { status: 200, headers: { 'x-total-count': '50' }, body: '[]' },
        { code: 'forge.incomplete' },
      ],
      ['is not to be seen', { status: 404, body: '{}' }, { code: 'forge.unreachable' }],
      ['is refused', { status: 403, body: '{}' }, { code: 'forge.refused' }],
    ])('is incomplete when a page in the middle %s', async (_, substitute, fault) => {
      fixture.proxy.substitute = (line) => (line.includes('page=2') ? substitute : undefined);
      onTestFinished(() => void (fixture.proxy.substitute = () => undefined));
      expect(await pullsOf(fixture)).toMatchObject({
        count: expect.toSatisfy((count) => count >= 50),
        complete: false,
        faults: [fault],
      });
    });

    it('does not take an empty list for the truth when there were many', async () => {
      fixture.proxy.substitute = (line) =>
        line.includes('/pulls?') ? { status: 200, headers: { 'x-total-count': '0' }, body: '[]' } : undefined;
      onTestFinished(() => void (fixture.proxy.substitute = () => undefined));
      expect(await pullsOf(fixture)).toMatchObject({ count: 0, complete: false, faults: [{ code: 'forge.incomplete' }] });
    });
  });

  it('has no pull requests once the last ones are closed', async () => {
    const fixture = await start();
    const numbers = [await open(fixture, 'one'), await open(fixture, 'two'), await open(fixture, 'three')].map(
      ({ number }) => number,
    );
    expect(await pullsOf(fixture)).toMatchObject({ count: 3, complete: true });
    for (const number of numbers) await fixture.repository.closePullRequest(number);
    await expect.poll(() => pullsOf(fixture), patience).toEqual({ count: 0, complete: true, faults: [] });
  });

  it('has none where they are switched off', async () => {
    const fixture = await start();
    const { number } = await open(fixture, 'one');
    await fixture.repository.send('PATCH', '', { has_pull_requests: false });
    expect(await pullsOf(fixture)).toEqual({ count: 0, complete: true, faults: [] });
    expect(await fixture.forge.source(pr(number), signal)).toEqual({ state: 'gone' });
  });

  it('is the same under another name', async () => {
    const fixture = await start();
    const { number, commit } = await open(fixture, 'one');
    await fixture.repository.as(harness.bob).addComment(number, '/deploy');
    await fixture.repository.send('PATCH', '', { name: `${fixture.repository.name}-renamed` });
    expect(await pullsOf(fixture)).toMatchObject({ count: 1, complete: true });
    expect(await fixture.forge.source(pr(number), signal)).toMatchObject({ state: 'present', source: { commit } });
    expect(await fixture.forge.readFile(commit, 'one.txt', 100, signal)).toEqual(new TextEncoder().encode('one'));
    await fixture.forge.pulls.addLabel(pr(number), 'preview', signal);
    expect(await fixture.forge.source(pr(number), signal)).toMatchObject({ source: { pull: { labels: ['preview'] } } });
    expect((await fixture.forge.pulls.commands(pr(number), signal)).items).toMatchObject([
      { text: '/deploy', mayWrite: true, commit },
    ]);
  });

  const vanish = {
    'was deleted': ({ repository }: GiteaFixture) => repository.delete(),
    'was made private': async ({ repository }: GiteaFixture) => {
      await repository.send('PATCH', '', { private: true });
      await repository.send('DELETE', `/collaborators/${harness.bot.name}`);
    },
  };
  it.each(Object.entries(vanish))('is unknown, and nothing in it is gone, when it %s', async (_, disappear) => {
    const fixture = await start();
    const { number, commit } = await open(fixture, 'one');
    expect(await pullsOf(fixture)).toMatchObject({ count: 1, complete: true });
    await disappear(fixture);
    expect(await pullsOf(fixture)).toMatchObject({ complete: false });
    expect(await fixture.forge.source(pr(number), signal)).toMatchObject({
      state: 'unknown',
      fault: { code: 'forge.unreachable' },
    });
    expect(await fixture.forge.source(pr(999), signal)).toMatchObject({ state: 'unknown' });
    expect(await fixture.forge.source({ kind: 'branch', name: 'one' }, signal)).toMatchObject({ state: 'unknown' });
    const { pulls } = fixture.forge;
    const readings = [
      await pulls.checks(commit, signal),
      await pulls.commands(pr(number), signal),
      await pulls.approvals?.(pr(number), commit, signal),
    ];
    expect(readings.map((reading) => reading?.complete)).toEqual([false, false, false]);
  });

  it('says that a person must act when the token is revoked, and takes nothing for gone', async () => {
    const accounts = harness.server.api.as(harness.bot);
    const token = await accounts.createToken('brief', ['write:repository', 'write:issue', 'read:user']);
    const fixture = await start({ token });
    const { number, commit } = await open(fixture, 'one');
    expect(await pullsOf(fixture)).toMatchObject({ count: 1, complete: true });
    await accounts.deleteToken('brief');
    const reading = await fixture.forge.sources(signal);
    expect(reading.complete).toBe(false);
    expect(reading.faults.every(({ code, disposition }) => code === 'forge.refused' && disposition === 'stall')).toBe(true);
    const answers = [
      await fixture.forge.source(pr(number), signal),
      await fixture.forge.source({ kind: 'branch', name: 'one' }, signal),
      await fixture.forge.pulls.checks(commit, signal),
      await fixture.forge.pulls.commands(pr(number), signal),
    ];
    for (const answer of answers) expect(JSON.stringify(answer)).toContain('forge.refused');
    expect(JSON.stringify([reading, answers])).not.toContain(token);
    await expect(fixture.forge.pulls.addLabel(pr(number), 'preview', signal)).rejects.toMatchObject({ code: 'forge.refused' });
  });

  it('is left alone for as long as it asks for a pause', async () => {
    const fixture = await start();
    fixture.proxy.substitute = () => ({ status: 429, headers: { 'retry-after': '300' } });
    const ask = () => fixture.forge.source(pr(1), signal);
    expect(await ask()).toMatchObject({ state: 'unknown', fault: { code: 'forge.unreachable', retryAfterMs: 300_000 } });
    fixture.proxy.takeApiRequests();
    const answer = await ask();
    expect(answer).toMatchObject({ state: 'unknown', fault: { code: 'forge.unreachable' } });
    expect(answer.state === 'unknown' ? answer.fault.retryAfterMs : 0).toBeGreaterThan(290_000);
    expect(fixture.proxy.takeApiRequests()).toEqual([]);
  });

  it('treats a pull request that was pushed without write access as a fork', async () => {
    const fixture = await start();
    const { name, token } = harness.mallory;
    const address = fixture.repository.cloneUrl.replace('://', `://${name}:${token}@`);
    const copy = await Origin.create();
    onTestFinished(() => copy[Symbol.asyncDispose]());
    await copy.git('fetch', '--quiet', address, 'main:main');
    const commit = await copy.git('commit-tree', '-p', 'main', '-m', 'Please', 'main^{tree}');
    await copy.git('push', '--quiet', address, `${commit}:refs/for/main`, '-o', 'topic=sneak', '-o', 'title=Sneak');
    const { items, complete } = await fixture.forge.sources(signal);
    const pull = items.find(({ ref }) => ref.kind === 'pr');
    expect(complete).toBe(true);
    expect(pull?.pull).toMatchObject({ author: name, fork: expect.stringContaining(name) });
    expect(await fixture.forge.source(pull?.ref ?? pr(0), signal)).toEqual({ state: 'present', source: pull });
  });

  it('sees a pull request where its branch is, also when that moved while it was closed', async () => {
    const fixture = await start();
    const { number } = await open(fixture, 'one');
    await fixture.repository.closePullRequest(number);
    const commit = await fixture.repository.pushFiles('one', { 'b.txt': 'b' });
    await fixture.repository.reopenPullRequest(number);
    // Gitea moves the head of a reopened pull request a moment later.
    await expect.poll(() => fixture.forge.source(pr(number), signal)).toMatchObject({ state: 'present', source: { commit } });
    const answer = await fixture.forge.source(pr(number), signal);
    const { items } = await fixture.forge.sources(signal);
    expect(items.find(({ ref }) => ref.kind === 'pr')).toEqual(answer.state === 'present' ? answer.source : undefined);
  });

  it('says gone of a pull request that was deleted', async () => {
    const fixture = await start();
    const { number } = await open(fixture, 'one');
    await fixture.repository.send('DELETE', `/issues/${number}`);
    expect(await fixture.forge.source(pr(number), signal)).toEqual({ state: 'gone' });
    expect(await pullsOf(fixture)).toEqual({ count: 0, complete: true, faults: [] });
  });

  it('touches a pull request with every comment, also within a second', async () => {
    const fixture = await start();
    const { number } = await open(fixture, 'one');
    const touched = new Set<string | undefined>();
    for (let count = 0; count < 4; count += 1) {
      const answer = await fixture.forge.source(pr(number), signal);
      touched.add(answer.state === 'present' ? answer.source.pull?.touched : undefined);
      await fixture.repository.addComment(number, 'hello');
    }
    expect(touched.size).toBe(4);
  });

  it.each(['not an address', 'ftp://example.com', 'https://user:password@example.com'])('cannot be at %s', (baseUrl) => {
    expect(() => createGiteaServer({ baseUrl, token: 'x', log: silentLog, now: Date.now, random: Math.random })).toThrow(
      'is not the URL of a forge',
    );
  });
});
