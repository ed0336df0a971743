import type { SourceRef } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { ScriptedForge } from '../forge-http/scripted-forge.fake.ts';
import { createFixture, path } from './gitlab-fixture.fake.ts';
import { createScriptedGitlab } from './scripted-gitlab.fake.ts';

const { signal } = new AbortController();
const long = 100_000;
const names = [
  ['a name of 100 kB', 'x'.repeat(long)],
  ['a name of 100 kB in letters of four bytes', '🚢'.repeat(long / 4)],
  ['a name in other letters', 'größe/日本語/e\u0301/🚢'],
] as const;

/** GitLab itself lets no label and no branch grow this long; what answers in its name may. */
const mergeRequest = (iid: number, name: string) => ({
  iid,
  state: 'opened',
  title: name,
  draft: false,
  author: { id: 1, username: name },
  labels: [name, 'preview'],
  source_branch: name,
  target_branch: name,
  source_project_id: 5,
  target_project_id: 5,
  sha: 'a'.repeat(40),
  web_url: `https://gitlab.example/acme/shop/-/merge_requests/${iid}`,
  updated_at: '2026-03-01T12:00:00.000Z',
  user_notes_count: 0,
});

describe.each(names)('%s', (_, name) => {
  it('leaves the list whole, and is in it as it is', async () => {
    await using server = await ScriptedForge.start();
    const all = [mergeRequest(1, name), mergeRequest(2, 'main')];
    server.script = () => ({ headers: { 'x-next-page': '', 'x-total': '2' }, body: all });
    const forge = createScriptedGitlab(server);
    const { complete, items } = await forge.sources(signal);
    expect(complete).toBe(true);
    expect(items.map(({ ref, pull }) => [ref.name, pull?.head, pull?.base, pull?.title])).toEqual([
      ['1', name, name, name],
      ['2', 'main', 'main', 'main'],
    ]);
    expect(items[0]?.pull?.labels).toEqual([name, 'preview'].toSorted());
  });

  it('is asked for and wished for without harm', async () => {
    await using fixture = await createFixture();
    const { alice, forge } = fixture;
    const commit = await alice.push(path, 'work', { 'a.txt': 'a' });
    await alice.openMergeRequest(path, { source: 'work' });
    const ref: SourceRef = { kind: 'pr', name: '1' };
    for (const kind of ['branch', 'tag'] as const)
      expect(await forge.source({ kind, name }, signal)).toMatchObject({ state: expect.stringMatching(/^(gone|unknown)$/) });
    for (const change of [() => forge.pulls.addLabel(ref, name, signal), () => forge.pulls.removeLabel(ref, name, signal)]) {
      const outcome = await change().catch((error: unknown) => error);
      expect(outcome === undefined || (outcome as { code?: string }).code === 'forge.refused').toBe(true);
    }
    expect(await forge.source(ref, signal)).toMatchObject({ state: 'present', source: { commit, pull: { labels: [] } } });
  });
});
