import { Gitlab } from '@gitbeaker/rest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GitlabEmulator } from './gitlab-emulator.ts';

const project = 'acme/web/shop';
let gitlab: GitlabEmulator;

beforeAll(async () => {
  gitlab = await GitlabEmulator.start();
  await gitlab.person('alice').createProject(project, { files: { 'eph.yaml': 'version: 1\n', 'src/app.ts': 'export {};\n' } });
});
afterAll(async () => {
  await gitlab[Symbol.asyncDispose]();
});

const clientOf = (token: string) => new Gitlab({ host: gitlab.url, token });
let branchCount = 0;
const openedBy = async (username: string, wanted: { readonly labels?: readonly string[]; readonly draft?: boolean } = {}) => {
  branchCount += 1;
  const person = gitlab.person(username);
  const branch = `feature/${branchCount}`;
  const sha = await person.push(project, branch, { 'src/app.ts': `export const n = ${branchCount};\n` });
  return { at: await person.openMergeRequest(project, { source: branch, ...wanted }), branch, sha };
};

describe('a merge request, seen through the client library', () => {
  it('is listed with labels, draft flag, head and base', async () => {
    const { at, branch, sha } = await openedBy('alice', { labels: ['preview', 'ui'], draft: true });
    const client = clientOf(gitlab.projectToken(project, 'developer'));

    const listed = await client.MergeRequests.all({ projectId: project, state: 'opened', labels: 'preview,ui' });
    expect(listed).toMatchObject([
      {
        iid: at.iid,
        state: 'opened',
        draft: true,
        title: `Draft: Merge ${branch}`,
        source_branch: branch,
        target_branch: 'main',
        labels: ['preview', 'ui'],
        sha,
        author: { username: 'alice' },
        references: { relative: `!${at.iid}`, full: `${project}!${at.iid}` },
      },
    ]);
    const { main } = await gitlab.read.branches(project);
    const one = await client.MergeRequests.show(project, at.iid);
    expect(one).toMatchObject({ changes_count: '1', diff_refs: { base_sha: main, head_sha: sha }, head_pipeline: null });
    expect(await client.MergeRequests.allDiffs(project, at.iid)).toMatchObject([{ new_path: 'src/app.ts', new_file: false }]);
  });

  it('has labels that are added and removed, with label events', async () => {
    const { at } = await openedBy('alice');
    const token = gitlab.projectToken(project, 'developer');
    const client = clientOf(token);
    await client.MergeRequests.edit(project, at.iid, { addLabels: 'preview,brand-new' });
    await client.MergeRequests.edit(project, at.iid, { removeLabels: 'preview' });
    gitlab.person('alice').label(at, 'preview');

    expect(gitlab.read.labels(at)).toEqual(['brand-new', 'preview']);
    const events = await client.MergeRequestLabelEvents.all(project, at.iid);
    expect(
      events.map(
        ({ action, label, user }) => `${action} ${label.name} ${user.id === gitlab.userOf(token) ? 'bot' : user.username}`,
      ),
    ).toEqual(['add preview bot', 'add brand-new bot', 'remove preview bot', 'add preview alice']);
  });

  it('goes through draft, ready, closed, reopened, retargeted, renamed and merged', async () => {
    const alice = gitlab.person('alice');
    const { at } = await openedBy('alice');
    const show = () => clientOf(gitlab.personalToken(alice)).MergeRequests.show(project, at.iid);
    alice.markDraft(at);
    expect(await show()).toMatchObject({ draft: true, work_in_progress: true, detailed_merge_status: 'draft_status' });
    alice.markReady(at);
    alice.close(at);
    expect(await show()).toMatchObject({ state: 'closed', closed_by: { username: 'alice' }, detailed_merge_status: 'not_open' });
    alice.reopen(at);
    await alice.push(project, 'release', { notes: '1' });
    alice.retarget(at, 'release');
    alice.rename(at, 'Ship *it* <now>');
    expect(await show()).toMatchObject({
      state: 'opened',
      draft: false,
      closed_at: null,
      target_branch: 'release',
      title: 'Ship *it* <now>',
    });
    await alice.merge(at);
    expect(await show()).toMatchObject({ state: 'merged', merge_user: { username: 'alice' } });
  });

  it('gets a new head with a push, which drops approvals; a deleted branch leaves it open', async () => {
    const { at, branch } = await openedBy('alice');
    const [alice, bob] = [gitlab.person('alice'), gitlab.person('bob')];
    alice.invite(project, bob, 'developer');
    const client = clientOf(gitlab.projectToken(project, 'developer'));
    const approvals = () => client.MergeRequestApprovals.showConfiguration(project, { mergerequestIId: at.iid });
    bob.approve(at);
    expect(await approvals()).toMatchObject({ approved: true, approved_by: [{ user: { username: 'bob' } }] });
    for (const person of [alice, bob]) expect(() => person.approve(at)).toThrow('401 Unauthorized');

    const next = await alice.forcePush(project, branch, { other: '1' });
    expect(await client.MergeRequests.show(project, at.iid)).toMatchObject({ sha: next });
    expect(await approvals()).toMatchObject({ approved: false });
    await alice.deleteBranch(project, branch);
    expect(await client.MergeRequests.show(project, at.iid)).toMatchObject({ state: 'opened', sha: next });
  });

  it('has a version for every head, newest first', async () => {
    const { at, branch, sha } = await openedBy('alice');
    const next = await gitlab.person('alice').forcePush(project, branch, { other: '1', more: '2' });
    const versions = await clientOf(gitlab.projectToken(project)).MergeRequests.allDiffVersions(project, at.iid);
    expect(versions).toMatchObject([
      { head_commit_sha: next, state: 'collected', real_size: '2', merge_request_id: gitlab.read.mergeRequest(at).id },
      { head_commit_sha: sha, state: 'collected', real_size: '1' },
    ]);
    const made = gitlab.addMergeRequest(project, { author: gitlab.person('alice'), sha });
    const client = clientOf(gitlab.projectToken(project));
    expect(await client.MergeRequests.allDiffVersions(project, made.iid)).toMatchObject([
      { head_commit_sha: sha, state: 'empty' },
    ]);
    await expect(client.MergeRequests.allDiffVersions(project, 999)).rejects.toThrow('404 Not found');
  });

  it('comes from a fork, and loses its source when the fork is deleted', async () => {
    const [alice, mallory] = [gitlab.person('alice'), gitlab.person('mallory')];
    alice.invite(project, mallory, 'reporter');
    const forkId = await mallory.fork(project, 'mallory/shop');
    const sha = await mallory.push('mallory/shop', 'evil', { 'eph.yaml': 'steal: secrets\n' });
    const at = await mallory.openMergeRequest(project, { source: 'evil', from: 'mallory/shop', labels: ['preview'] });

    const client = clientOf(gitlab.projectToken(project));
    const merge = await client.MergeRequests.show(project, at.iid);
    expect(merge).toMatchObject({ source_project_id: forkId, target_project_id: merge.project_id, sha, labels: ['preview'] });
    mallory.deleteProject('mallory/shop');
    expect(await client.MergeRequests.show(project, at.iid)).toMatchObject({ source_project_id: null, state: 'opened' });
  });
});

describe('a conversation, seen through the client library', () => {
  it('has notes that are created, edited, deleted and reacted to', async () => {
    const { at } = await openedBy('alice');
    const client = clientOf(gitlab.projectToken(project, 'developer'));
    const asked = gitlab.person('alice').comment(at, '/deploy');
    const note = await client.MergeRequestNotes.create(project, at.iid, '<!-- eph -->\nstarting');
    await client.MergeRequestNotes.edit(project, at.iid, note.id, { body: '<!-- eph -->\nready' });
    await client.MergeRequestNoteAwardEmojis.award(project, at.iid, asked, 'eyes');
    await expect(client.MergeRequestNoteAwardEmojis.award(project, at.iid, asked, 'eyes')).rejects.toThrow(
      'Name has already been taken',
    );
    await expect(client.MergeRequestNoteAwardEmojis.award(project, at.iid, asked, 'no-such-plant')).rejects.toThrow(
      'not a valid emoji name',
    );

    const notes = await client.MergeRequestNotes.all(project, at.iid, { sort: 'asc' });
    expect(notes.map(({ body, system }) => [body, system])).toEqual([
      ['/deploy', false],
      ['<!-- eph -->\nready', false],
    ]);
    expect(gitlab.read.reactions(at, asked)).toEqual([expect.stringMatching(/^project_\d+_bot_\w+ eyes$/u)]);
    await expect(client.MergeRequestNotes.edit(project, at.iid, asked, { body: 'mine now' })).rejects.toThrow('403 Forbidden');
    gitlab.person('alice').deleteComment(at, note.id);
    await expect(client.MergeRequestNotes.edit(project, at.iid, note.id, { body: 'x' })).rejects.toThrow('404 Not found');
    expect(gitlab.read.comments(at)).toMatchObject([{ author: 'alice', body: '/deploy' }]);
  });

  it('includes system notes', async () => {
    const { at, branch } = await openedBy('alice');
    await gitlab.person('alice').push(project, branch, { more: '1' });
    const notes = await clientOf(gitlab.projectToken(project)).MergeRequestNotes.all(project, at.iid);
    expect(notes).toMatchObject([{ system: true, author: { username: 'alice' } }]);
    expect(await clientOf(gitlab.projectToken(project)).MergeRequests.show(project, at.iid)).toMatchObject({
      user_notes_count: 0,
    });
  });
});

describe('checks and environments, seen through the client library', () => {
  it('sets statuses, which create a pipeline, and refuses the same state twice', async () => {
    const { at, branch, sha } = await openedBy('alice');
    const client = clientOf(gitlab.projectToken(project, 'developer'));
    const set = (state: 'pending' | 'running' | 'success' | 'failed') =>
      client.Commits.editStatus(project, sha, state, { name: 'eph', ref: branch, targetUrl: 'http://x/', description: state });
    await set('running');
    await expect(set('running')).rejects.toThrow('Cannot transition status via :run from :running');
    expect(await client.MergeRequests.show(project, at.iid)).toMatchObject({
      head_pipeline: { status: 'running', source: 'external' },
    });
    await set('success');
    await set('failed');

    expect((await client.Commits.allStatuses(project, sha)).map(({ name, status }) => `${name} ${status}`)).toEqual([
      'eph failed',
    ]);
    expect(gitlab.read.statuses(project, sha).map(({ status }) => status)).toEqual(['success', 'failed']);
  });

  it('refuses statuses of developers on the protected branch', async () => {
    const { main = '' } = await gitlab.read.branches(project);
    const status = (role: 'developer' | 'maintainer') =>
      clientOf(gitlab.projectToken(project, role)).Commits.editStatus(project, main, 'success', { ref: 'main' });
    await expect(status('developer')).rejects.toThrow('403 Forbidden');
    expect(await status('maintainer')).toMatchObject({ name: 'default', status: 'success' });
  });

  it('creates an environment, deploys to it, stops it and only then deletes it', async () => {
    const { branch, sha } = await openedBy('alice');
    const client = clientOf(gitlab.projectToken(project, 'developer'));
    const environment = await client.Environments.create(project, 'review/pr-1', { externalUrl: 'http://pr-1.localhost' });
    expect(environment).toMatchObject({
      slug: expect.stringMatching(/^review-pr-1-\w{6}$/u),
      state: 'available',
      tier: 'development',
    });
    await expect(client.Environments.create(project, 'review/pr-1')).rejects.toThrow('has already been taken');
    const deployment = await client.Deployments.create(project, 'review/pr-1', sha, branch, false, { status: 'success' });
    expect(await client.Deployments.all(project, { environment: 'review/pr-1' })).toMatchObject([{ id: deployment.id, sha }]);
    await client.Environments.edit(project, environment.id, { externalUrl: 'http://pr-1.example.com' });
    expect(await client.Environments.show(project, environment.id)).toMatchObject({
      external_url: 'http://pr-1.example.com',
      last_deployment: { id: deployment.id, sha, status: 'success' },
    });

    await expect(client.Environments.remove(project, environment.id)).rejects.toThrow('403 Forbidden');
    await client.Environments.stop(project, environment.id);
    expect(await client.Environments.all(project, { states: 'stopped' })).toMatchObject([{ id: environment.id }]);
    await client.Environments.remove(project, environment.id);
    expect([gitlab.read.environments(project), gitlab.read.deployments(project)]).toEqual([[], []]);
  });
});
