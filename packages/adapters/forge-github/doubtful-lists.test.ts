import { type CommitSha, commitSha, type SourceRef } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { startGithubHarness } from './github-harness.fake.ts';

const first: SourceRef = { kind: 'pr', name: '1' };

/** A pull request, and lists that arrive without anything in them. */
const start = async () => {
  const shop = await startGithubHarness({ repository: { private: false } });
  const { github, repository, forge, signal } = shop;
  repository.grant('bob', 'write');
  const commit: CommitSha = commitSha(repository.push('feature', { 'a.txt': 'a' }));
  const pull = repository.openPullRequest({ head: 'feature' });
  const hide = (path: RegExp) => github.failures.add({ failure: { kind: 'empty-page' }, match: { method: 'GET', path } });
  return { ...shop, pull, commit, hide, pulls: forge.pulls, signal };
};

describe('a list of reviews that arrives empty', () => {
  it('is not taken for nobody having approved', async () => {
    const { pull, commit, hide, pulls, signal } = await start();
    expect(await pulls.approvals?.(first, commit, signal)).toMatchObject({ complete: true, items: [] });
    pull.review('APPROVED', { by: 'bob' });
    const show = hide(/\/reviews/);
    expect(await pulls.approvals?.(first, commit, signal)).toMatchObject({
      complete: false,
      faults: [{ code: 'forge.incomplete' }],
    });
    show();
    expect(await pulls.approvals?.(first, commit, signal)).toMatchObject({ complete: true, items: [{ author: 'bob' }] });
  });
});

describe('a list of labels or events that arrives empty', () => {
  it('moves no time', async () => {
    const { pull, hide, pulls, signal } = await start();
    pull.label('preview', { by: 'bob' });
    const at = await pulls.labelledAt(first, 'preview', signal);
    hide(/\/labels/);
    expect(await pulls.labelledAt(first, 'preview', signal)).toBe(at);
    hide(/\/events/);
    await expect(pulls.labelledAt(first, 'preview', signal)).rejects.toMatchObject({ code: 'forge.incomplete' });
  });

  it('keeps no label where it is not wanted any more', async () => {
    const { pull, hide, pulls, signal } = await start();
    pull.label('preview', { by: 'bob' });
    hide(/\/labels/);
    await pulls.removeLabel(first, 'preview', signal);
    expect(pull.labels).toEqual([]);
  });
});
