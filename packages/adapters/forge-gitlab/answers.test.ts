import type { SourceRef } from '@eph/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Script, type ScriptedAnswer, ScriptedForge } from '../forge-http/scripted-forge.fake.ts';
import { gitlabAnswers } from './answers.ts';
import type { GitlabForge } from './gitlab-forge.ts';
import { createScriptedGitlab } from './scripted-gitlab.fake.ts';

const { signal } = new AbortController();
const merge: SourceRef = { kind: 'pr', name: '7' };
const sha = 'a'.repeat(40);

let server: ScriptedForge;
beforeAll(async () => {
  server = await ScriptedForge.start();
});
afterAll(() => server[Symbol.asyncDispose]());

const createForge = (script: Script): GitlabForge => {
  server.script = script;
  return createScriptedGitlab(server);
};

const mergeRequest = (iid: number, changes: object = {}) => ({
  iid,
  state: 'opened',
  title: 'A change',
  draft: false,
  author: { id: 1, username: 'alice' },
  labels: [],
  source_branch: `topic-${iid}`,
  target_branch: 'main',
  source_project_id: 5,
  target_project_id: 5,
  sha,
  web_url: `https://gitlab.example/acme/shop/-/merge_requests/${iid}`,
  updated_at: '2026-03-01T12:00:00.000Z',
  user_notes_count: 0,
  ...changes,
});

const page = (items: readonly unknown[], headers: Readonly<Record<string, string>> = {}): ScriptedAnswer => ({
  headers: { 'x-next-page': '', 'x-total': String(items.length), ...headers },
  body: items,
});

const isOpenList = ({ target }: { readonly target: string }): boolean => target.includes('state=opened');
const isProject = ({ target }: { readonly target: string }): boolean => target === '/api/v4/projects/acme%2Fshop';

/** Each line of the table, and what is made of the status: of the list, of one, and of a change. */
const rows: readonly (readonly [status: number, headers: Record<string, string>, code: string, says: RegExp])[] = [
  [302, { location: 'https://elsewhere.example/' }, 'forge.incomplete', /redirects/],
  [401, {}, 'forge.refused', /token is invalid/],
  [403, { 'retry-after': '60' }, 'forge.unreachable', /pause/],
  [403, {}, 'forge.refused', /scope api and the role Developer/],
  [404, {}, 'forge.unreachable', /does not exist, or Eph may not see it/],
  [405, {}, 'forge.refused', /new path/],
  [408, {}, 'forge.unreachable', /server error/],
  [409, {}, 'forge.unreachable', /conflicts/],
  [400, {}, 'forge.refused', /rejected the request/],
  [429, { 'retry-after': '60' }, 'forge.unreachable', /pause/],
  [500, {}, 'forge.unreachable', /server error/],
  [502, {}, 'forge.unreachable', /server error/],
  [599, {}, 'forge.unreachable', /server error/],
  [418, {}, 'forge.incomplete', /unexpected status 418/],
  [206, {}, 'forge.incomplete', /invalid answer/],
];

describe('what the statuses of GitLab mean', () => {
  it('has a test for each line of the table', () => {
    const covered = (status: number | readonly [number, number]) =>
      rows.some(([seen]) => (typeof status === 'number' ? seen === status : seen >= status[0] && seen <= status[1]));
    expect(gitlabAnswers.filter(({ status }) => !covered(status))).toEqual([]);
  });

  it.each(rows)('%i with %o is %s, never an absence', async (status, headers, code, says) => {
    const answer = { status, headers, body: '<html>request id 4711</html>' };
    const fault = { code, message: expect.stringMatching(says) };
    const listing = await createForge(() => answer).sources(signal);
    expect(listing).toMatchObject({ items: [], complete: false, faults: [fault] });
    expect(listing.faults[0]?.message).not.toMatch(/4711|glpat/);
    expect(await createForge(() => answer).source(merge, signal)).toMatchObject({ state: 'unknown', fault });
    await expect(createForge(() => answer).pulls.addLabel(merge, 'preview', signal)).rejects.toMatchObject(fault);
  });

  it('429 keeps later requests from being sent, for as long as GitLab asks', async () => {
    const forge = createForge(() => ({ status: 429, headers: { 'retry-after': '60' }, body: 'Retry later\n' }));
    await forge.sources(signal);
    const sent = server.requests.length;
    const { faults } = await forge.sources(signal);
    expect(server.requests).toHaveLength(sent);
    expect(faults[0]?.retryAfterMs).toBeGreaterThan(30_000);
  });
});

describe('an answer that looks like success', () => {
  const two = [mergeRequest(1), mergeRequest(2)];

  it.each<readonly [name: string, answer: ScriptedAnswer]>([
    ['comes from somebody else', { body: [] }],
    ['has another shape', page([{ iid: 'seven' }])],
    ['is no list', { headers: { 'x-next-page': '' }, body: { message: 'hello' } }],
    ['breaks off', { ...page(two), fault: 'truncated' }],
    ['never comes to an end', page(two, { 'x-next-page': '1' })],
    ['counts more than it lists', page(two, { 'x-total': '3' })],
    ['counts less than it lists', page(two, { 'x-total': '1' })],
    ['counts in words', page(two, { 'x-total': 'two' })],
    ['has a merge request without a commit', page([mergeRequest(1), mergeRequest(2, { sha: null })])],
  ])('is incomplete when it %s', async (_name, answer) => {
    const { complete, faults } = await createForge(() => answer).sources(signal);
    expect(complete).toBe(false);
    expect(faults).not.toEqual([]);
  });

  it('is incomplete when a later page is missing, empty or refused, and keeps what arrived', async () => {
    for (const second of [{ status: 502 }, page([], { 'x-total': '2' }), { fault: 'reset' as const }]) {
      const script: Script = ({ target }) =>
        target.endsWith('page=1') ? page(two.slice(0, 1), { 'x-next-page': '2', 'x-total': '2' }) : second;
      expect(await createForge(script).sources(signal)).toMatchObject({ complete: false, items: [{ ref: { name: '1' } }] });
    }
  });
});

describe('an empty list of open merge requests', () => {
  const closed = [1, 2, 3].map((iid) => mergeRequest(iid, { state: 'closed' }));
  const open = [1, 2, 3].map((iid) => mergeRequest(iid));

  it.each([
    ['after three, none of which is open any more', open, page(closed), true],
    ['after three that are open still', open, page(open), false],
    ['after three of which nobody has heard', open, page([]), false],
    ['after three when nobody can be asked', open, { status: 502 }, false],
    ['after two, without asking', open.slice(0, 2), { status: 502 }, true],
    ['as the first of all, with closed ones', undefined, page(closed), true],
    ['as the first of all, where there never was one', undefined, page([]), true],
    ['as the first of all, with open ones', undefined, page(open), false],
  ])('%s', async (_name, before, otherwise, complete) => {
    const pages = before === undefined ? [] : [page(before)];
    const forge = createForge((request) => (isOpenList(request) ? (pages.shift() ?? page([])) : otherwise));
    if (before !== undefined) await forge.sources(signal);
    expect(await forge.sources(signal)).toMatchObject({ items: [], complete });
    expect((await forge.sources(signal)).complete).toBe(complete);
  });
});

describe('one merge request', () => {
  it.each([
    ['that is not there, in a project that is', { status: 404 }, { body: { id: 5 } }, 'gone'],
    ['that is not there, in a project that is not there either', { status: 404 }, { status: 404 }, 'unknown'],
    ['that is not there, in a project that nobody can read', { status: 404 }, { status: 503 }, 'unknown'],
    ['that is closed', { body: mergeRequest(7, { state: 'closed' }) }, { status: 500 }, 'gone'],
    ['that is merged', { body: mergeRequest(7, { state: 'merged' }) }, { status: 500 }, 'gone'],
    ['that is being merged', { body: mergeRequest(7, { state: 'locked' }) }, { status: 500 }, 'present'],
    ['that is open', { body: mergeRequest(7) }, { status: 500 }, 'present'],
    ['whose commit is not known yet', { body: mergeRequest(7, { sha: null }) }, { status: 500 }, 'unknown'],
    ['that makes no sense', { body: { iid: 7 } }, { body: { id: 5 } }, 'unknown'],
  ])('%s', async (_name, one, project, state) => {
    const forge = createForge((request) => (isProject(request) ? project : one));
    expect((await forge.source(merge, signal)).state).toBe(state);
  });
});
