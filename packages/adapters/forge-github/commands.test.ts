import type { SourceRef } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { startGithubHarness } from './github-harness.fake.ts';

const first: SourceRef = { kind: 'pr', name: '1' };

const start = async () => {
  let aheadMs = 0;
  const now = () => Date.now() + aheadMs;
  const later = (ms = 1_000) => {
    aheadMs += ms;
  };
  const shop = await startGithubHarness({ github: { now }, repository: { private: false }, server: { now } });
  const { repository, forge, signal } = shop;
  repository.grant('bob', 'write');
  const push = (branch: string, files: Record<string, string>) => {
    later();
    return repository.push(branch, files);
  };
  return { ...shop, push, later, readCommands: () => forge.pulls.commands(first, signal) };
};

describe('the commit of a command', () => {
  it('is the head when it was written, not the one that was made before it and pushed after it', async () => {
    const { repository, push, later, readCommands } = await start();
    const seen = push('feature', { 'a.txt': 'a' });
    const pull = repository.openPullRequest({ head: 'feature' });
    const made = repository.push('elsewhere', { 'b.txt': 'b' }, { from: seen });
    later();
    pull.comment('/deploy', { by: 'bob' });
    later();
    repository.push('feature', {}, { from: made });
    expect(await readCommands()).toMatchObject({ complete: true, items: [{ text: '/deploy', mayWrite: true, commit: seen }] });
  });

  it('waits for GitHub to note a push that can be seen already', async () => {
    const { repository, push, later, readCommands } = await start();
    push('feature', { 'a.txt': 'a' });
    const pull = repository.openPullRequest({ head: 'feature' });
    repository.delayActivities(60_000);
    const next = push('feature', { 'b.txt': 'b' });
    later();
    pull.comment('/deploy', { by: 'bob' });
    expect(await readCommands()).toMatchObject({ complete: false, faults: [{ code: 'forge.incomplete' }] });
    later(60_000);
    expect(await readCommands()).toMatchObject({ complete: true, items: [{ commit: next }] });
  });

  it('is nobody’s guess when GitHub notes nothing for long', async () => {
    const { repository, push, later, readCommands } = await start();
    push('feature', { 'a.txt': 'a' });
    const pull = repository.openPullRequest({ head: 'feature' });
    repository.delayActivities(Number.POSITIVE_INFINITY);
    repository.push('feature', { 'b.txt': 'b' });
    later();
    pull.comment('/deploy', { by: 'bob' });
    later(3_600_000);
    expect(await readCommands()).toMatchObject({ complete: true, items: [{ text: '/deploy', commit: null }] });
  });

  it('is not known for a fork that cannot be looked into, and nothing else suffers', async () => {
    const { github, repository, later, readCommands } = await start();
    const fork = repository.fork('mallory');
    fork.push('feature', { 'a.txt': 'a' }, { by: 'mallory' });
    const pull = repository.openPullRequest({ head: 'mallory:feature', by: 'mallory' });
    later();
    pull.comment('/deploy', { by: 'bob' });
    github.failures.add({ failure: { kind: 'status', status: 404 }, match: { path: /^\/repos\/mallory\/shop\/activity/ } });
    expect(await readCommands()).toMatchObject({ complete: true, items: [{ author: 'bob', mayWrite: true, commit: null }] });
  });
});

describe('whoever writes a command', () => {
  it('may write if GitHub says so at the moment, whatever the comment says about them', async () => {
    const { github, repository, push, later, readCommands } = await start();
    push('feature', { 'a.txt': 'a' });
    github.createOrganization('guild', { members: ['carol'] });
    const pull = repository.openPullRequest({ head: 'feature' });
    later();
    for (const by of ['bob', 'carol', 'dave']) pull.comment('/deploy', { by });
    repository.grant('dave', 'triage');
    const writers = async () => (await readCommands()).items.filter(({ mayWrite }) => mayWrite).map(({ author }) => author);
    expect(await writers()).toEqual(['bob']);
    repository.grant('bob', 'read');
    repository.grant('dave', 'maintain');
    expect(await writers()).toEqual(['dave']);
  });

  it('is not trusted when GitHub does not say', async () => {
    const { github, repository, push, later, readCommands } = await start();
    push('feature', { 'a.txt': 'a' });
    const pull = repository.openPullRequest({ head: 'feature' });
    later();
    pull.comment('/deploy', { by: 'bob' });
    github.failures.add({ failure: { kind: 'status', status: 403 }, match: { path: /\/permission$/ } });
    expect(await readCommands()).toMatchObject({ complete: false, items: [], faults: [{ code: 'forge.refused' }] });
  });
});

describe('comments without commands', () => {
  it('cost one request, and none of the budget as long as nobody adds one', async () => {
    const { github, repository, push, readCommands } = await start();
    push('feature', { 'a.txt': 'a' });
    repository.openPullRequest({ head: 'feature' }).comment('Good\n/deploy', { by: 'bob' });
    await readCommands();
    github.requests.clear();
    expect(await readCommands()).toEqual({ complete: true, items: [], faults: [] });
    expect(github.requests.total).toMatchObject({ requests: 1, points: 0 });
  });
});

describe('a list that arrives empty', () => {
  it('is incomplete while the pull request counts comments', async () => {
    const { github, repository, push, readCommands } = await start();
    push('feature', { 'a.txt': 'a' });
    const pull = repository.openPullRequest({ head: 'feature' });
    expect(await readCommands()).toMatchObject({ complete: true, items: [] });
    pull.comment('/deploy', { by: 'bob' });
    const undo = github.failures.add({ failure: { kind: 'empty-page' }, match: { path: /\/comments/ } });
    expect(await readCommands()).toMatchObject({ complete: false, faults: [{ code: 'forge.incomplete' }] });
    undo();
    expect(await readCommands()).toMatchObject({ complete: true, items: [{ text: '/deploy' }] });
  });
});
