import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LoopbackServer } from '../emulation/loopback-server.ts';
import { GitlabEmulator } from './gitlab-emulator.ts';
import type { Person } from './person.ts';

const project = 'acme/web/shop';
const none = '0'.repeat(40);
const hooks: { readonly event: string | undefined; readonly payload: Record<string, unknown> }[] = [];
let gitlab: GitlabEmulator;
let receiver: LoopbackServer;
let alice: Person;
let folder: string;
let work: string;
let main: string;
let clones = 0;

beforeAll(async () => {
  gitlab = await GitlabEmulator.start();
  receiver = await LoopbackServer.start(({ headers, body }) => {
    hooks.push({ event: headers['x-gitlab-event'], payload: JSON.parse(body.toString()) as Record<string, unknown> });
    return Promise.resolve({ answer: { status: 200, headers: {}, body: Buffer.alloc(0) }, fault: undefined });
  });
  alice = gitlab.person('alice');
  await alice.createProject(project);
  main = await alice.push(project, 'main', { 'a.txt': 'one\n' });
  await alice.createProject('acme/site', { visibility: 'public', files: { 'a.txt': 'public\n' } });
  alice.addWebhook(project, receiver.url);
  folder = await mkdtemp(join(tmpdir(), 'eph-gitlab-git-'));
});
afterAll(async () => {
  await gitlab[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  await gitlab.webhooksSettled();
  hooks.length = 0;
  work = join(folder, String((clones += 1)));
});

/** Authenticates with a token only. */
const git = async (...args: readonly string[]): Promise<string> => {
  const env = { PATH: process.env['PATH'], HOME: folder, GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0' };
  const who = ['-c', 'user.name=alice', '-c', 'user.email=alice@example.com'];
  const { stdout } = await promisify(execFile)('git', [...who, ...args], { env, cwd: folder });
  return stdout.trim();
};
const inWork = (...args: readonly string[]): Promise<string> => git('-C', work, ...args);
const address = (token?: string, path = project): string =>
  `${token === undefined ? gitlab.url : gitlab.url.replace('://', `://oauth2:${token}@`)}/${path}.git`;
const commit = async (text: string): Promise<string> => {
  await writeFile(join(work, 'a.txt'), text);
  await inWork('commit', '--quiet', '--all', '--message', text);
  return inWork('rev-parse', 'HEAD');
};
const heads = async () => {
  await gitlab.webhooksSettled();
  return hooks.map(({ event, payload }) => [event, payload['ref'], payload['before'], payload['after']]);
};

describe('a push over HTTP', () => {
  it('updates branches and merge requests and triggers webhooks', async () => {
    await git('clone', '--quiet', address(gitlab.personalToken(alice)), work);
    await inWork('checkout', '--quiet', '-b', 'feature');
    const first = await commit('two');
    await inWork('push', '--quiet', 'origin', 'feature');
    const at = await alice.openMergeRequest(project, { source: 'feature' });
    const second = await commit('three');
    await inWork('push', '--quiet', 'origin', 'feature');

    expect(await gitlab.read.branches(project)).toEqual({ feature: second, main });
    expect(gitlab.read.mergeRequest(at).sha).toBe(second);
    await gitlab.webhooksSettled();
    expect(hooks.map(({ event }) => event)).toEqual(['Push Hook', 'Merge Request Hook', 'Push Hook', 'Merge Request Hook']);
    expect(hooks[2]?.payload).toMatchObject({
      before: first,
      after: second,
      user_username: 'alice',
      commits: [{ id: second, modified: ['a.txt'] }],
    });
    expect(hooks[3]?.payload).toMatchObject({ object_attributes: { oldrev: first, last_commit: { id: second } } });
  });

  it('may be forced, delete refs, and push tags and refs without webhooks', async () => {
    await git('clone', '--quiet', address(gitlab.personalToken(alice)), work);
    const first = await commit('a topic');
    await inWork('push', '--quiet', 'origin', 'HEAD:topic');
    await inWork('reset', '--quiet', '--hard', main);
    const other = await commit('another topic');
    await inWork('push', '--quiet', '--force', 'origin', 'HEAD:topic');
    await inWork('tag', 'v1');
    await inWork('push', '--quiet', 'origin', 'v1', 'HEAD:refs/notes/eph');
    await inWork('push', '--quiet', 'origin', ':topic', ':v1');
    expect(await heads()).toEqual([
      ['Push Hook', 'refs/heads/topic', none, first],
      ['Push Hook', 'refs/heads/topic', first, other],
      ['Tag Push Hook', 'refs/tags/v1', none, other],
      ['Push Hook', 'refs/heads/topic', other, none],
      ['Tag Push Hook', 'refs/tags/v1', other, none],
    ]);
    expect(await inWork('ls-remote', 'origin', 'refs/notes/eph', 'refs/heads/topic')).toBe(`${other}\trefs/notes/eph`);
  });

  it('is refused where GitLab refuses it, and moves no ref', async () => {
    const bob = gitlab.person('bob');
    alice.invite(project, bob, 'developer');
    await git('clone', '--quiet', address(gitlab.personalToken(bob)), work);
    await commit('past the review');
    await expect(inWork('push', 'origin', 'HEAD:main', 'HEAD:aside')).rejects.toThrow(
      /GitLab: You are not allowed to push code to protected branches/u,
    );
    await expect(inWork('push', address(gitlab.personalToken(alice)), ':main')).rejects.toThrow(
      /default branch of a project cannot be deleted/u,
    );
    await expect(inWork('push', 'origin', 'HEAD:refs/merge-requests/1/head')).rejects.toThrow(/hidden ref/u);
    expect(await gitlab.read.branches(project)).toMatchObject({ main });
    expect(await gitlab.read.branches(project)).not.toHaveProperty('aside');
    expect(await heads()).toEqual([]);
  });
});

describe('a fetch over HTTP', () => {
  it('serves any commit, also of merge requests from forks', async () => {
    const mallory = gitlab.person('mallory');
    alice.invite(project, mallory, 'reporter');
    await mallory.fork(project, 'mallory/shop');
    const sha = await mallory.push('mallory/shop', 'patch', { 'a.txt': 'forked\n' });
    const { iid } = await mallory.openMergeRequest(project, { source: 'patch', from: 'mallory/shop' });
    await git('init', '--quiet', work);
    const from = address(gitlab.projectToken(project, 'reporter', { scopes: ['read_repository'] }));
    await inWork('fetch', '--quiet', '--depth=1', '--filter=blob:none', from, sha);
    expect(await inWork('ls-remote', from, `refs/merge-requests/${iid}/head`)).toMatch(sha);
  });

  it('needs no token for a public project', async () => {
    await git('clone', '--quiet', address(undefined, 'acme/site'), work);
    expect(await readFile(join(work, 'a.txt'), 'utf8')).toBe('public\n');
  });

  it('is redirected if the project has moved', async () => {
    await alice.createProject('acme/old', { files: { 'a.txt': 'moved\n' } });
    alice.renameProject('acme/old', 'acme/new');
    await git('clone', '--quiet', address(gitlab.groupToken('acme'), 'acme/old'), work);
    expect(await readFile(join(work, 'a.txt'), 'utf8')).toBe('moved\n');
  });

  it('does not count against the API limit, and can fail', async () => {
    const token = gitlab.projectToken(project);
    gitlab.requests.clear();
    await git('ls-remote', address(token));
    expect(gitlab.requests.total).toMatchObject({ points: 0 });
    expect([...gitlab.requests.byOperation.keys()]).toEqual([
      'GET /:project.git/info/refs',
      'POST /:project.git/git-upload-pack',
    ]);
    const lift = gitlab.failures.add({ failure: { kind: 'status', status: 502 }, match: { path: /\.git\// } });
    await expect(git('ls-remote', address(token))).rejects.toThrow(/502/u);
    lift();
    await git('ls-remote', address(token));
  });
});

describe('access over HTTP', () => {
  const ask = async (path: string, service: string, token?: string) => {
    const authorization = `Basic ${Buffer.from(`anybody:${token}`).toString('base64')}`;
    const answer = await fetch(`${gitlab.url}/${path}.git/info/refs?service=${service}`, {
      headers: token === undefined ? {} : { authorization },
    });
    return [answer.status, answer.headers.get('www-authenticate'), (await answer.text()).split('\n')[0]];
  };
  const challenged = [401, 'Basic realm="GitLab"', 'HTTP Basic: Access denied'];
  const missing = [404, null, expect.stringContaining('could not be found')];

  it('needs a valid token for projects that are not public', async () => {
    const revoked = gitlab.projectToken(project);
    gitlab.revoke(revoked);
    const expired = gitlab.projectToken(project, 'developer', { expiresAt: Date.now() - 1000 });
    for (const token of [undefined, 'glpat-nonsense', revoked, expired]) {
      expect(await ask(project, 'git-upload-pack', token)).toEqual(challenged);
    }
    expect(await ask('no/where', 'git-upload-pack')).toEqual(challenged);
    expect(await ask('acme/site', 'git-receive-pack')).toEqual(challenged);
    expect(await ask('acme/site', 'git-upload-pack', 'glpat-nonsense')).toEqual(challenged);
  });

  it('does not reveal hidden projects', async () => {
    const stranger = gitlab.personalToken(gitlab.person('stranger'));
    for (const path of [project, 'no/where', String(gitlab.read.project('acme/site').id), '%ff/x']) {
      expect(await ask(path, 'git-upload-pack', stranger), path).toEqual(missing);
    }
    expect(await ask('acme/site', 'git-receive-pack', stranger)).toEqual([403, null, expect.stringContaining('push code')]);
  });

  it('depends on the role and on the scopes of the token', async () => {
    const status = async (service: string, token: string) => (await ask(project, service, token))[0];
    const both = async (token: string) => [await status('git-upload-pack', token), await status('git-receive-pack', token)];
    expect(await both(gitlab.projectToken(project, 'guest'))).toEqual([403, 403]);
    expect(await both(gitlab.projectToken(project, 'reporter'))).toEqual([200, 403]);
    expect(await both(gitlab.projectToken(project, 'developer'))).toEqual([200, 200]);
    for (const [scope, statuses] of [
      ['read_api', [403, 403]],
      ['read_repository', [200, 403]],
      ['write_repository', [200, 200]],
    ] as const) {
      expect(await both(gitlab.projectToken(project, 'developer', { scopes: [scope] })), scope).toEqual(statuses);
    }
  });
});
