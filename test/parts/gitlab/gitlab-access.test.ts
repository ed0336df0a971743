import { Gitlab } from '@gitbeaker/rest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GitlabEmulator } from './gitlab-emulator.ts';

let gitlab: GitlabEmulator;

beforeAll(async () => {
  gitlab = await GitlabEmulator.start();
  const alice = gitlab.person('alice');
  await alice.createProject('acme/web/shop', { files: { a: '1' } });
  await alice.createProject('acme/web/deep/er/api', { files: { a: '1' } });
  await alice.createProject('acme/site', { visibility: 'public', files: { a: '1' } });
  await alice.push('acme/web/shop', 'topic', { a: '2' });
  await alice.openMergeRequest('acme/web/shop', { source: 'topic' });
});
afterAll(async () => {
  await gitlab[Symbol.asyncDispose]();
});

const clientOf = (token: string) => new Gitlab({ host: gitlab.url, token });
const ask = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
  const response = await fetch(`${gitlab.url}/api/v4${path}`, { method, headers, redirect: 'manual' });
  return { status: response.status, location: response.headers.get('location'), body: await response.text() };
};

describe('tokens', () => {
  it('are read from both headers and belong to a user or a bot', async () => {
    const token = gitlab.personalToken(gitlab.person('alice'));
    expect(await clientOf(token).Users.showCurrentUser()).toMatchObject({ username: 'alice', bot: false });
    const bearer = new Gitlab({ host: gitlab.url, oauthToken: gitlab.groupToken('acme/web') });
    expect(await bearer.Users.showCurrentUser()).toMatchObject({
      username: expect.stringMatching(/^group_\d+_bot_/u),
      bot: true,
    });
  });

  it('are refused when missing, unknown, revoked, expired or insufficient, each with its own message', async () => {
    const revoked = gitlab.projectToken('acme/web/shop');
    gitlab.revoke(revoked);
    const expired = gitlab.projectToken('acme/web/shop', 'developer', { expiresAt: Date.now() - 1000 });
    const reading = gitlab.projectToken('acme/web/shop', 'developer', { scopes: ['read_api'] });
    expect(await ask('/user')).toMatchObject({ status: 401, body: '{"message":"401 Unauthorized"}' });
    expect(await ask('/user', { 'private-token': 'glpat-nonsense' })).toMatchObject({
      status: 401,
      body: '{"message":"401 Unauthorized"}',
    });
    expect(await ask('/user', { 'private-token': revoked })).toMatchObject({
      status: 401,
      body: expect.stringContaining('Token was revoked'),
    });
    expect(await ask('/user', { authorization: `Bearer ${expired}` })).toMatchObject({
      status: 401,
      body: expect.stringContaining('Token is expired'),
    });
    expect(await ask('/projects/acme%2Fweb%2Fshop', { 'private-token': reading })).toMatchObject({ status: 200 });
    await expect(clientOf(reading).MergeRequests.edit('acme/web/shop', 1, { title: 'x' })).rejects.toThrow('insufficient_scope');
  });

  it('of a project see that project, of a group all below it', async () => {
    const ofProject = clientOf(gitlab.projectToken('acme/web/shop'));
    const ofGroup = clientOf(gitlab.groupToken('acme/web', 'maintainer'));
    const paths = (projects: readonly { path_with_namespace: string }[]) =>
      projects.map((project) => project.path_with_namespace).toSorted();

    expect(paths(await ofProject.Groups.allProjects('acme/web', { includeSubgroups: true }))).toEqual(['acme/web/shop']);
    expect(paths(await ofGroup.Groups.allProjects('acme/web', { includeSubgroups: true }))).toEqual([
      'acme/web/deep/er/api',
      'acme/web/shop',
    ]);
    expect(paths(await ofGroup.Groups.allProjects('acme/web'))).toEqual(['acme/web/shop']);
    expect(await ofGroup.MergeRequests.all({ groupId: 'acme/web' })).toMatchObject([
      { references: { relative: 'acme/web/shop!1' } },
    ]);
    await expect(ofProject.Projects.show('acme/web/deep/er/api')).rejects.toThrow('404 Project Not Found');
  });
});

describe('roles', () => {
  it('are inherited from the groups above; the highest counts', async () => {
    const [alice, bob] = [gitlab.person('alice'), gitlab.person('bob')];
    const client = clientOf(gitlab.projectToken('acme/web/shop'));
    const level = async () =>
      (await client.ProjectMembers.show('acme/web/shop', bob.user.id, { includeInherited: true })).access_level;
    await expect(level()).rejects.toThrow('404 Not found');
    alice.invite('acme', bob, 'reporter');
    expect(await level()).toBe(20);
    alice.invite('acme/web/shop', bob, 'developer');
    expect(await level()).toBe(30);
    alice.expel('acme/web/shop', bob);
    expect(await level()).toBe(20);
    alice.expel('acme', bob);
  });

  it('limit what a user may do; labels of an author without one are silently ignored', async () => {
    const stranger = gitlab.person('stranger');
    await stranger.fork('acme/site', 'stranger/site');
    await stranger.push('stranger/site', 'idea', { a: '2' });
    const at = await stranger.openMergeRequest('acme/site', { source: 'idea', from: 'stranger/site' });
    const client = clientOf(gitlab.personalToken(stranger));
    await client.MergeRequests.edit('acme/site', at.iid, { addLabels: 'preview', title: 'Better' });
    expect(gitlab.read.mergeRequest(at)).toMatchObject({ title: 'Better', labels: [] });
    await expect(client.Environments.create('acme/site', 'x')).rejects.toThrow('403 Forbidden');
  });
});

describe('hidden projects', () => {
  it('give 404 to non-members and anonymous clients', async () => {
    const stranger = { 'private-token': gitlab.personalToken(gitlab.person('stranger')) };
    const id = gitlab.read.project('acme/web/shop').id;
    for (const path of [
      `/projects/${id}`,
      '/projects/acme%2Fweb%2Fshop',
      '/projects/acme%2Fweb%2Fshop/merge_requests',
      '/projects/no%2Fwhere',
    ]) {
      expect(await ask(path, stranger), path).toMatchObject({ status: 404, body: '{"message":"404 Project Not Found"}' });
      expect(await ask(path), path).toMatchObject({ status: 404 });
    }
    expect(await ask('/projects/acme%2Fsite')).toMatchObject({ status: 200 });
    expect(await ask('/groups/acme%2Fweb/projects', stranger)).toMatchObject({
      status: 404,
      body: '{"message":"404 Group Not Found"}',
    });
  });
});

describe('projects that move', () => {
  it('redirect reads by their former path to their id and refuse writes', async () => {
    const alice = gitlab.person('alice');
    const id = await alice.createProject('acme/old', { files: { a: '1' } });
    const token = { 'private-token': gitlab.groupToken('acme') };
    alice.renameProject('acme/old', 'acme/web/new');
    expect(await ask('/projects/acme%2Fold/merge_requests?state=opened', token)).toMatchObject({
      status: 301,
      location: `${gitlab.url}/api/v4/projects/${id}/merge_requests?state=opened`,
    });
    expect(await clientOf(token['private-token']).Projects.show('acme/old')).toMatchObject({
      id,
      path_with_namespace: 'acme/web/new',
    });
    expect(await ask('/projects/acme%2Fold/environments?name=x', token, 'POST')).toMatchObject({ status: 405 });
    alice.deleteProject('acme/web/new');
    expect(await ask('/projects/acme%2Fold', token)).toMatchObject({ status: 404 });
  });

  it('are hidden when made private, and stay readable while their deletion is pending', async () => {
    const alice = gitlab.person('alice');
    await alice.createProject('acme/going', { visibility: 'public', files: { a: '1' } });
    alice.setVisibility('acme/going', 'private');
    expect(await ask('/projects/acme%2Fgoing')).toMatchObject({ status: 404 });
    alice.scheduleDeletion('acme/going');
    const client = clientOf(gitlab.groupToken('acme'));
    expect(await client.Projects.show('acme/going')).toMatchObject({
      archived: true,
      marked_for_deletion_on: expect.stringMatching(/^\d{4}-/u),
    });
  });
});
