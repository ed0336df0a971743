import { join } from 'node:path';
import { projectId, silentLog } from '@eph/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { GitlabEmulator } from '../../../test/parts/gitlab/gitlab-emulator.ts';
import { shippedComments } from '../forge-http/comments.fake.ts';
import type { SharedChanges } from '../forge-http/shared-changes.ts';
import { createFolder, createGitlabHarness, path as shop, takeApiRequests } from './gitlab-harness.fake.ts';
import { createGitlabServer } from './gitlab-server.ts';

const { signal } = new AbortController();
const sha = 'b'.repeat(40);
const minute = 60_000;

/** So many projects in a group and in one below it, each with merge requests, and forges that share one look at the group. */
const createHarness = async (count: number, group = 'acme', skewMs = 0) => {
  let now = Date.parse('2026-03-02T12:00:00Z');
  const gitlab = await GitlabEmulator.start({ now: () => now + skewMs });
  onTestFinished(() => gitlab[Symbol.asyncDispose]());
  const alice = gitlab.person('alice');
  alice.createGroup('acme');
  alice.invite('acme', gitlab.person('bob'), 'developer');
  const paths = Array.from({ length: count }, (_, index) => `acme/${index % 2 === 0 ? '' : 'web/'}service-${index}`);
  for (const path of paths) {
    await alice.createProject(path);
    for (let made = 0; made < 2; made += 1) gitlab.addMergeRequest(path, { author: alice, sha });
  }
  const token = gitlab.groupToken('acme');
  const server = createGitlabServer({ baseUrl: gitlab.url, token, now: () => now, random: () => 0, log: silentLog });
  const shared = server.createSharedChanges(group);
  const folder = await createFolder();
  const connect = (location: string, index: number) => {
    const project = projectId(`service-${index}`);
    return server.connect({ ...shippedComments, project, location, folder: join(folder, project), shared });
  };
  const forges = paths.map((path, index) => connect(path, index).forge);
  now += 5 * minute;
  return {
    gitlab,
    alice,
    paths,
    forges,
    wait: (ms: number) => (now += ms),
    /** What a pass reads, and what it asks GitLab for. */
    async pass() {
      const asOf = now;
      takeApiRequests(gitlab);
      const readings = await Promise.all(forges.map((forge) => forge.sources(signal, asOf)));
      return { readings, requests: takeApiRequests(gitlab) };
    },
  };
};

describe('a pass over the projects of a group', () => {
  it('is one request when nothing changed, and gives the very same readings', async () => {
    const { pass, wait } = await createHarness(6);
    const first = await pass();
    expect(first.requests).toHaveLength(7);
    expect(first.readings.every(({ complete, items }) => complete && items.length === 2)).toBe(true);
    for (let count = 0; count < 5; count += 1) {
      wait(minute / 2);
      const { readings, requests } = await pass();
      expect(requests).toEqual([expect.stringMatching(/^GET \/groups\/acme\/merge_requests\?/)]);
      expect(readings.every((reading, index) => reading === first.readings[index])).toBe(true);
    }
  });

  it.each([0, 60 * minute, -60 * minute])('sees what happens to any of them, whatever the time is there: %d', async (skewMs) => {
    const { alice, paths, gitlab, pass, wait } = await createHarness(6, 'acme', skewMs);
    const at = { project: paths[3] ?? '', iid: 1 };
    const acts: readonly (() => unknown)[] = [
      () => alice.label(at, 'preview'),
      () => alice.unlabel(at, 'preview'),
      () => alice.rename(at, 'Another title'),
      () => alice.comment(at, '/deploy'),
      () => gitlab.person('bob').approve(at),
      () => alice.retarget(at, 'next'),
      () => alice.close(at),
      () => alice.reopen(at),
      () => gitlab.addMergeRequest(at.project, { author: alice, sha }),
    ];
    let before = (await pass()).readings;
    for (const act of acts) {
      wait(minute / 2);
      act();
      const { readings, requests } = await pass();
      expect(readings.flatMap((reading, index) => (reading.mark === before[index]?.mark ? [] : [index]))).toEqual([3]);
      expect(requests).toHaveLength(2);
      before = readings;
    }
  });

  it('reads everything afresh for whoever does not say as of when, and everything after ten minutes', async () => {
    const { gitlab, forges, pass, wait } = await createHarness(4);
    await pass();
    takeApiRequests(gitlab);
    for (const forge of forges) await forge.sources(signal);
    expect(takeApiRequests(gitlab)).toHaveLength(4);
    wait(11 * minute);
    expect((await pass()).requests).toHaveLength(5);
  });

  it('reads every project when the query fails, and the next query finds what it missed', async () => {
    const { gitlab, alice, paths, pass, wait } = await createHarness(4);
    await pass();
    alice.label({ project: paths[1] ?? '', iid: 2 }, 'preview');
    for (const failure of [{ kind: 'status', status: 502 }, { kind: 'reset' }, { kind: 'truncated', ending: 'clean' }] as const) {
      wait(minute / 2);
      const undo = gitlab.failures.add({ failure, match: { operation: 'GET /groups/:id/merge_requests' } });
      const { readings, requests } = await pass();
      undo();
      expect(requests).toHaveLength(5);
      expect(readings.map(({ complete }) => complete)).toEqual([true, true, true, true]);
      expect(readings[1]?.items.some(({ pull }) => pull?.labels.includes('preview'))).toBe(true);
    }
    wait(minute / 2);
    expect((await pass()).requests).toHaveLength(2);
    wait(2 * minute);
    await pass();
    wait(minute / 2);
    expect((await pass()).requests).toHaveLength(1);
  });

  it.each(['alice', 'other'])(
    'reads every project where there is no group %s to look at, and asks for it once',
    async (group) => {
      const { pass, wait } = await createHarness(4, group);
      expect((await pass()).requests).toHaveLength(5);
      wait(minute);
      expect((await pass()).requests).toHaveLength(4);
    },
  );

  it('reads a moved project, which the query lists under another path', async () => {
    const { alice, paths, pass, wait } = await createHarness(4);
    alice.renameProject(paths[0] ?? '', 'acme/renamed');
    await pass();
    wait(minute / 2);
    alice.label({ project: 'acme/renamed', iid: 1 }, 'preview');
    const { readings } = await pass();
    expect(readings[0]?.items.some(({ pull }) => pull?.labels.includes('preview'))).toBe(true);
  });

  it('is incomplete, and nothing is thrown, when it is stopped', async () => {
    const { gitlab, forges, wait } = await createHarness(1);
    gitlab.failures.add({ failure: { kind: 'no-answer' } });
    const stopping = new AbortController();
    const reading = forges[0]?.sources(stopping.signal, wait(0));
    await expect.poll(() => gitlab.requests.total.requests).toBeGreaterThan(0);
    stopping.abort();
    expect(await reading).toMatchObject({ complete: false, faults: [{}, { code: 'forge.incomplete' }] });
  });
});

describe('a merge request whose branch moved', () => {
  it('is read, also if its date stayed as it was', async () => {
    const unchanged: SharedChanges = { isUnchanged: async () => true };
    await using harness = await createGitlabHarness({ shared: unchanged });
    const { alice, forge, gitlab } = harness;
    await alice.push(shop, 'feature', { 'a.txt': 'a' });
    await alice.openMergeRequest(shop, { source: 'feature' });
    await forge.sources(signal, Date.now());
    takeApiRequests(gitlab);
    await forge.sources(signal, Date.now());
    expect(takeApiRequests(gitlab)).toEqual([]);
    const commit = await alice.forcePush(shop, 'feature', { 'b.txt': 'b' });
    const { items } = await forge.sources(signal, Date.now());
    expect(items.find(({ ref }) => ref.kind === 'pr')?.commit).toBe(commit);
    expect(takeApiRequests(gitlab)).toHaveLength(1);
    await alice.deleteBranch(shop, 'feature');
    await forge.sources(signal, Date.now());
    expect(takeApiRequests(gitlab)).toEqual([]);
  });
});
