import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GitlabEmulator } from './gitlab-emulator.ts';

let gitlab: GitlabEmulator;
let token = '';
let now = Date.parse('2026-03-01T12:00:00Z');
const sha = 'a'.repeat(40);

beforeAll(async () => {
  gitlab = await GitlabEmulator.start({ now: () => now });
  const alice = gitlab.person('alice');
  for (const name of ['one', 'two', 'three']) await alice.createProject(`acme/${name}`);
  for (let count = 0; count < 45; count += 1) {
    now += 1000;
    gitlab.addMergeRequest('acme/one', {
      author: alice,
      sha,
      title: `Number ${count + 1}`,
      labels: count % 2 === 0 ? ['even'] : [],
    });
  }
  token = gitlab.groupToken('acme');
});
afterAll(async () => {
  await gitlab[Symbol.asyncDispose]();
});

const ask = async (path: string, headers: Record<string, string> = {}) => {
  const response = await fetch(`${gitlab.url}/api/v4${path}`, { headers: { 'private-token': token, ...headers } });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: text.startsWith('[') || text.startsWith('{') ? JSON.parse(text) : undefined,
  };
};
const titles = (list: readonly { title: string }[]): readonly string[] => list.map(({ title }) => title);

describe('pages', () => {
  it('are linked by headers', async () => {
    const first = await ask('/projects/acme%2Fone/merge_requests?state=opened&per_page=20');
    expect(Object.fromEntries(first.headers)).toMatchObject({
      'x-page': '1',
      'x-next-page': '2',
      'x-prev-page': '',
      'x-total': '45',
      'x-total-pages': '3',
    });
    const next = /<([^>]+)>; rel="next"/u.exec(first.headers.get('link') ?? '')?.[1] ?? '';
    expect(next).toBe(`${gitlab.url}/api/v4/projects/acme%2Fone/merge_requests?state=opened&per_page=20&page=2`);
    const last = await ask('/projects/acme%2Fone/merge_requests?state=opened&per_page=20&page=3');
    expect(last.json).toHaveLength(5);
    expect(last.headers.get('x-next-page')).toBe('');
    expect(last.headers.get('link')).not.toContain('rel="next"');
    expect((await ask('/projects/acme%2Fone/merge_requests?page=9')).json).toEqual([]);
  });

  it('have twenty items by default and a hundred at most, newest first', async () => {
    const usual = (await ask('/projects/acme%2Fone/merge_requests')).json;
    expect(titles(usual)[0]).toBe('Number 45');
    expect(usual).toHaveLength(20);
    const many = await ask('/projects/acme%2Fone/merge_requests?per_page=5000&order_by=created_at&sort=asc');
    expect(many.headers.get('x-per-page')).toBe('100');
    expect(titles(many.json)[0]).toBe('Number 1');
  });

  it('are not counted beyond ten thousand', async () => {
    const alice = gitlab.person('alice');
    await alice.createProject('big/crowd');
    for (let count = 0; count < 10_001; count += 1) gitlab.addMergeRequest('big/crowd', { author: alice, sha });
    const headers = { 'private-token': gitlab.personalToken(alice) };
    const page = await ask('/groups/big/merge_requests?per_page=100', headers);
    expect([page.headers.get('x-total'), page.headers.get('x-total-pages')]).toEqual([null, null]);
    expect(page.headers.get('link')).not.toContain('rel="last"');
    expect(page.headers.get('x-next-page')).toBe('2');
  });
});

describe('filters', () => {
  it('match all labels of a list, none or any', async () => {
    const count = async (query: string): Promise<number> =>
      Number((await ask(`/projects/acme%2Fone/merge_requests?${query}`)).headers.get('x-total'));
    expect(await Promise.all(['labels=even', 'labels=even,odd', 'labels=None', 'labels=any', 'state=closed'].map(count))).toEqual(
      [23, 0, 22, 23, 0],
    );
    expect(await count('iids[]=1&iids[]=44')).toBe(2);
    expect(await count(`updated_after=${new Date(now - 1500).toISOString()}`)).toBe(2);
  });
});

describe('conditional requests', () => {
  const path = '/projects/acme%2Fone/merge_requests?state=opened&per_page=10';

  it('are answered with 304 while nothing changed on that page, headers of the list included', async () => {
    const first = await ask(path);
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^W\/"[0-9a-f]{32}"$/u);
    const again = await ask(path, { 'if-none-match': etag });
    expect([again.status, again.text, again.headers.get('x-total'), again.headers.get('etag')]).toEqual([304, '', '45', etag]);
    expect((await ask(path, { 'if-none-match': etag.slice(2) })).status).toBe(200);
  });

  it('detect a comment, but a merge request closed on another page only by the total', async () => {
    const alice = gitlab.person('alice');
    const etag = (await ask(path)).headers.get('etag') ?? '';
    alice.close({ project: 'acme/one', iid: 1 });
    const other = await ask(path, { 'if-none-match': etag });
    expect([other.status, other.headers.get('x-total')]).toEqual([304, '44']);
    alice.comment({ project: 'acme/one', iid: 45 }, 'hello');
    expect((await ask(path, { 'if-none-match': etag })).status).toBe(200);
  });

  it('see a change after a single merge request is read', async () => {
    gitlab.addMergeRequest('acme/two', { author: gitlab.person('alice'), sha });
    const list = '/projects/acme%2Ftwo/merge_requests';
    const etag = (await ask(list)).headers.get('etag') ?? '';
    await ask('/projects/acme%2Ftwo/merge_requests/1');
    const after = await ask(list, { 'if-none-match': etag });
    expect(after).toMatchObject({ status: 200, json: [{ merge_status: 'can_be_merged' }] });
  });
});

describe('rate limits', () => {
  it('count every request, also 304, and set Retry-After', async () => {
    gitlab.rateLimit.options = { limit: 3, periodSeconds: 60 };
    gitlab.requests.clear();
    now = Date.parse('2026-03-01T13:00:20Z');
    const etag = (await ask('/projects/acme%2Fthree')).headers.get('etag') ?? '';
    const second = await ask('/projects/acme%2Fthree', { 'if-none-match': etag });
    expect(Object.fromEntries(second.headers)).toMatchObject({
      'ratelimit-limit': '3',
      'ratelimit-observed': '2',
      'ratelimit-remaining': '1',
    });
    await ask('/projects/acme%2Fthree');
    const refused = await ask('/projects/acme%2Fthree');
    expect([refused.status, refused.text, refused.headers.get('content-type')]).toEqual([429, 'Retry later\n', 'text/plain']);
    expect(Object.fromEntries(refused.headers)).toMatchObject({
      'retry-after': '40',
      'ratelimit-reset': String(Date.parse('2026-03-01T13:01:00Z') / 1000),
      'ratelimit-resettime': 'Sun, 01 Mar 2026 13:01:00 GMT',
    });
    const other = await ask('/projects/acme%2Fthree', { 'private-token': gitlab.personalToken(gitlab.person('alice')) });
    expect(other.status).toBe(200);

    now += 40_000;
    expect((await ask('/projects/acme%2Fthree')).status).toBe(200);
    expect(gitlab.requests.of('GET /projects/:id')).toEqual({ requests: 6, notModified: 1, points: 6, failures: 0 });
    gitlab.rateLimit.options = undefined;
  });
});
