import { describe, expect, it, onTestFinished } from 'vitest';
import { GitlabEmulator } from './gitlab-emulator.ts';

const sha = 'a'.repeat(40);
const list = '/groups/acme/merge_requests?scope=all&state=all&non_archived=false&order_by=updated_at';

/** A group with projects in it and below it, and a project elsewhere; their merge requests are created a second apart. */
const setUp = async () => {
  let now = Date.parse('2026-03-01T12:00:00Z');
  const gitlab = await GitlabEmulator.start({ now: () => now });
  onTestFinished(() => gitlab[Symbol.asyncDispose]());
  const alice = gitlab.person('alice');
  for (const project of ['acme/one', 'acme/web/shop', 'other/shop']) {
    await alice.createProject(project);
    for (let made = 0; made < 3; made += 1) {
      now += 1_000;
      gitlab.addMergeRequest(project, { author: alice, sha });
    }
  }
  const token = gitlab.groupToken('acme');
  const ask = async (path: string, asWhom = token) => {
    const response = await fetch(`${gitlab.url}/api/v4${path}`, { headers: { 'private-token': asWhom } });
    const body = (await response.json()) as readonly {
      readonly updated_at: string;
      readonly references: { readonly full: string };
    }[];
    return { status: response.status, headers: response.headers, body };
  };
  const pass = (ms: number): Date => new Date((now += ms));
  return { gitlab, alice, ask, pass };
};

describe('the merge requests of a group', () => {
  it('are those of all its projects and subgroups, in any state, updated since a given time', async () => {
    const { alice, ask, pass } = await setUp();
    const since = pass(60_000);
    alice.close({ project: 'acme/one', iid: 2 });
    alice.close({ project: 'other/shop', iid: 1 });
    const now = pass(1_500);
    alice.label({ project: 'acme/web/shop', iid: 3 }, 'preview');
    const { body, headers } = await ask(`${list}&updated_after=${since.toISOString()}`);
    expect(body.map(({ references }) => references.full)).toEqual(['acme/web/shop!3', 'acme/one!2']);
    expect([headers.get('x-total'), headers.get('date')]).toEqual(['2', now.toUTCString()]);
    expect((await ask(`${list}&updated_after=${pass(1).toISOString()}`)).body).toEqual([]);
  });

  it('are paginated, most recently updated first', async () => {
    const { ask } = await setUp();
    const pages = [await ask(`${list}&per_page=4`), await ask(`${list}&per_page=4&page=2`)];
    expect(pages.map(({ headers }) => headers.get('x-next-page'))).toEqual(['2', '']);
    const dates = pages.flatMap(({ body }) => body.map(({ updated_at: at }) => at));
    expect(dates).toEqual(dates.toSorted().toReversed());
    expect(new Set(dates).size).toBe(6);
  });

  it('exclude archived projects unless requested', async () => {
    const { alice, ask } = await setUp();
    alice.archive('acme/web/shop');
    const count = async (path: string) => (await ask(path)).body.length;
    expect([await count(list), await count('/groups/acme/merge_requests?scope=all')]).toEqual([6, 3]);
  });

  it('do not exist for a user namespace or a hidden group', async () => {
    const { gitlab, ask } = await setUp();
    expect((await ask('/groups/alice/merge_requests')).status).toBe(404);
    expect((await ask(list, gitlab.personalToken(gitlab.person('stranger')))).status).toBe(404);
  });
});
