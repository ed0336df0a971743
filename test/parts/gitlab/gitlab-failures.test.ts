import { Gitlab } from '@gitbeaker/rest';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Failures } from '../emulation/failures.ts';
import { RequestLog } from '../emulation/request-log.ts';
import { GitlabEmulator } from './gitlab-emulator.ts';
import { GitlabApi } from './http/api.ts';
import { endpoint } from './http/endpoint.ts';
import { GitHttp } from './http/git-http.ts';
import { RateLimit } from './http/rate-limit.ts';
import type { Token } from './state/access.ts';
import { GitlabState } from './state/state.ts';

const sha = 'b'.repeat(40);
const list = '/projects/acme%2Fshop/merge_requests?state=opened&per_page=2';

const withThreeMergeRequests = async (): Promise<{
  readonly gitlab: GitlabEmulator;
  readonly ask: (path: string, init?: RequestInit) => Promise<Response>;
}> => {
  const gitlab = await GitlabEmulator.start({ seed: 3 });
  const alice = gitlab.person('alice');
  await alice.createProject('acme/shop');
  for (const title of ['one', 'two', 'three']) gitlab.addMergeRequest('acme/shop', { author: alice, sha, title });
  const token = gitlab.projectToken('acme/shop');
  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${gitlab.url}/api/v4${path}`, { ...init, headers: { 'private-token': token, 'content-type': 'application/json' } });
  return { gitlab, ask };
};

describe('injected failures', () => {
  it('affect one page only', async () => {
    const { gitlab, ask } = await withThreeMergeRequests();
    await using _gitlab = gitlab;
    gitlab.failures.add({ failure: { kind: 'reset' }, match: { path: /[?&]page=2/u } });
    expect(await (await ask(list)).json()).toHaveLength(2);
    await expect(ask(`${list}&page=2`)).rejects.toThrow('fetch failed');
    gitlab.failures.clear();
    expect(await (await ask(`${list}&page=2`)).json()).toHaveLength(1);
  });

  it('return an empty list with consistent headers', async () => {
    const { gitlab, ask } = await withThreeMergeRequests();
    await using _gitlab = gitlab;
    gitlab.failures.add({ failure: { kind: 'empty-page' }, match: { operation: 'GET /projects/:id/merge_requests' }, times: 1 });
    const empty = await ask(list);
    expect([empty.status, await empty.json(), empty.headers.get('x-total')]).toEqual([200, [], '0']);
    expect(await (await ask(list)).json()).toHaveLength(2);
  });

  it('truncate answers with a reset or with a clean end', async () => {
    const { gitlab, ask } = await withThreeMergeRequests();
    await using _gitlab = gitlab;
    gitlab.failures.add({ failure: { kind: 'truncated', ending: 'broken' }, times: 1 });
    gitlab.failures.add({ failure: { kind: 'truncated', ending: 'clean' }, times: 1 });
    await expect(ask(list).then((response) => response.json())).rejects.toThrow('terminated');
    await expect(ask(list).then((response) => response.json())).rejects.toThrow(SyntaxError);
  });

  it('lose the answer of a request with or without its effect', async () => {
    const { gitlab, ask } = await withThreeMergeRequests();
    await using _gitlab = gitlab;
    const comment = (body: string): Promise<Response> =>
      ask('/projects/acme%2Fshop/merge_requests/1/notes', { method: 'POST', body: JSON.stringify({ body }) });
    gitlab.failures.add({ failure: { kind: 'reset' }, match: { method: 'POST' }, times: 1, takesEffect: true });
    gitlab.failures.add({ failure: { kind: 'status', status: 504 }, match: { method: 'POST' }, times: 1 });
    await expect(comment('heard')).rejects.toThrow('fetch failed');
    expect((await comment('unheard')).status).toBe(504);
    expect(gitlab.read.comments({ project: 'acme/shop', iid: 1 }).map(({ body }) => body)).toEqual(['heard']);
  });

  it('make the client library retry 429 and 502 ten times within a quarter of a second', async () => {
    const { gitlab } = await withThreeMergeRequests();
    await using _gitlab = gitlab;
    gitlab.failures.add({ failure: { kind: 'status', status: 429, headers: { 'retry-after': '60' }, body: 'Retry later\n' } });
    const client = new Gitlab({ host: gitlab.url, token: gitlab.projectToken('acme/shop') });
    await expect(client.Projects.show('acme/shop')).rejects.toThrow(/after 10 retries/u);
    expect(gitlab.requests.of('GET /projects/:id')).toMatchObject({ requests: 10, failures: 10, points: 0 });
  });

  it('are determined by the seed', async () => {
    const statuses = async (): Promise<readonly number[]> => {
      const { gitlab, ask } = await withThreeMergeRequests();
      await using _gitlab = gitlab;
      gitlab.failures.add({ failure: { kind: 'status', status: 502 }, probability: 0.5 });
      const seen: number[] = [];
      for (let count = 0; count < 20; count += 1) seen.push((await ask(list)).status);
      return seen;
    };
    const [first, second] = [await statuses(), await statuses()];
    expect(first).toEqual(second);
    expect(new Set(first)).toEqual(new Set([200, 502]));
  });
});

describe('a deviation from the documentation', () => {
  it('is refused, recorded and reported at the end', async () => {
    const { gitlab, ask } = await withThreeMergeRequests();
    expect((await ask('/projects/acme%2Fshop/merge_requests?labelz=preview')).status).toBe(400);
    expect((await ask('/projects/acme%2Fshop/merge_requests?state=open')).status).toBe(400);
    expect((await ask('/projects/acme%2Fshop/merge_requests/1/notes', { method: 'POST', body: '{}' })).status).toBe(400);
    expect((await ask('/projects/acme%2Fshop/issues')).status).toBe(404);
    await expect(gitlab[Symbol.asyncDispose]()).rejects.toThrow(/labelz[^]*state[^]*body[^]*no such endpoint is emulated/u);
  });

  it('of the emulator itself is detected', async () => {
    const mistakes: string[] = [];
    const [state, tokens] = [new GitlabState('', Date.now), new Map<string, Token>()];
    const api = new GitlabApi({
      state,
      tokens,
      git: new GitHttp(state, tokens),
      endpoints: [
        endpoint('GET /version', z.strictObject({}), z.strictObject({ version: z.string() }), () => ({
          body: { version: '1', extra: true },
        })),
        endpoint('GET /broken', z.strictObject({}), z.strictObject({}), () => {
          throw new Error('a slip');
        }),
      ],
      failures: new Failures(1),
      requests: new RequestLog(),
      rateLimit: new RateLimit(undefined, Date.now),
      mistakes,
    });
    const get = (target: string) => api.answer({ method: 'GET', target, headers: {}, body: Buffer.alloc(0) });
    await get('/api/v4/version');
    expect((await get('/api/v4/broken')).answer.status).toBe(500);
    expect((await get('/api/v4/projects/%ff')).answer.status).toBe(404);
    expect(mistakes).toEqual([
      expect.stringMatching(/GET \/version: the answer differs[^]*extra/u),
      expect.stringContaining('a slip'),
      expect.stringContaining('no such endpoint'),
    ]);
  });
});
