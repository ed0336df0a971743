import { commitSha, type SourceRef } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { GitlabEmulator } from '../../../test/parts/gitlab/gitlab-emulator.ts';
import { ScriptedForge } from '../forge-http/scripted-forge.fake.ts';
import { connectGitlab, createFolder, createGitlabHarness, path } from './gitlab-harness.fake.ts';

const { signal } = new AbortController();
const first: SourceRef = { kind: 'pr', name: '1' };
const at = { project: path, iid: 1 };
const hour = 3_600_000;

/** GitLab with so many merge requests, by its own watch. */
const createHarness = async (count: number, now: () => number) => {
  const gitlab = await GitlabEmulator.start({ now });
  const alice = gitlab.person('alice');
  await alice.createProject(path);
  for (let made = 0; made < count; made += 1) gitlab.addMergeRequest(path, { author: alice, sha: 'b'.repeat(40) });
  const token = gitlab.projectToken(path);
  return { gitlab, alice, token, forge: connectGitlab(gitlab.url, token, { folder: await createFolder() }).forge };
};

describe('a token that is revoked between two pages', () => {
  it('leaves the list incomplete, and everything unknown', async () => {
    const { gitlab, token, forge } = await createHarness(250, Date.now);
    await using _gitlab = gitlab;
    gitlab.failures.add({ failure: { kind: 'status', status: 401, body: '{}' }, match: { path: /[?&]page=2(?:&|$)/ } });
    expect(await forge.sources(signal)).toMatchObject({
      complete: false,
      items: { length: 100 },
      faults: [{ code: 'forge.refused' }],
    });
    gitlab.revoke(token);
    const refused = { code: 'forge.refused' };
    expect(await forge.sources(signal)).toMatchObject({ complete: false, faults: [refused, refused] });
    expect(await forge.source(first, signal)).toMatchObject({ state: 'unknown' });
    expect(await forge.source({ kind: 'pr', name: '999' }, signal)).toMatchObject({ state: 'unknown' });
    await expect(forge.pulls.removeLabel(first, 'preview', signal)).rejects.toMatchObject({ code: 'forge.refused' });
  });
});

describe('labels that were toggled a thousand times', () => {
  it('are what they are in the end, since when they were put there last', async () => {
    let nowMs = Date.parse('2026-01-05T09:00:00Z');
    const { gitlab, alice, forge } = await createHarness(1, () => nowMs);
    await using _gitlab = gitlab;
    for (let round = 0; round < 1_000; round += 1) {
      const label = round % 2 === 0 ? 'preview' : 'preview:keep';
      if (gitlab.read.labels(at).includes(label)) alice.unlabel(at, label);
      else alice.label(at, label);
      nowMs += 60;
    }
    alice.label(at, 'preview');
    expect((await forge.sources(signal)).items[0]?.pull?.labels).toEqual(['preview']);
    expect(Date.parse((await forge.pulls.labelledAt(first, 'preview', signal)) ?? '')).toBe(nowMs);
    expect(await forge.pulls.labelledAt(first, 'preview:keep', signal)).toBeUndefined();
  });
});

describe('watches that disagree', () => {
  it.each([-5 * hour, 5 * hour])('by %i ms do not keep Eph waiting longer than GitLab asks, nor shorter', async (skewMs) => {
    let nowMs = Date.parse('2026-01-05T09:00:00Z');
    await using server = await ScriptedForge.start();
    const resetSeconds = (nowMs + skewMs + hour) / 1_000;
    const limits = { 'ratelimit-limit': '10', 'ratelimit-remaining': '0', 'ratelimit-reset': String(resetSeconds) };
    server.script = () => ({ status: 429, headers: { ...limits, date: new Date(nowMs + skewMs).toUTCString() } });
    const { forge } = connectGitlab(server.url, 'glpat-of-nobody-at-all', { now: () => nowMs });
    const ask = async (): Promise<number> => {
      expect(await forge.sources(signal)).toMatchObject({ complete: false, faults: [{ code: 'forge.unreachable' }] });
      return server.requests.length;
    };
    expect(await ask()).toBe(1);
    nowMs += 0.9 * hour;
    expect(await ask()).toBe(1);
    nowMs += 0.5 * hour;
    expect(await ask()).toBe(2);
  });

  it('say nothing about which commit a command was written for', async () => {
    await using harness = await createGitlabHarness({ now: () => Date.now() + 3 * hour });
    const { alice, bob, forge } = harness;
    const commit = commitSha(await alice.push(path, 'work', { 'a.txt': 'a' }));
    await alice.openMergeRequest(path, { source: 'work' });
    bob.comment(at, '/deploy');
    await expect
      .poll(() => forge.pulls.commands(first, signal), { timeout: 30_000 })
      .toMatchObject({ complete: true, items: [{ author: 'bob', commit }] });
  });
});

describe('a merge request that is changed between two readings', () => {
  it('is never the same as before, whatever was changed and changed back', async () => {
    let nowMs = Date.parse('2026-01-05T09:00:00Z');
    const { gitlab, alice, forge } = await createHarness(3, () => nowMs);
    await using _gitlab = gitlab;
    const bob = gitlab.person('bob');
    alice.invite(path, bob, 'maintainer');
    const touched = new Set<string | undefined>();
    const readTouched = async (): Promise<void> => {
      const { items } = await forge.sources(signal);
      touched.add(items.find(({ ref }) => ref.name === '1')?.pull?.touched);
    };
    const changes: readonly (() => unknown)[] = [
      () => (alice.rename(at, 'Another'), alice.rename(at, 'Made up')),
      () => (alice.markDraft(at), alice.markReady(at)),
      () => (alice.label(at, 'preview'), alice.unlabel(at, 'preview')),
      () => (alice.close(at), alice.reopen(at)),
      () => alice.comment(at, '/deploy'),
      () => bob.approve(at),
    ];
    await readTouched();
    for (const change of changes) {
      nowMs += 1;
      change();
      await readTouched();
    }
    expect(touched.size).toBe(changes.length + 1);
  });
});
