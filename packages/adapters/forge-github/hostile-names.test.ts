import { isEphError, type SourceRef } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { startGithubHarness } from './github-harness.fake.ts';

const first: SourceRef = { kind: 'pr', name: '1' };
const long = 100_000;

describe.each([
  ['a name of 100 kB', 'x'.repeat(long)],
  ['a name of 100 kB in letters of four bytes', '🚢'.repeat(long / 4)],
  ['a name in other letters', 'größe/日本語/e\u0301/🚢'],
])('%s', (_, name) => {
  /** GitHub allows no longer names of branches. */
  const branch = name.slice(0, 60);

  it('on a label or a branch leaves the list whole, and is in it as it is', async () => {
    const { repository, forge, signal } = await startGithubHarness();
    repository.push(branch, { 'a.txt': 'a' });
    const pull = repository.openPullRequest({ head: branch, title: name });
    repository.push('other', { 'b.txt': 'b' });
    repository.openPullRequest({ head: 'other', labels: ['preview'] });
    for (const label of [name, 'preview']) pull.label(label);
    const reading = await forge.sources(signal);
    expect(reading.complete).toBe(true);
    const found = (ref: SourceRef) => reading.items.find((item) => item.ref.kind === ref.kind && item.ref.name === ref.name);
    expect(found(first)).toMatchObject({ pull: { head: branch, title: name, labels: [name, 'preview'].toSorted() } });
    expect(found({ kind: 'pr', name: '2' })).toMatchObject({ pull: { labels: ['preview'] } });
    expect(found({ kind: 'branch', name: branch })).toBeDefined();
  });

  it('is asked for by itself without harm, and never taken for gone while it is there', async () => {
    const { repository, forge, readPulls, signal } = await startGithubHarness();
    repository.push(branch, { 'a.txt': 'a' });
    const pull = repository.openPullRequest({ head: branch });
    pull.label(name);
    expect(await forge.source(first, signal)).toMatchObject({
      state: 'present',
      source: { pull: { head: branch, labels: [name] } },
    });
    expect(await forge.source({ kind: 'branch', name: branch }, signal)).toMatchObject({ state: 'present' });
    expect(await forge.pulls.labelledAt(first, name, signal)).toMatch(/^\d{4}-/);
    const outcome = await forge.pulls.removeLabel(first, name, signal).catch((error: unknown) => error);
    expect(outcome === undefined || isEphError(outcome)).toBe(true);
    // Whoever comes next is served.
    expect(await readPulls()).toMatchObject({ complete: true, items: { length: 1 } });
  });

  it('of the branch that a command is about hides no command from the others', async () => {
    const { repository, forge, signal } = await startGithubHarness();
    repository.grant('bob', 'write');
    repository.push(branch, { 'a.txt': 'a' });
    repository.push('other', { 'b.txt': 'b' });
    for (const head of [branch, 'other']) repository.openPullRequest({ head }).comment(`/deploy ${name}`, { by: 'bob' });
    expect(await forge.pulls.commands({ kind: 'pr', name: '2' }, signal)).toMatchObject({
      complete: true,
      items: [{ author: 'bob' }],
    });
    expect(await forge.pulls.commands(first, signal)).toMatchObject({ complete: true, items: { length: 1 } });
  });
});
