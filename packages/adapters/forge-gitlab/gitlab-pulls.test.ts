import { type CommitSha, commitSha, type SourceRef } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { connectGitlab, createGitlabHarness, type GitlabHarness, path, takeApiRequests } from './gitlab-harness.fake.ts';

const { signal } = new AbortController();
const ref: SourceRef = { kind: 'pr', name: '1' };
const at = { project: path, iid: 1 };

/** With one merge request. */
const open = async ({ alice }: GitlabHarness): Promise<CommitSha> => {
  const commit = commitSha(await alice.push(path, 'feature', { 'a.txt': 'a' }));
  await alice.openMergeRequest(path, { source: 'feature' });
  return commit;
};

/** Until it is taken back. */
const answerWith = ({ gitlab }: GitlabHarness, pattern: RegExp, body: unknown): (() => void) => {
  const headers = { 'content-type': 'application/json', 'x-next-page': '', 'x-total': '1' };
  return gitlab.failures.add({
    failure: { kind: 'status', status: 200, headers, body: JSON.stringify(body) },
    match: { path: pattern },
  });
};

describe('commands on merge requests', () => {
  it('cost one request where there are none', async () => {
    await using harness = await createGitlabHarness();
    await open(harness);
    harness.bob.comment(at, 'Looks good');
    takeApiRequests(harness.gitlab);
    expect(await harness.forge.pulls.commands(ref, signal)).toMatchObject({ complete: true, items: [] });
    expect(takeApiRequests(harness.gitlab)).toHaveLength(1);
  });

  it('belong to the head they were written for, also when that is forced away', async () => {
    await using harness = await createGitlabHarness();
    const { alice, bob, forge } = harness;
    const first = await open(harness);
    bob.comment(at, '/deploy');
    const second = commitSha(await alice.forcePush(path, 'feature', { 'b.txt': 'b' }));
    bob.comment(at, '/deploy again');
    const { items } = await forge.pulls.commands(ref, signal);
    expect(items.map(({ text, commit }) => [text, commit])).toEqual([
      ['/deploy', first],
      ['/deploy again', second],
    ]);
  });

  it('ask who may write now, in the project or in a group around it', async () => {
    await using harness = await createGitlabHarness();
    const { alice, gitlab, forge } = harness;
    await open(harness);
    const people = ['guest', 'reporter', 'developer', 'owner'] as const;
    for (const role of people) {
      alice.invite(role === 'owner' ? 'acme' : path, gitlab.person(role), role);
      gitlab.person(role).comment(at, `/deploy ${role}`);
    }
    const writers = async () =>
      (await forge.pulls.commands(ref, signal)).items.filter((one) => one.mayWrite).map((one) => one.author);
    expect(await writers()).toEqual(['developer', 'owner']);
    alice.expel(path, gitlab.person('developer'));
    expect(await writers()).toEqual(['owner']);
  });

  it.each([/\/notes/u, /\/versions/u])('are unknown when %s answers with nothing where there is something', async (empty) => {
    await using harness = await createGitlabHarness();
    await open(harness);
    harness.bob.comment(at, '/deploy');
    harness.gitlab.failures.add({ failure: { kind: 'empty-page' }, match: { path: empty } });
    expect(await harness.forge.pulls.commands(ref, signal)).toMatchObject({ complete: false, items: [] });
  });

  it('are unknown when it cannot be asked who wrote them', async () => {
    await using harness = await createGitlabHarness();
    await open(harness);
    harness.bob.comment(at, '/deploy');
    harness.gitlab.failures.add({ failure: { kind: 'status', status: 502 }, match: { path: /members/u } });
    expect(await harness.forge.pulls.commands(ref, signal)).toMatchObject({ complete: false, items: [] });
  });
});

describe('approvals of merge requests', () => {
  it('are not read: GitLab knows when somebody approved, and not what', async () => {
    await using harness = await createGitlabHarness();
    await open(harness);
    expect(harness.forge.pulls.approvals).toBeUndefined();
  });
});

describe('changed paths of merge requests', () => {
  const read = async ({ forge }: GitlabHarness, commit: CommitSha) =>
    await forge.pulls.changedPaths({ project: forge.project, ref, commit }, signal);

  it('name both ends of a renamed file', async () => {
    await using harness = await createGitlabHarness();
    const { alice } = harness;
    const commit = commitSha(await alice.push(path, 'feature', { 'README.md': null, 'docs/README.md': 'Read me.\n' }));
    await alice.openMergeRequest(path, { source: 'feature' });
    const { complete, items } = await read(harness, commit);
    expect([complete, items.toSorted()]).toEqual([true, ['README.md', 'docs/README.md']]);
  });

  it('are unknown when the merge request has moved on', async () => {
    await using harness = await createGitlabHarness();
    const commit = await open(harness);
    await harness.alice.push(path, 'feature', { 'b.txt': 'b' });
    expect(await read(harness, commit)).toMatchObject({
      complete: false,
      items: [],
      faults: [{ message: expect.stringMatching(/newer commit/) }],
    });
  });

  it('are unknown when there are more than GitLab lists', async () => {
    await using harness = await createGitlabHarness();
    const commit = await open(harness);
    for (const count of ['1000+', '2', null]) {
      const takeBack = answerWith(harness, /\/merge_requests\/1$/, { sha: commit, changes_count: count });
      expect(await read(harness, commit), String(count)).toMatchObject({ complete: false, items: [] });
      takeBack();
    }
  });
});

describe('checks of a commit', () => {
  it.each([
    ['created', 'pending'],
    ['waiting_for_resource', 'pending'],
    ['pending', 'pending'],
    ['running', 'pending'],
    ['manual', 'pending'],
    ['success', 'success'],
    ['failed', 'failure'],
    ['canceled', 'failure'],
    ['skipped', 'failure'],
    ['of the future', 'pending'],
  ])('%s is %s', async (status, state) => {
    await using harness = await createGitlabHarness();
    const rest = { ref: 'feature', description: 'in 3 s', target_url: null, author: null };
    answerWith(harness, /\/statuses/, [{ id: 1, name: 'build', status, ...rest }]);
    const { items } = await harness.forge.pulls.checks(commitSha('1'.repeat(40)), signal);
    expect(items).toEqual([{ name: 'build', state, text: 'in 3 s' }]);
  });
});

describe('labels of merge requests', () => {
  it('move no time when the list of their changes arrives empty', async () => {
    await using harness = await createGitlabHarness();
    await open(harness);
    harness.alice.label(at, 'preview');
    harness.gitlab.failures.add({ failure: { kind: 'empty-page' }, match: { path: /resource_label_events/u } });
    await expect(harness.forge.pulls.labelledAt(ref, 'preview', signal)).rejects.toMatchObject({ code: 'forge.incomplete' });
    expect(await harness.forge.pulls.labelledAt(ref, 'none', signal)).toBeUndefined();
  });

  it.each(['a,b', ' padded', '', 'x'.repeat(256), 'none'])('%j is none that GitLab would take as it is', async (label) => {
    await using harness = await createGitlabHarness();
    await open(harness);
    await expect(harness.forge.pulls.addLabel(ref, label, signal)).rejects.toMatchObject({ code: 'forge.refused' });
    await harness.forge.pulls.removeLabel(ref, label, signal);
    expect(harness.gitlab.read.labels(at)).toEqual([]);
  });

  it('are refused with an error where GitLab ignores them silently', async () => {
    await using harness = await createGitlabHarness();
    const { gitlab, alice, mallory } = harness;
    await mallory.fork(path, 'mallory/shop');
    await mallory.push('mallory/shop', 'feature', { 'a.txt': 'a' });
    await mallory.openMergeRequest(path, { source: 'feature', from: 'mallory/shop' });
    alice.label(at, 'kept');
    const asMallory = connectGitlab(gitlab.url, gitlab.personalToken(mallory));
    const refused = { code: 'forge.refused', message: expect.stringMatching(/role Developer/) };
    await expect(asMallory.forge.pulls.addLabel(ref, 'preview', signal)).rejects.toMatchObject(refused);
    await expect(asMallory.forge.pulls.removeLabel(ref, 'kept', signal)).rejects.toMatchObject(refused);
  });
});
