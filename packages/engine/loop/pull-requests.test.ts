import { EphError } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { branch, EngineHarness } from './engine-harness.fake.ts';

const settle = 60;

const asking = (trigger: string, more = ''): string => `version: "1.0"
name: shop
triggers: [${trigger}]
process:
  services:
    web: { command: run web${more} }
`;
const byLabel = asking('{ type: pr_label, labels: [preview] }');

/** A harness whose main branch holds this file, with a branch `work` that a pull request comes from. */
const create = (spec: string): EngineHarness => {
  const harness = new EngineHarness();
  harness.repository.push(branch('main'), { 'eph.yaml': spec });
  harness.repository.push(branch('work'), { 'eph.yaml': spec, 'work.txt': '1' });
  return harness;
};

describe('a pull request', () => {
  it('gets an environment with its label, follows its commits, and loses it with the label', async () => {
    const harness = create(byLabel).start();
    const { pullRequests } = harness.repository;
    const ref = pullRequests.open({ head: 'work' });
    await harness.live(settle);
    expect(harness.running()).toEqual({});
    pullRequests.label(ref, 'preview');
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
    const commit = harness.repository.push(branch('work'), { 'eph.yaml': byLabel, 'work.txt': '2' });
    await harness.live(settle);
    expect(harness.running()).toEqual({ '1/web': commit });
    pullRequests.unlabel(ref, 'preview');
    await harness.live(settle);
    expect(harness.running()).toEqual({});
    expect(harness.reports.at(-1)).toContain('removed');
  });

  it('keeps its environment through titles and drafts, and loses it when it is closed', async () => {
    const harness = create(byLabel).start();
    const { pullRequests } = harness.repository;
    const ref = pullRequests.open({ head: 'work', labels: ['preview'] });
    await harness.live(settle);
    const { id } = harness.only();
    pullRequests.edit(ref, { title: 'Another title', draft: true });
    await harness.live(settle);
    expect(harness.only().id).toBe(id);
    expect(harness.provider.calls.ensure).toBe(1);
    pullRequests.close(ref);
    await harness.live(settle);
    expect(harness.running()).toEqual({});
    pullRequests.reopen(ref);
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
  });

  it('whose label comes back while it is being removed stays', async () => {
    const harness = create(byLabel).start();
    const { pullRequests } = harness.repository;
    const ref = pullRequests.open({ head: 'work', labels: ['preview'] });
    await harness.live(settle);
    pullRequests.unlabel(ref, 'preview');
    // The list is read without the label; before anything is destroyed, the one pull request is read again.
    harness.forgeOptions = {
      disturb: (operation) => {
        if (operation === 'source') pullRequests.label(ref, 'preview');
        return Promise.resolve();
      },
    };
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
    expect(harness.provider.calls.remove).toBe(0);
  });

  it('waits for the checks it names', async () => {
    const harness = create(asking('{ type: pr_label, labels: [preview], wait_for_checks: [build] }')).start();
    const { pullRequests } = harness.repository;
    pullRequests.open({ head: 'work', labels: ['preview'] });
    await harness.live(settle);
    expect(harness.only().status).toMatchObject({ phase: 'Pending', summary: expect.stringContaining('build') });
    const commit = harness.only().source?.commit;
    if (commit === undefined) throw new Error('it has no commit');
    pullRequests.setCheck(commit, { name: 'build', state: 'failure' });
    await harness.live(settle);
    expect(harness.only().status?.summary).toContain('failed');
    pullRequests.setCheck(commit, { name: 'build', state: 'success' });
    await harness.live(2 * settle);
    expect(harness.running()).toEqual({ '1/web': commit });
  });

  it('is left as it is while a label asks for a pause', async () => {
    const harness = create(byLabel).start();
    const { pullRequests } = harness.repository;
    const ref = pullRequests.open({ head: 'work', labels: ['preview'] });
    await harness.live(settle);
    const before = harness.running();
    pullRequests.label(ref, 'preview:pause');
    harness.repository.push(branch('work'), { 'eph.yaml': byLabel, 'work.txt': '2' });
    await harness.live(settle);
    expect(harness.running()).toEqual(before);
    pullRequests.unlabel(ref, 'preview:pause');
    await harness.live(settle);
    expect(harness.running()).not.toEqual(before);
  });

  it('comes up when somebody with write access asks for its commit, who sees that it was seen', async () => {
    const harness = create(asking('{ type: pr_comment, patterns: [/deploy] }')).start();
    const { pullRequests } = harness.repository;
    const ref = pullRequests.open({ head: 'work' });
    pullRequests.comment(ref, 'mallory', '/deploy');
    await harness.live(settle);
    expect(harness.running()).toEqual({});
    pullRequests.comment(ref, 'alice', '/deploy');
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
    expect(pullRequests.find(ref).comments.map(({ author, reactions }) => [author, reactions.length])).toEqual([
      ['mallory', 0],
      ['alice', 1],
    ]);
  });

  it('stays at the commit it was asked for until somebody asks again, and goes when the comment does', async () => {
    const spec = asking('{ type: pr_comment, patterns: [/deploy] }');
    const harness = create(spec).start();
    const { pullRequests } = harness.repository;
    const ref = pullRequests.open({ head: 'work' });
    const first = pullRequests.find(ref).commit;
    pullRequests.comment(ref, 'alice', '/deploy');
    await harness.live(settle);
    expect(harness.running()).toEqual({ '1/web': first });

    const second = harness.repository.push(branch('work'), { 'eph.yaml': spec.replace('run web', 'run other'), 'work.txt': '2' });
    await harness.live(settle);
    expect(harness.running()).toEqual({ '1/web': first });
    expect(harness.only().status?.phase).toBe('Ready');
    expect(harness.views.at(-1)?.notes).toEqual([
      `it stays at commit ${first.slice(0, 12)}, for which it was asked; ask again to bring it to ${second.slice(0, 12)}`,
    ]);

    pullRequests.comment(ref, 'alice', '/deploy --image=shop:1');
    await harness.live(settle);
    expect(harness.running()).toEqual({ '1/web': second });
    expect(harness.views.at(-1)?.notes).toEqual([
      '--image=shop:1 was ignored: no component runs an entry of environment.images that it means',
    ]);

    pullRequests.find(ref).comments.splice(0);
    pullRequests.edit(ref, { title: 'Not now' });
    await harness.live(settle);
    expect(harness.running()).toEqual({});
  });

  it('goes when the file at its head no longer listens to comments', async () => {
    const harness = create(asking('{ type: pr_comment, patterns: [/deploy] }')).start();
    const { pullRequests } = harness.repository;
    const ref = pullRequests.open({ head: 'work' });
    pullRequests.comment(ref, 'alice', '/deploy');
    await harness.live(settle);
    harness.repository.push(branch('work'), { 'eph.yaml': byLabel });
    await harness.live(settle);
    expect(harness.running()).toEqual({});
  });

  it('expires, loses its label, and says so; put on again, the label starts the time anew', async () => {
    const harness = create(byLabel).start();
    const { pullRequests } = harness.repository;
    const ref = pullRequests.open({ head: 'work', labels: ['preview', 'preview:1h'] });
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
    await harness.live(1800);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
    await harness.live(1800 + settle);
    expect(harness.running()).toEqual({});
    expect(pullRequests.find(ref).pull.labels).toEqual(['preview:1h']);
    expect(harness.events.map(({ type }) => type)).toContain('environment.expired');
    expect(harness.views.at(-1)).toMatchObject({ phase: 'Removed', summary: expect.stringContaining('expired 1h') });
    pullRequests.label(ref, 'preview');
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
  });

  it('that is to be kept does not expire', async () => {
    const harness = create(byLabel).start();
    harness.repository.pullRequests.open({ head: 'work', labels: ['preview', 'preview:1h', 'preview:keep'] });
    await harness.live(2 * 3600);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
  });

  it('does not expire while the forge cannot say since when it was asked for', async () => {
    const harness = create(byLabel).start();
    harness.repository.pullRequests.open({ head: 'work', labels: ['preview', 'preview:1h'] });
    harness.forgeOptions = {
      disturb: (operation) =>
        operation === 'pulls' ? Promise.reject(new EphError('forge.unreachable', 'not now')) : Promise.resolve(),
    };
    await harness.live(2 * 3600);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
  });

  it('is not doubled by the branch it comes from', async () => {
    const harness = create(asking('{ type: auto, branches: ["*"] }')).start();
    harness.repository.pullRequests.open({ head: 'work' });
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
  });
});

describe('a pull request from a fork', () => {
  const evil = asking('{ type: pr_label, labels: [preview] }', ', env: { SECRET: "${TOKEN:-none}" }');
  const open = (harness: EngineHarness): ReturnType<EngineHarness['repository']['pullRequests']['open']> => {
    harness.repository.pushToFork('mallory/shop', 'patch', { 'eph.yaml': evil });
    return harness.repository.pullRequests.open({ head: 'patch', fork: 'mallory/shop', author: 'mallory', labels: ['preview'] });
  };
  const secretsOf = (harness: EngineHarness): unknown[] =>
    [...harness.infrastructure.environments.values()].flatMap(({ slots }) =>
      [...slots.values()].map(({ current }) => JSON.stringify(current?.component.values)),
    );

  it('gets nothing unless its project allows it', async () => {
    const harness = create(byLabel).start();
    open(harness);
    await harness.live(settle);
    expect(harness.running()).toEqual({});
  });

  it('gets the configuration of the default branch, and none of the secrets', async () => {
    const harness = create(byLabel);
    harness.forks = 'base';
    harness.variables = { TOKEN: { value: 'hush-hush-hush', secret: true } };
    harness.start();
    open(harness);
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
    expect(secretsOf(harness).join()).not.toMatch(/SECRET|hush/);
  });

  it('follows the configuration of the default branch when that changes', async () => {
    const harness = create(byLabel);
    harness.forks = 'base';
    harness.start();
    open(harness);
    await harness.live(settle);
    harness.repository.push(branch('main'), { 'eph.yaml': `${byLabel}    api: { command: run api }\n` });
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['1/web', '1/api']);
  });

  it('gets nothing of a branch with the trigger auto, which it chose as its target', async () => {
    const harness = create(byLabel);
    harness.repository.push(branch('open'), { 'eph.yaml': asking('{ type: auto }') });
    harness.forks = 'base';
    harness.start();
    harness.repository.pushToFork('mallory/shop', 'patch', { 'eph.yaml': asking('{ type: auto }') });
    const ref = harness.repository.pullRequests.open({ head: 'patch', fork: 'mallory/shop', base: 'open' });
    await harness.live(settle);
    expect(harness.running()).toEqual({});
    harness.repository.pullRequests.label(ref, 'preview');
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
  });

  it('does not change what exists while nobody can tell which branch is the default', async () => {
    const harness = create(byLabel);
    harness.forks = 'base';
    harness.start();
    const ref = open(harness);
    await harness.live(settle);
    const away = new EphError('forge.unreachable', 'not now');
    harness.forgeOptions = { disturb: (operation) => (operation === 'pulls' ? Promise.reject(away) : Promise.resolve()) };
    harness.repository.pullRequests.unlabel(ref, 'preview');
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
  });

  it('is approved by a comment with the whole commit, and a shorter one is answered with the line to write', async () => {
    const harness = create(byLabel);
    harness.forks = 'approve';
    harness.start();
    const ref = open(harness);
    const { pullRequests } = harness.repository;
    const reviewed = pullRequests.find(ref).commit;
    await harness.live(settle);
    pullRequests.comment(ref, 'mallory', `/deploy ${reviewed}`);
    await harness.live(settle);
    expect([harness.running(), harness.answers]).toEqual([{}, []]);
    pullRequests.comment(ref, 'alice', `/deploy ${reviewed.slice(0, 12)}`);
    await harness.live(settle);
    expect(harness.running()).toEqual({});
    expect(harness.answers.at(-1)).toMatchObject({ source: ref, command: { author: 'alice' } });
    expect(harness.answers.at(-1)?.text).toContain(`deploy ${reviewed}`);
    pullRequests.comment(ref, 'alice', `/deploy ${reviewed}`);
    await harness.live(settle);
    expect(harness.running()).toEqual({ '1/web': reviewed });
  });

  it('does not run what was pushed between the review and the approval, with the same first characters', async () => {
    const harness = create(asking('{ type: pr_comment, patterns: [/deploy] }'));
    harness.forks = 'approve';
    harness.start();
    const spec = { 'eph.yaml': asking('{ type: pr_comment, patterns: [/deploy] }') };
    const reviewed = harness.repository.pushToFork('mallory/shop', 'patch', spec);
    const { pullRequests } = harness.repository;
    const ref = pullRequests.open({ head: 'patch', fork: 'mallory/shop', author: 'mallory' });
    await harness.live(settle);
    // Who makes both commits can look for one that begins like the other.
    const beginning = reviewed.slice(0, 2);
    for (let round = 0; round === 0 || !pullRequests.find(ref).commit.startsWith(beginning); round += 1)
      harness.repository.pushToFork('mallory/shop', 'patch', { ...spec, 'evil.txt': `${round}` });
    for (const text of [`/deploy ${reviewed}`, `/deploy ${beginning}`, '/deploy']) {
      pullRequests.comment(ref, 'alice', text);
      await harness.live(settle);
      expect(harness.running()).toEqual({});
    }
    expect(harness.engine.environments()).toEqual([]);
  });

  it('gets an environment for exactly the commit that was approved, and loses it with the next push', async () => {
    const harness = create(byLabel);
    harness.forks = 'approve';
    harness.start();
    const ref = open(harness);
    await harness.live(settle);
    harness.repository.pullRequests.approve(ref, 'alice');
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
    harness.repository.pushToFork('mallory/shop', 'patch', { 'eph.yaml': evil, 'worse.txt': '1' });
    await harness.live(settle);
    expect(harness.running()).toEqual({});
  });
});
