import { type Source, sourceKey } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { GitlabEmulator } from '../../../test/parts/gitlab/gitlab-emulator.ts';
import {
  connectGitlab,
  createFolder,
  createGitlabHarness,
  type GitlabConnectOptions,
  path,
  takeApiRequests,
} from './gitlab-harness.fake.ts';

const { signal } = new AbortController();
const sha = 'b'.repeat(40);

/** GitLab with so many merge requests that nobody pushed anything for. */
const createHarness = async (count: number, options: GitlabConnectOptions = {}) => {
  const gitlab = await GitlabEmulator.start();
  const alice = gitlab.person('alice');
  await alice.createProject(path);
  for (let made = 0; made < count; made += 1) gitlab.addMergeRequest(path, { author: alice, sha, labels: ['preview'] });
  const token = gitlab.projectToken(path);
  const { forge } = connectGitlab(gitlab.url, token, { folder: await createFolder(), ...options });
  return { gitlab, alice, token, forge, at: (iid: number) => ({ project: path, iid }) };
};

/** Without Git, which is a process of its own after each failure. */
const api = { path: /^\/api\// };

const apiRequests = ({ requests }: GitlabEmulator) => requests.entries.filter(({ path: target }) => api.path.test(target));

const names = (items: readonly Source[]): readonly string[] => items.map(({ ref }) => sourceKey(ref));

describe('a pass over merge requests', () => {
  it('is one conditional request when nothing changed, and gives the very same reading', async () => {
    const { gitlab, forge } = await createHarness(250);
    await using _gitlab = gitlab;
    const first = await forge.sources(signal);
    expect([first.complete, first.items.length, apiRequests(gitlab).length]).toEqual([true, 250, 3]);
    gitlab.requests.clear();
    for (let pass = 0; pass < 5; pass += 1) expect(await forge.sources(signal)).toBe(first);
    expect(apiRequests(gitlab).map(({ status, conditional }) => ({ status, conditional }))).toEqual(
      Array.from({ length: 5 }, () => ({ status: 304, conditional: true })),
    );
  });

  it('notices what happens on any page', async () => {
    const { gitlab, alice, forge, at } = await createHarness(250);
    await using _gitlab = gitlab;
    const marks = new Set([(await forge.sources(signal)).mark]);
    const expectChange = async (act: () => unknown, count: number) => {
      const before = marks.size;
      act();
      const { complete, items, mark } = await forge.sources(signal);
      expect([complete, items.length]).toEqual([true, count]);
      expect(marks.add(mark).size).toBe(before + 1);
    };
    await expectChange(() => alice.close(at(1)), 249);
    await expectChange(() => alice.close(at(250)), 248);
    await expectChange(() => alice.label(at(2), 'demo'), 248);
    await expectChange(() => alice.comment(at(3), 'hello'), 248);
    await expectChange(() => alice.rename(at(120), 'Another title'), 248);
    await expectChange(() => alice.reopen(at(1)), 249);
    await expectChange(() => gitlab.addMergeRequest(path, { author: alice, sha }), 250);
  });

  it('reads all pages from time to time, even if the first is unchanged', async () => {
    let now = Date.now();
    const { gitlab, forge } = await createHarness(150, { now: () => now });
    await using _gitlab = gitlab;
    await forge.sources(signal);
    gitlab.requests.clear();
    now += 11 * 60_000;
    await forge.sources(signal);
    expect(apiRequests(gitlab).map(({ status }) => status)).toEqual([304, 304]);
  });

  it('is refused, not empty, once the token is revoked, and goes on with a new one', async () => {
    const { gitlab, token, forge } = await createHarness(3);
    await using _gitlab = gitlab;
    await forge.sources(signal);
    gitlab.revoke(token);
    expect(await forge.sources(signal)).toMatchObject({
      complete: false,
      faults: [{ code: 'forge.refused' }, { code: 'forge.refused' }],
    });
    const renewed = connectGitlab(gitlab.url, gitlab.projectToken(path));
    expect(await renewed.forge.sources(signal)).toMatchObject({ complete: true });
  });

  it('is doubtful when the project is deleted or closed to the token, and so is each of them', async () => {
    for (const act of ['deleteProject', 'setVisibility'] as const) {
      const { gitlab, alice } = await createHarness(3);
      await using _gitlab = gitlab;
      alice.setVisibility(path, 'public');
      const { forge } = connectGitlab(gitlab.url, gitlab.personalToken(gitlab.person('visitor')), {
        folder: await createFolder(),
      });
      expect((await forge.sources(signal)).items).toHaveLength(3);
      if (act === 'deleteProject') alice.deleteProject(path);
      else alice.setVisibility(path, 'private');
      expect(await forge.sources(signal)).toMatchObject({
        complete: false,
        faults: [{}, { message: expect.stringMatching(/may not see/) }],
      });
      expect(await forge.source({ kind: 'pr', name: '1' }, signal)).toMatchObject({ state: 'unknown' });
      expect(await forge.source({ kind: 'pr', name: '99' }, signal)).toMatchObject({ state: 'unknown' });
    }
  });

  it('reads a moved project; writes wait for its new path', async () => {
    const { gitlab, alice, forge } = await createHarness(3);
    await using _gitlab = gitlab;
    await forge.sources(signal);
    alice.renameProject(path, 'acme/store');
    const { complete, items } = await forge.sources(signal);
    expect([complete, items.length]).toEqual([true, 3]);
    expect(await forge.source({ kind: 'pr', name: '1' }, signal)).toMatchObject({ state: 'present' });
    await expect(forge.pulls.addLabel({ kind: 'pr', name: '1' }, 'demo', signal)).rejects.toMatchObject({
      code: 'forge.refused',
      message: expect.stringMatching(/new path/),
    });
  });

  it('waits for GitLab when it has asked for too much', async () => {
    const { gitlab, forge } = await createHarness(3);
    await using _gitlab = gitlab;
    gitlab.rateLimit.options = { limit: 2, periodSeconds: 3_600 };
    await forge.sources(signal);
    expect(forge.client.gate.budget()).toMatchObject({ remaining: 1 });
    await forge.sources(signal);
    gitlab.requests.clear();
    expect(await forge.sources(signal)).toMatchObject({ complete: false, faults: [{ code: 'forge.unreachable' }] });
    expect(apiRequests(gitlab)).toEqual([]);
  });

  it('destroys nothing in a storm of broken answers: what is complete is true', async () => {
    const { gitlab, forge } = await createHarness(150);
    await using _gitlab = gitlab;
    gitlab.failures.add({ match: api, failure: { kind: 'empty-page' }, probability: 0.1 });
    gitlab.failures.add({ match: api, failure: { kind: 'truncated', ending: 'clean' }, probability: 0.1 });
    gitlab.failures.add({ match: api, failure: { kind: 'truncated', ending: 'broken' }, probability: 0.05 });
    gitlab.failures.add({ match: api, failure: { kind: 'status', status: 404 }, probability: 0.05 });
    const readings = [];
    for (let pass = 0; pass < 60; pass += 1) readings.push(await forge.sources(signal));
    expect(readings.filter(({ complete, items }) => complete && items.length !== 150)).toEqual([]);
    expect(readings.filter(({ complete }) => complete).length).toBeGreaterThan(6);
  });
});

describe('a pass over everything', () => {
  it('adds branches and tags, which come by Git and cost nothing of what the API grants', async () => {
    await using harness = await createGitlabHarness();
    const { alice, gitlab, forge } = harness;
    await alice.push(path, 'feature', { 'a.txt': 'a' });
    await alice.tag(path, 'v1', 'main');
    await alice.openMergeRequest(path, { source: 'feature' });
    const first = await forge.sources(signal);
    expect([first.complete, names(first.items).toSorted()]).toEqual([true, ['branch:feature', 'branch:main', 'pr:1', 'tag:v1']]);
    takeApiRequests(gitlab);
    expect(await forge.sources(signal)).toBe(first);
    expect(takeApiRequests(gitlab)).toHaveLength(1);
  });
});

describe('a project that cannot be one', () => {
  it.each([
    [{ baseUrl: 'gitlab.com' }],
    [{ baseUrl: 'ftp://gitlab.com' }],
    [{ baseUrl: 'https://user:secret@gitlab.com' }],
    [{ location: 'shop' }],
    [{ location: '/acme/shop' }],
    [{ location: 'acme/../shop' }],
    [{ location: 'acme/shop?x' }],
    [{ location: 'acme//shop' }],
  ])('is refused at once: %o', (wrong) => {
    const { baseUrl = 'https://gitlab.com', ...changes }: { baseUrl?: string; location?: string } = wrong;
    expect(() => connectGitlab(baseUrl, 'x', changes)).toThrow(expect.objectContaining({ code: 'config.invalid' }));
  });
});
