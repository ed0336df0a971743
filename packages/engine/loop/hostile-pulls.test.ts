import { commentMarker, environmentId } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { renderMarkdown } from '../report/markdown.ts';
import { branch, EngineHarness } from './engine-harness.fake.ts';

const settle = 60;
const spec = `version: "1.0"
name: shop
triggers:
  - { type: pr_label, labels: [preview] }
  - { type: pr_comment, patterns: [/deploy] }
  - { type: git_branch, patterns: ["preview/**"] }
environment: { name_template: "{project}-{branch_name}-{number}" }
process:
  services:
    web: { command: run web }
`;

const create = (head = 'work'): EngineHarness => {
  const harness = new EngineHarness();
  harness.repository.push(branch('main'), { 'eph.yaml': spec });
  harness.repository.push(branch(head), { 'eph.yaml': spec, 'work.txt': '1' });
  return harness;
};

/** Everything people were told, as they read it on a forge. */
const commentsOf = (harness: EngineHarness): readonly string[] => harness.views.map((view) => renderMarkdown(view, { marker }));
const marker = commentMarker(environmentId('0123456789abcdef'));

/** As much as forges take. */
const commentLimit = 65_536;
const long = 100_000;

const expectSmall = (harness: EngineHarness): void => {
  const told = [...commentsOf(harness), ...harness.reports, ...harness.events.map(({ message }) => message)];
  const explained = harness.engine.environments().flatMap(({ id }) => harness.engine.explain(id) ?? []);
  expect(told.length).toBeGreaterThan(0);
  for (const text of [...told, ...explained]) expect(text.length).toBeLessThan(commentLimit);
};

describe('names of 100 kB', () => {
  it.each([
    ['of one letter', 'x'.repeat(long)],
    ['of letters of four bytes', '🚢'.repeat(long / 4)],
    ['of one accent over another', `a${'\u0301'.repeat(long / 2)}`],
    ['of slashes', 'a/'.repeat(long / 2)],
  ])('%s on labels and branches harm neither their pull request nor others', async (_, name) => {
    const harness = create(name).start();
    const { pullRequests } = harness.repository;
    const ref = pullRequests.open({ head: name, base: 'main', title: name, author: name });
    pullRequests.open({ head: 'main', labels: ['preview'] });
    for (const label of [name, `preview:${name}`, 'preview']) pullRequests.label(ref, label);
    await harness.live(settle);
    expect(Object.keys(harness.running()).toSorted()).toEqual(['1/web', '2/web']);
    for (const one of harness.engine.environments()) expect([one.status?.phase, one.name.length < 64]).toEqual(['Ready', true]);
    pullRequests.unlabel(ref, 'preview');
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['2/web']);
    expectSmall(harness);
  });

  it('on branches that triggers name get nothing, and nobody else suffers', async () => {
    const harness = create('preview/fine').start();
    harness.repository.push(branch(`preview/${'x'.repeat(long)}`), { 'eph.yaml': spec });
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['preview/fine/web']);
  });

  it('of the branch that a fork goes to mean nothing, and of a default branch they are told in part', async () => {
    const harness = create();
    harness.forks = 'base';
    harness.start();
    harness.repository.pushToFork('mallory/shop', 'patch', { 'eph.yaml': spec });
    const ref = harness.repository.pullRequests.open({ head: 'patch', fork: 'mallory/shop', labels: ['preview'] });
    await harness.live(settle);
    harness.repository.pullRequests.edit(ref, { base: 'x'.repeat(long) });
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
    harness.repository.pullRequests.defaultBranch = 'x'.repeat(long);
    harness.repository.pullRequests.edit(ref, { title: 'Again' });
    await harness.live(settle);
    expect(harness.running()).toEqual({});
    expectSmall(harness);
  });

  it('in commands are obeyed and told in part', async () => {
    const harness = create().start();
    const ref = harness.repository.pullRequests.open({ head: 'work' });
    harness.repository.pullRequests.comment(ref, 'alice', `/deploy ${'🚢'.repeat(long / 4)}`);
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
    expectSmall(harness);
  });
});

describe('50 hostile patterns over 10,000 branches', () => {
  it('decide about each of them, and others get their turns meanwhile', { timeout: 120_000 }, async () => {
    const patterns = Array.from(
      { length: 50 },
      (_, index) => `${'*a'.repeat(30)}${'*'.repeat(1 + (index % 2))}${index}b${index % 2 === 0 ? '' : '*'}`,
    );
    const hostile = spec.replace(
      /triggers:\n(?: {2}- .*\n)+/,
      `triggers: [{ type: git_branch, patterns: ${JSON.stringify(patterns)} }]\n`,
    );
    const harness = new EngineHarness();
    const commit = harness.repository.push(branch('a'.repeat(250)), { 'eph.yaml': hostile });
    for (let index = 0; index < 10_000; index += 1) harness.repository.point(branch(`${'a'.repeat(60)}${index}c`), commit);
    harness.repository.point(branch(`${'a'.repeat(60)}7b`), commit);
    harness.start();
    await harness.engine.idle();
    expect(harness.engine.environments().map(({ ref }) => ref.name)).toEqual([`${'a'.repeat(60)}7b`]);
    expect(harness.clock.turns).toBeGreaterThanOrEqual(1000);
  });
});

describe('names in other letters', () => {
  it.each([
    'größe/日本語/🚢',
    'עברית',
    'e\u0301 and é',
    '\u202etxt.exe',
    '​zero​width​',
    'İstanbul',
    "'; DROP TABLE environments; --",
    '../../etc/passwd',
    '__proto__',
    'constructor',
  ])('are taken as they are: %j', async (name) => {
    const harness = create(name).start();
    const { pullRequests } = harness.repository;
    const ref = pullRequests.open({ head: name, title: name, author: name, labels: [name, 'preview'] });
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
    const known = harness.only();
    expect(known.name).toMatch(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/);
    expect(known.source?.pull).toMatchObject({ head: name, title: name, author: name, labels: [name, 'preview'].toSorted() });
    pullRequests.unlabel(ref, 'preview');
    await harness.live(settle);
    expect(harness.running()).toEqual({});
  });

  it('do not turn a line round when its branch is gone', async () => {
    const name = 'preview/\u202egpj.exe';
    const harness = create(name).start();
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual([`${name}/web`]);
    harness.repository.delete(branch(name));
    await harness.live(settle);
    expect(harness.running()).toEqual({});
    const told = [...commentsOf(harness), ...harness.reports, ...harness.events.map(({ message }) => message)];
    expect(told.filter((text) => text.includes('\u202e'))).toEqual([]);
  });
});

describe('a pull request full of Markdown and HTML', () => {
  const evil =
    '<img src=x onerror=alert(1)> @everyone #1 [x](https://evil.example) ![y](https://evil.example/y.png) <!-- --> **b**';
  const dangers = [/<img/i, /@everyone/, /#1\b/, /\]\(https:/, /<!-- -->/, /\*\*b/, /\|\s*a\s*\|/];

  it('says the same in comments, and means nothing there', async () => {
    const harness = create().start();
    const { pullRequests } = harness.repository;
    const ref = pullRequests.open({ head: 'work', title: `# ${evil}\n\n| a |\n|---|`, author: evil });
    for (const label of [evil, `preview:${evil}`, 'preview']) pullRequests.label(ref, label);
    await harness.live(settle);
    pullRequests.unlabel(ref, 'preview');
    await harness.live(settle);
    pullRequests.comment(ref, 'alice', `/deploy ${evil}`);
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
    pullRequests.edit(ref, { title: `${evil} [skip eph] ${evil}` });
    await harness.live(settle);
    expect(harness.running()).toEqual({});
    const comments = commentsOf(harness);
    expect(comments.join('\n')).toContain('onerror');
    for (const comment of comments) for (const danger of dangers) expect(comment).not.toMatch(danger);
    for (const comment of comments) expect(comment.match(/<!--/g)).toHaveLength(1);
  });
});
