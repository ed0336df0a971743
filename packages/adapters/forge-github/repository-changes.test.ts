import { commitSha, environmentId, isSameSource, type Source, type SourceRef } from '@eph/contract';
import { createView } from '@eph/engine/report/view.fake';
import { describe, expect, it } from 'vitest';
import type { GithubEmulator } from '../../../test/parts/github/github-emulator.ts';
import type { GithubForge } from './github-forge.ts';
import { betweenPages, startGithubHarness } from './github-harness.fake.ts';

const first: SourceRef = { kind: 'pr', name: '1' };

const appOf = (github: GithubEmulator, owner: string) => {
  const app = github.createApp();
  app.install(owner);
  return { appId: app.id, privateKey: app.privateKey };
};

const expectUnknown = async (forge: GithubForge, signal: AbortSignal): Promise<void> => {
  expect(await forge.sources(signal)).toMatchObject({ complete: false, faults: [{ code: 'forge.refused' }] });
  for (const name of ['1', '99']) expect(await forge.source({ kind: 'pr', name }, signal)).toMatchObject({ state: 'unknown' });
  expect(await forge.source({ kind: 'branch', name: 'main' }, signal)).toMatchObject({ state: 'unknown' });
  await expect(forge.pulls.addLabel(first, 'preview', signal)).rejects.toMatchObject({ code: 'forge.refused' });
  expect(await forge.pulls.commands(first, signal)).toMatchObject({ complete: false });
};

describe('a repository that is transferred', () => {
  it('to another owner is read and written where it is now', async () => {
    const { github, repository, forge, connect, readPulls, openPulls, signal } = await startGithubHarness();
    const [pull] = openPulls(3);
    await forge.sources(signal);
    github.createOrganization('globex');
    repository.transfer('globex');
    expect(repository.fullName).toBe('globex/shop');
    expect(await readPulls()).toMatchObject({ complete: true, items: { length: 3 } });
    expect(await forge.source(first, signal)).toMatchObject({ state: 'present' });
    await forge.pulls.addLabel(first, 'preview', signal);
    await forge.pulls.addLabel(first, 'demo', signal);
    await forge.pulls.removeLabel(first, 'demo', signal);
    expect(pull?.labels).toEqual(['preview']);
    const { reporter } = connect();
    const commit = commitSha(pull?.headSha ?? '');
    const environment = environmentId('00000000000000a7');
    const view = createView({ commit });
    const report = { project: forge.project, environment, source: first, commit, text: 'Ready', view, last: false };
    await reporter.ensure(report, signal);
    expect(pull?.comments()).toHaveLength(1);
  });

  it('out of reach of an App is unknown, and whole again once the App follows', async () => {
    const { github, repository, create, readPulls, openPulls, signal } = await startGithubHarness();
    openPulls(3);
    github.createOrganization('globex');
    const app = github.createApp();
    app.install('acme');
    const forge = create({ auth: { appId: app.id, privateKey: app.privateKey } });
    expect(await readPulls(forge)).toMatchObject({ complete: true, items: { length: 3 } });
    repository.transfer('globex');
    await expectUnknown(forge, signal);
    app.install('globex');
    expect(await readPulls(forge)).toMatchObject({ complete: true, items: { length: 3 } });
  });

  it('and replaced by another of its name is not taken for it', async () => {
    const { github, repository, forge, openPulls, signal } = await startGithubHarness();
    openPulls(3);
    await forge.sources(signal);
    github.createOrganization('globex');
    repository.transfer('globex');
    github.createRepository('acme/shop', { private: true, files: null });
    const reading = await forge.sources(signal);
    // Nothing of what was there is claimed to be in it.
    expect(reading.items).toEqual([]);
  });
});

describe('a repository that is made private', () => {
  it('is unknown to a token that may not see it any more, and whole again when it is public', async () => {
    const { github, repository, create, openPulls, signal } = await startGithubHarness({ repository: { private: false } });
    openPulls(3);
    const forge = create({ auth: { token: github.createToken({ by: 'visitor' }) } });
    expect(await forge.sources(signal)).toMatchObject({ complete: true });
    repository.makePrivate();
    await expectUnknown(forge, signal);
    repository.makePublic();
    expect(await forge.sources(signal)).toMatchObject({ complete: true });
  });

  it('is unknown to an App that it was taken from, and to everybody once it is deleted', async () => {
    const { github, repository, forge, create, openPulls, signal } = await startGithubHarness();
    openPulls(3);
    const app = github.createApp();
    const installation = app.install('acme', ['shop']);
    const ofApp = create({ auth: { appId: app.id, privateKey: app.privateKey } });
    for (const one of [forge, ofApp]) expect(await one.sources(signal)).toMatchObject({ complete: true });
    installation.removeRepository(repository.id);
    await expectUnknown(ofApp, signal);
    repository.delete();
    await expectUnknown(forge, signal);
  });
});

describe('a token that is revoked between two pages', () => {
  it('leaves the list incomplete, with what arrived', async () => {
    const { github, token, forge, openPulls, signal } = await startGithubHarness();
    openPulls(230);
    betweenPages(github, () => github.revokeToken(token));
    expect(await forge.sources(signal)).toMatchObject({
      complete: false,
      items: { length: 100 },
      faults: [{ code: 'forge.refused' }],
    });
    await expectUnknown(forge, signal);
  });

  it('is replaced where an App can get another, and the list is whole', async () => {
    const { github, create, openPulls, signal } = await startGithubHarness();
    openPulls(230);
    const forge = create({ auth: appOf(github, 'acme') });
    betweenPages(github, () => github.revokeInstallationTokens());
    expect(await forge.sources(signal)).toMatchObject({ complete: true, items: { length: 461 } });
  }, 60_000);
});

describe('labels that were toggled a thousand times', () => {
  it('are what they are in the end, since when they were put there last', async () => {
    let nowMs = Date.parse('2026-01-05T09:00:00Z');
    const { github, repository, forge, signal } = await startGithubHarness({ github: { now: () => nowMs } });
    repository.push('work', {});
    const pull = repository.openPullRequest({ head: 'work' });
    for (let round = 0; round < 1_000; round += 1) {
      const label = round % 2 === 0 ? 'preview' : 'preview:keep';
      if (pull.labels.includes(label)) pull.unlabel(label);
      else pull.label(label);
      nowMs += 60;
    }
    pull.label('preview');
    expect((await forge.sources(signal)).items[0]?.pull?.labels).toEqual(['preview']);
    github.requests.clear();
    const at = await forge.pulls.labelledAt(first, 'preview', signal);
    expect(at).toBe('2026-01-05T09:01:00Z');
    expect(await forge.pulls.labelledAt(first, 'preview:keep', signal)).toBeUndefined();
    // Not one request per hundred toggles.
    expect(github.requests.total.requests).toBeLessThanOrEqual(5);
  });
});

describe('what happens to a pull request in the second in which it was read', () => {
  const start = async () => {
    let nowMs = Date.parse('2026-01-05T09:00:00Z');
    const now = () => nowMs;
    const shop = await startGithubHarness({ github: { now }, server: { now } });
    const { repository, forge, signal } = shop;
    repository.push('work', { 'a.txt': 'a' });
    const pull = repository.openPullRequest({ head: 'work', labels: ['preview'] });
    const read = async (): Promise<readonly Source[]> => {
      const { items } = await forge.sources(signal);
      const one = await forge.source(first, signal);
      const [listed] = items;
      if (listed === undefined || one.state !== 'present') throw new Error('there is no pull request');
      return [listed, one.source];
    };
    const pass = (ms: number) => {
      nowMs += ms;
    };
    return { ...shop, pull, read, pass };
  };
  const isSame = (before: readonly Source[], after: readonly Source[]): readonly boolean[] =>
    before.map((source, index) => isSameSource(source, after[index] ?? source));

  it.each<[string, (pull: Awaited<ReturnType<typeof start>>['pull']) => unknown]>([
    ['a comment', (pull) => pull.comment('/deploy', { by: 'bob' })],
    ['a review', (pull) => pull.review('APPROVED', { by: 'bob' })],
    ['a label that was there already, put there anew', (pull) => (pull.unlabel('preview'), pull.label('preview'))],
  ])('is noticed later at the latest: %s', async (_, act) => {
    const { pull, read, pass } = await start();
    pass(300);
    const before = await read();
    pass(300);
    act(pull);
    pass(60_000);
    expect(isSame(before, await read())).toEqual([false, false]);
  });

  it('does not make it look new again and again', async () => {
    const { forge, read, pass, signal } = await start();
    const before = await read();
    pass(1_000);
    expect(isSame(before, await read())).toEqual([true, true]);
    const fresh = await forge.sources(signal);
    expect(await forge.sources(signal)).toBe(fresh);
    pass(60_000);
    const [settled, reading] = [await read(), await forge.sources(signal)];
    pass(3_600_000);
    expect(isSame(settled, await read())).toEqual([true, true]);
    expect(await forge.sources(signal)).toBe(reading);
  });
});

describe('watches that disagree', () => {
  const hour = 3_600_000;

  it.each([-hour, -5 * 60_000, 5 * 60_000, hour])(
    'by %i ms let an App in all the same',
    async (skewMs) => {
      const now = () => Date.now() + skewMs;
      const { github, create, readPulls, openPulls } = await startGithubHarness({ github: { now } });
      openPulls(3);
      const forge = create({ auth: appOf(github, 'acme') });
      expect(await readPulls(forge)).toMatchObject({ complete: true, items: { length: 3 } });
    },
    60_000,
  );

  it.each([-5 * hour, 5 * hour])('by %i ms do not keep Eph waiting longer than GitHub asks, nor shorter', async (skewMs) => {
    let nowMs = Date.now();
    const clocks = { github: { now: () => nowMs + skewMs }, server: { now: () => nowMs } };
    const { github, forge, readPulls, openPulls, countApiRequests, signal } = await startGithubHarness(clocks);
    openPulls(3);
    github.rateLimits.leave(0);
    await forge.sources(signal);
    const asked = countApiRequests();
    nowMs += 0.9 * hour;
    expect(await forge.sources(signal)).toMatchObject({ complete: false, faults: [{ code: 'forge.unreachable' }] });
    expect(countApiRequests()).toBe(asked);
    nowMs += 0.5 * hour;
    expect(await readPulls()).toMatchObject({ complete: true, items: { length: 3 } });
  });

  it('say nothing about which commit a command was written for', async () => {
    let nowMs = Date.parse('2026-01-05T09:00:00Z');
    const clocks = { github: { now: () => nowMs }, server: { now: () => nowMs + 3 * hour } };
    const { repository, forge, signal } = await startGithubHarness({ ...clocks, repository: { private: false } });
    repository.grant('bob', 'write');
    const commit = repository.push('work', { 'a.txt': 'a' });
    nowMs += 1_000;
    const pull = repository.openPullRequest({ head: 'work' });
    nowMs += 1_000;
    pull.comment('/deploy', { by: 'bob' });
    nowMs += 1_000;
    repository.push('work', { 'a.txt': 'b' });
    expect(await forge.pulls.commands(first, signal)).toMatchObject({ complete: true, items: [{ commit }] });
  });
});
