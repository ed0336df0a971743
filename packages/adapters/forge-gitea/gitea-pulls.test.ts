import { type CommitSha, commitSha, type SourceRef } from '@eph/contract';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { gitea } from '../../../test/parts/gitea.ts';
import { type GiteaFixture, GiteaHarness } from './gitea-harness.fake.ts';
import { emptyList } from './gitea-proxy.fake.ts';

const { signal } = new AbortController();
const patience = { timeout: 60_000, interval: 50 };

describeWith(gitea, 'a pull request of Gitea', () => {
  let harness: GiteaHarness;
  beforeAll(async () => {
    harness = await GiteaHarness.start();
  });

  /** A bench with one pull request, on a branch `feature` with one file. */
  const start = async () => {
    const fixture = await harness.createFixture();
    onTestFinished(() => fixture[Symbol.asyncDispose]());
    const { repository, forge } = fixture;
    const commit = commitSha(await repository.pushFiles('feature', { 'a.txt': 'a' }));
    const { number } = await repository.openPullRequest('feature');
    const ref: SourceRef = { kind: 'pr', name: String(number) };
    return {
      ...fixture,
      ref,
      number,
      commit,
      pulls: forge.pulls,
      push: (files: Files, onto?: string) => push(fixture, number, files, onto),
    };
  };

  type Files = Readonly<Record<string, string | undefined>>;

  /** A push that the forge has noted in the history of the pull request. */
  const push = async ({ repository }: GiteaFixture, number: number, files: Files, onto?: string): Promise<CommitSha> => {
    const commit = await repository.pushFiles('feature', files, onto === undefined ? {} : { onto });
    const isNoted = async (): Promise<boolean> => {
      const path = `/issues/${number}/timeline?limit=50&page=`;
      for (let page = 1; page < 6; page += 1) {
        const events = await repository.send<{ readonly type: string; readonly body: string }[] | null>('GET', `${path}${page}`);
        if ((events ?? []).some(({ type, body }) => type === 'pull_push' && body.includes(commit))) return true;
      }
      return false;
    };
    await expect.poll(isNoted, patience).toBe(true);
    return commitSha(commit);
  };

  describe('and what was commanded', () => {
    it('costs one request while nobody commands anything', async () => {
      const { repository, proxy, pulls, ref, number } = await start();
      await repository.addComment(number, 'Looks /good');
      proxy.takeApiRequests();
      expect(await pulls.commands(ref, signal)).toEqual({ items: [], complete: true, faults: [] });
      expect(proxy.takeApiRequests()).toHaveLength(1);
    });

    it('is for no commit any more once a push was forced', async () => {
      const { repository, pulls, ref, number, commit, push } = await start();
      await repository.addComment(number, '/deploy one');
      const next = await push({ 'b.txt': 'b' });
      await repository.addComment(number, '/deploy two');
      const items = async () => (await pulls.commands(ref, signal)).items.map(({ text, commit: at }) => [text, at]);
      expect(await items()).toEqual([
        ['/deploy one', commit],
        ['/deploy two', next],
      ]);
      const forced = await push({ 'c.txt': 'c' }, commit);
      await repository.addComment(number, '/deploy three');
      expect(await items()).toEqual([
        ['/deploy one', null],
        ['/deploy two', null],
        ['/deploy three', forced],
      ]);
    });

    it('is for the right commit however long the reviews between are', async () => {
      const { repository, pulls, ref, number, commit, push } = await start();
      await repository.addComment(number, '/deploy');
      const comments = Array.from({ length: 130 }, (_, index) => ({ path: 'a.txt', new_position: 1, body: `remark ${index}` }));
      await repository
        .as(harness.bob)
        .send('POST', `/pulls/${number}/reviews`, { event: 'COMMENT', body: 'Many remarks', comments });
      const next = await push({ 'b.txt': 'b' });
      await repository.addComment(number, '/deploy again');
      expect((await pulls.commands(ref, signal)).items).toMatchObject([{ commit }, { commit: next }]);
    });

    it('is unknown when Eph may not ask who may write, and says what to do', async () => {
      const { repository, pulls, ref, number } = await start();
      await repository.addComment(number, '/deploy');
      await repository.addCollaborator(harness.bot, 'write');
      expect(await pulls.commands(ref, signal)).toMatchObject({
        items: [],
        complete: false,
        faults: [{ code: 'forge.refused', message: expect.stringContaining('must be an administrator of the repository') }],
      });
    });

    it.each(['/comments', '/pulls/', '/timeline', '/permission'])('is unknown when the forge stumbles at %s', async (part) => {
      const { repository, proxy, pulls, ref, number } = await start();
      await repository.addComment(number, '/deploy');
      proxy.substitute = (line) => (line.includes(part) ? { status: 500 } : undefined);
      expect(await pulls.commands(ref, signal)).toMatchObject({
        items: [],
        complete: false,
        faults: [{ code: 'forge.unreachable' }],
      });
    });
  });

  describe('and lists that arrive empty', () => {
    const nowhere = { ...emptyList, body: '' };

    it.each([
      ['/comments', emptyList],
      ['/comments', nowhere],
      ['/timeline', emptyList],
      ['/timeline', nowhere],
    ])('leave unknown what was commanded, at %s', async (part, substitute) => {
      const { repository, proxy, pulls, ref, number } = await start();
      expect(await pulls.commands(ref, signal)).toMatchObject({ items: [], complete: true });
      await repository.addComment(number, '/deploy');
      proxy.substitute = (line) => (line.includes(part) ? substitute : undefined);
      expect(await pulls.commands(ref, signal)).toMatchObject({
        items: [],
        complete: false,
        faults: [{ code: 'forge.incomplete' }],
      });
    });

    it('are believed where there are reviews and no comments, however they are counted', async () => {
      const { repository, pulls, ref, number } = await start();
      await repository.as(harness.bob).addReview(number, 'COMMENT', 'Looks good');
      const { id } = await repository.addComment(number, '/deploy');
      await repository.deleteComment(id);
      expect(await pulls.commands(ref, signal)).toMatchObject({ items: [], complete: true });
    });

    it('leave unknown who approved', async () => {
      const { repository, proxy, pulls, ref, number, commit } = await start();
      expect(await pulls.approvals?.(ref, commit, signal)).toMatchObject({ items: [], complete: true });
      await repository.as(harness.bob).addReview(number, 'APPROVED');
      proxy.substitute = (line) => (line.includes('/reviews') ? emptyList : undefined);
      expect(await pulls.approvals?.(ref, commit, signal)).toMatchObject({ items: [], complete: false });
    });

    it('leave unknown what changes', async () => {
      const { proxy, forge, pulls, ref } = await start();
      const answer = await forge.source(ref, signal);
      if (answer.state !== 'present') throw new Error('it is gone');
      proxy.substitute = (line) => (line.includes('/files') ? emptyList : undefined);
      expect(await pulls.changedPaths(answer.source, signal)).toMatchObject({ items: [], complete: false });
    });

    it('move no time', async () => {
      const { proxy, pulls, ref } = await start();
      await pulls.addLabel(ref, 'preview', signal);
      proxy.substitute = (line) => (line.includes('/timeline') ? emptyList : undefined);
      await expect(pulls.labelledAt(ref, 'preview', signal)).rejects.toMatchObject({ code: 'forge.incomplete' });
      expect(await pulls.labelledAt(ref, 'none', signal)).toBeUndefined();
    });
  });

  describe('and who approved it', () => {
    it('is nobody who thought better of it, was overruled, or may only read', async () => {
      const { repository, pulls, ref, number, commit } = await start();
      const { bob, alice, mallory } = harness;
      const approvers = async () => (await pulls.approvals?.(ref, commit, signal))?.items.map(({ author }) => author);
      for (const person of [alice, bob, mallory]) await repository.as(person).addReview(number, 'APPROVED');
      expect(await approvers()).toEqual([alice.name, bob.name]);
      await repository.as(alice).addReview(number, 'REQUEST_CHANGES', 'Oh no');
      expect(await approvers()).toEqual([bob.name]);
      const reviews = await repository.send<{ id: number; user: { login: string } }[]>('GET', `/pulls/${number}/reviews`);
      const approval = reviews.find(({ user }) => user.login === bob.name);
      await repository.send('POST', `/pulls/${number}/reviews/${approval?.id}/dismissals`, { message: 'No' });
      expect(await approvers()).toEqual([]);
    });

    it('is bound to the commit, also when the branch comes back to it', async () => {
      const { repository, pulls, ref, number, commit, push } = await start();
      await repository.as(harness.bob).addReview(number, 'APPROVED');
      const next = await push({ 'b.txt': 'b' });
      const count = async (at: CommitSha) => (await pulls.approvals?.(ref, at, signal))?.items.length;
      expect([await count(commit), await count(next)]).toEqual([1, 0]);
    });
  });

  describe('and what it changes', () => {
    it('is every path, on every page, and both names of what was renamed', async () => {
      const { forge, pulls, ref, push } = await start();
      const many = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`many/${index}.txt`, String(index)]));
      await push({ ...many, 'README.md': undefined, 'docs/read me.md': '# a fairly long text\nthat stays the same\n' });
      const answer = await forge.source(ref, signal);
      if (answer.state !== 'present') throw new Error('it is gone');
      const { items, complete } = await pulls.changedPaths(answer.source, signal);
      expect(complete).toBe(true);
      expect(items.toSorted()).toEqual(['README.md', 'a.txt', 'docs/read me.md', ...Object.keys(many)].toSorted());
    });

    it('is not known of a commit that it is not at', async () => {
      const { forge, pulls, ref, push } = await start();
      const answer = await forge.source(ref, signal);
      if (answer.state !== 'present') throw new Error('it is gone');
      await push({ 'b.txt': 'b' });
      expect(await pulls.changedPaths(answer.source, signal)).toMatchObject({ items: [], complete: false });
    });
  });

  it('has checks on every page', async () => {
    const { repository, pulls, commit } = await start();
    for (let number = 0; number < 60; number += 1) await repository.setStatus(commit, 'success', `check ${number}`);
    const text = `${'a line\n'.repeat(9_000)}and half of`;
    await repository.setStatus(commit, 'warning', 'check 7', `${text} one that is too long${' '.repeat(10_000)}.`);
    const { items, complete } = await pulls.checks(commit, signal);
    expect({ complete, count: items.length }).toEqual({ complete: true, count: 60 });
    expect(items.filter(({ state }) => state !== 'success')).toEqual([
      { name: 'check 7', state: 'failure', text: 'a line\n'.repeat(9_000) },
    ]);
  });

  it('gets a label that nobody knew, once, by many at the same time', async () => {
    const { repository, forge, pulls, ref } = await start();
    await Promise.all(Array.from({ length: 5 }, () => pulls.addLabel(ref, 'preview', signal)));
    expect(await forge.source(ref, signal)).toMatchObject({ source: { pull: { labels: ['preview'] } } });
    expect(await repository.send('GET', '/labels')).toHaveLength(1);
  });

  it('may lose a comment that is being acknowledged', async () => {
    const { repository, pulls, ref, number } = await start();
    const { id } = await repository.addComment(number, '/deploy');
    const [command] = (await pulls.commands(ref, signal)).items;
    await repository.deleteComment(id);
    if (command !== undefined) await pulls.acknowledge(ref, command, signal);
    expect((await pulls.commands(ref, signal)).items).toEqual([]);
  });
});
