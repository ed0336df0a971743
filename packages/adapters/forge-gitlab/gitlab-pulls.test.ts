import { type CommitSha, commitSha, type SourceRef } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { createFixture, type GitlabFixture, path, takeApiRequests } from './gitlab-fixture.fake.ts';

const { signal } = new AbortController();
const ref: SourceRef = { kind: 'pr', name: '1' };
const at = { project: path, iid: 1 };

/** With one merge request. */
const open = async ({ alice }: GitlabFixture): Promise<CommitSha> => {
  const commit = commitSha(await alice.push(path, 'feature', { 'a.txt': 'a' }));
  await alice.openMergeRequest(path, { source: 'feature' });
  return commit;
};

/** Until it is taken back. */
const answerWith = ({ gitlab }: GitlabFixture, pattern: RegExp, body: unknown): (() => void) => {
  const headers = { 'content-type': 'application/json', 'x-next-page': '', 'x-total': '1' };
  return gitlab.failures.add({
    failure: { kind: 'status', status: 200, headers, body: JSON.stringify(body) },
    match: { path: pattern },
  });
};

describe('commands on merge requests', () => {
  it('cost one request where there are none', async () => {
    await using fixture = await createFixture();
    await open(fixture);
    fixture.bob.comment(at, 'Looks good');
    takeApiRequests(fixture.gitlab);
    expect(await fixture.forge.pulls.commands(ref, signal)).toMatchObject({ complete: true, items: [] });
    expect(takeApiRequests(fixture.gitlab)).toHaveLength(1);
  });

  it('belong to the head they were written for, also when that is forced away', async () => {
    await using fixture = await createFixture();
    const { alice, bob, forge } = fixture;
    const first = await open(fixture);
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
    await using fixture = await createFixture();
    const { alice, gitlab, forge } = fixture;
    await open(fixture);
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
    await using fixture = await createFixture();
    await open(fixture);
    fixture.bob.comment(at, '/deploy');
    fixture.gitlab.failures.add({ failure: { kind: 'empty-page' }, match: { path: empty } });
    expect(await fixture.forge.pulls.commands(ref, signal)).toMatchObject({ complete: false, items: [] });
  });

  it('are unknown when it cannot be asked who wrote them', async () => {
    await using fixture = await createFixture();
    await open(fixture);
    fixture.bob.comment(at, '/deploy');
    fixture.gitlab.failures.add({ failure: { kind: 'status', status: 502 }, match: { path: /members/u } });
    expect(await fixture.forge.pulls.commands(ref, signal)).toMatchObject({ complete: false, items: [] });
  });
});

describe('approvals of merge requests', () => {
  it('hold for the commit they were given to, also where GitLab keeps them after a push', async () => {
    await using fixture = await createFixture();
    const { alice, bob, forge } = fixture;
    const first = await open(fixture);
    const kept = { approved_by: [{ user: { id: bob.user.id, username: 'bob' }, approved_at: new Date().toISOString() }] };
    answerWith(fixture, /\/approvals$/, kept);
    expect((await forge.pulls.approvals(ref, first, signal)).items).toHaveLength(1);
    const second = commitSha(await alice.push(path, 'feature', { 'b.txt': 'b' }));
    expect(await forge.pulls.approvals(ref, second, signal)).toMatchObject({ complete: true, items: [] });
  });

  it('are unknown when the versions answer with nothing', async () => {
    await using fixture = await createFixture();
    const commit = await open(fixture);
    const given = {
      approved_by: [{ user: { id: fixture.bob.user.id, username: 'bob' }, approved_at: new Date().toISOString() }],
    };
    answerWith(fixture, /\/approvals$/, given);
    fixture.gitlab.failures.add({ failure: { kind: 'empty-page' }, match: { path: /\/versions/u } });
    expect(await fixture.forge.pulls.approvals(ref, commit, signal)).toMatchObject({ complete: false, items: [] });
  });

  it('are unknown where GitLab does not say when they were given', async () => {
    await using fixture = await createFixture();
    const commit = await open(fixture);
    answerWith(fixture, /\/approvals$/, { approved_by: [{ user: { id: 1, username: 'bob' } }] });
    expect(await fixture.forge.pulls.approvals(ref, commit, signal)).toMatchObject({ complete: false, items: [] });
  });
});

describe('changed paths of merge requests', () => {
  const read = async ({ forge }: GitlabFixture, commit: CommitSha) =>
    await forge.pulls.changedPaths({ project: forge.project, ref, commit }, signal);

  it('name both ends of a renamed file', async () => {
    await using fixture = await createFixture();
    const { alice } = fixture;
    const commit = commitSha(await alice.push(path, 'feature', { 'README.md': null, 'docs/README.md': 'Read me.\n' }));
    await alice.openMergeRequest(path, { source: 'feature' });
    const { complete, items } = await read(fixture, commit);
    expect([complete, items.toSorted()]).toEqual([true, ['README.md', 'docs/README.md']]);
  });

  it('are unknown when the merge request has moved on', async () => {
    await using fixture = await createFixture();
    const commit = await open(fixture);
    await fixture.alice.push(path, 'feature', { 'b.txt': 'b' });
    expect(await read(fixture, commit)).toMatchObject({
      complete: false,
      items: [],
      faults: [{ message: expect.stringMatching(/moved on/) }],
    });
  });

  it('are unknown when there are more than GitLab lists', async () => {
    await using fixture = await createFixture();
    const commit = await open(fixture);
    for (const count of ['1000+', '2', null]) {
      const takeBack = answerWith(fixture, /\/merge_requests\/1$/, { sha: commit, changes_count: count });
      expect(await read(fixture, commit), String(count)).toMatchObject({ complete: false, items: [] });
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
    await using fixture = await createFixture();
    const rest = { ref: 'feature', description: null, target_url: null, author: null };
    answerWith(fixture, /\/statuses/, [{ id: 1, name: 'build', status, ...rest }]);
    const { items } = await fixture.forge.pulls.checks(commitSha('1'.repeat(40)), signal);
    expect(items).toEqual([{ name: 'build', state }]);
  });
});

describe('labels of merge requests', () => {
  it('move no time when the list of their changes arrives empty', async () => {
    await using fixture = await createFixture();
    await open(fixture);
    fixture.alice.label(at, 'preview');
    fixture.gitlab.failures.add({ failure: { kind: 'empty-page' }, match: { path: /resource_label_events/u } });
    await expect(fixture.forge.pulls.labelledAt(ref, 'preview', signal)).rejects.toMatchObject({ code: 'forge.incomplete' });
    expect(await fixture.forge.pulls.labelledAt(ref, 'none', signal)).toBeUndefined();
  });

  it.each(['a,b', ' padded', '', 'x'.repeat(256), 'none'])('%j is none that GitLab would take as it is', async (label) => {
    await using fixture = await createFixture();
    await open(fixture);
    await expect(fixture.forge.pulls.addLabel(ref, label, signal)).rejects.toMatchObject({ code: 'forge.refused' });
    await fixture.forge.pulls.removeLabel(ref, label, signal);
    expect(fixture.gitlab.read.labels(at)).toEqual([]);
  });

  it('are refused aloud where GitLab passes them over in silence', async () => {
    await using fixture = await createFixture();
    const { gitlab, alice, mallory } = fixture;
    await mallory.fork(path, 'mallory/shop');
    await mallory.push('mallory/shop', 'feature', { 'a.txt': 'a' });
    await mallory.openMergeRequest(path, { source: 'feature', from: 'mallory/shop' });
    alice.label(at, 'kept');
    await using asMallory = await createFixture({ baseUrl: gitlab.url, token: gitlab.personalToken(mallory) });
    const refused = { code: 'forge.refused', message: expect.stringMatching(/role Developer/) };
    await expect(asMallory.forge.pulls.addLabel(ref, 'preview', signal)).rejects.toMatchObject(refused);
    await expect(asMallory.forge.pulls.removeLabel(ref, 'kept', signal)).rejects.toMatchObject(refused);
  });
});
