import { type CommitSha, EphError, projectId, type SourceRef } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { FakeForge, FakeRepository } from './forge.fake.ts';
import { describePulls, type PullsHarness } from './pulls.contract.ts';

const shop = projectId('shop');

type FileChanges = Parameters<PullsHarness['commit']>[1];

const createHarness = (): Promise<PullsHarness> => {
  const repository = new FakeRepository(shop);
  const { pullRequests } = repository;
  const people = { author: 'alice', maintainer: 'bob', outsider: 'mallory' };
  const fork = `${people.outsider}/shop`;
  pullRequests.writers.add(people.maintainer);
  repository.push({ kind: 'branch', name: 'main' }, { 'README.md': 'hello' });

  let isConnected = true;
  const forge = new FakeForge(shop, repository, {
    disturb: () => (isConnected ? Promise.resolve() : Promise.reject(new EphError('forge.unreachable', 'no answer'))),
  });
  const changed = (parent: CommitSha | undefined, changes: FileChanges): Record<string, string> => {
    const before = (parent && repository.commits.get(parent)) ?? new Map<string, string>();
    const after = Object.entries({ ...Object.fromEntries(before), ...changes });
    return Object.fromEntries(after.filter((entry): entry is [string, string] => entry[1] !== null));
  };
  const parentOf = (branch: string, from: string | null) => repository.headOf(branch, from) ?? repository.headOf('main', null);
  const act = <T>(result: T): Promise<T> => Promise.resolve(result);
  return act({
    forge,
    people,
    commit: (branch, files, onto) =>
      act(repository.push({ kind: 'branch', name: branch }, changed(onto ?? parentOf(branch, null), files))),
    openPullRequest: (pull) => act(pullRequests.open({ ...pull, author: people.author })),
    edit: (ref, changes) => act(pullRequests.edit(ref, changes)),
    label: (ref, label) => act(pullRequests.label(ref, label)),
    unlabel: (ref, label) => act(pullRequests.unlabel(ref, label)),
    comment: (ref, by, text) => act(pullRequests.comment(ref, people[by], text)),
    approve: (ref, by) => act(pullRequests.approve(ref, people[by])),
    setCheck: (commit, check) => act(pullRequests.setCheck(commit, check)),
    close: (ref) => act(pullRequests.close(ref)),
    reopen: (ref) => act(pullRequests.reopen(ref)),
    countReactions: (ref, command) =>
      act(pullRequests.find(ref).comments.find(({ id }) => id === command.id)?.reactions.length ?? 0),
    disconnect: () => act(void (isConnected = false)),
    reconnect: () => act(void (isConnected = true)),
    fork: {
      name: fork,
      commit: (branch, files) => act(repository.pushToFork(fork, branch, changed(parentOf(branch, fork), files))),
      openPullRequest: (pull) => act(pullRequests.open({ ...pull, author: people.outsider, fork })),
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  });
};

describe('the pull requests of the fake forge', () => {
  describePulls(createHarness);

  it('are reopened where their branch is by then', async () => {
    const harness = await createHarness();
    const { signal } = new AbortController();
    await harness.commit('feature', { 'a.txt': 'a' });
    const ref = await harness.openPullRequest({ head: 'feature', title: 'Later' });
    await harness.close(ref);
    const commit = await harness.commit('feature', { 'a.txt': 'b' });
    expect(await harness.forge.source(ref, signal)).toEqual({ state: 'gone' });
    await harness.reopen(ref);
    expect(await harness.forge.source(ref, signal)).toMatchObject({ state: 'present', source: { commit } });
  });

  it('are closed with their branch', async () => {
    const repository = new FakeRepository(shop);
    const branch: SourceRef = { kind: 'branch', name: 'feature' };
    repository.push(branch, {});
    const ref = repository.pullRequests.open({ head: 'feature' });
    repository.delete(branch);
    expect(await new FakeForge(shop, repository).source(ref)).toEqual({ state: 'gone' });
  });

  it('remember nothing of labels that were toggled a thousand times but where that ended', async () => {
    const harness = await createHarness();
    const { signal } = new AbortController();
    const ref = await harness.openPullRequest({ head: 'main', title: 'Toggle' });
    for (let round = 0; round < 1000; round += 1) {
      await harness.label(ref, round % 2 === 0 ? 'preview' : 'preview:keep');
      await harness.unlabel(ref, round % 2 === 0 ? 'preview:keep' : 'preview');
    }
    const answer = await harness.forge.source(ref, signal);
    expect(answer).toMatchObject({ state: 'present', source: { pull: { labels: ['preview:keep'] } } });
  });
});
