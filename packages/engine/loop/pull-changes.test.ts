import { EphError, type SourceRef } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { FakeRepository } from '../source/forge.fake.ts';
import { branch, EngineHarness, shop } from './engine-harness.fake.ts';

const settle = 60;
const hour = 3600;

const asking = (trigger: string, services = 'web: { command: run web }'): string => `version: "1.0"
name: shop
triggers: [${trigger}]
process:
  services: { ${services} }
`;
const byLabel = asking('{ type: pr_label, labels: [preview] }');

/** A harness with a branch `main` and a branch `work` that pull requests come from. */
const create = (spec: string, harness = new EngineHarness()): EngineHarness => {
  harness.repository.push(branch('main'), { 'eph.yaml': spec });
  harness.repository.push(branch('work'), { 'eph.yaml': spec, 'src/work.txt': '1' });
  return harness;
};

/** Does this once, right before the one source is read again. */
const beforeLastLook = (harness: EngineHarness, act: () => void): void => {
  harness.forgeOptions = {
    disturb: (operation) => {
      if (operation !== 'source') return Promise.resolve();
      harness.forgeOptions = {};
      act();
      return Promise.resolve();
    },
  };
};

type Act = (harness: EngineHarness, ref: SourceRef) => void;

describe('a pull request that stops asking for its environment', () => {
  const ways: readonly (readonly [how: string, spec: string, stop: Act, goOn: Act])[] = [
    [
      'by another title',
      byLabel,
      ({ repository }, ref) => repository.pullRequests.edit(ref, { title: 'Not now [skip eph]' }),
      ({ repository }, ref) => repository.pullRequests.edit(ref, { title: 'Now' }),
    ],
    [
      'as a draft',
      asking('{ type: auto, ignore_draft: true }'),
      ({ repository }, ref) => repository.pullRequests.edit(ref, { draft: true }),
      ({ repository }, ref) => repository.pullRequests.edit(ref, { draft: false }),
    ],
    [
      'by going elsewhere',
      asking('{ type: pr_label, labels: [preview], paths: ["src/**"] }'),
      ({ repository }, ref) => repository.pullRequests.edit(ref, { base: 'same' }),
      ({ repository }, ref) => repository.pullRequests.edit(ref, { base: 'main' }),
    ],
    [
      'when it is closed',
      byLabel,
      ({ repository }, ref) => repository.pullRequests.close(ref),
      ({ repository }, ref) => repository.pullRequests.reopen(ref),
    ],
    [
      'by a commit that is forced over it',
      byLabel,
      ({ repository }) => void repository.push(branch('work'), { 'eph.yaml': asking('{ type: git_tag, patterns: ["v*"] }') }),
      ({ repository }) => void repository.push(branch('work'), { 'eph.yaml': byLabel }),
    ],
  ];

  const start = async (spec: string): Promise<{ readonly harness: EngineHarness; readonly ref: SourceRef }> => {
    const harness = create(spec);
    const commit = harness.repository.headOf('work', null);
    if (commit !== undefined) harness.repository.point(branch('same'), commit);
    harness.start();
    const ref = harness.repository.pullRequests.open({ head: 'work', labels: ['preview'] });
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
    return { harness, ref };
  };

  it.each(ways)('%s loses it', async (_, spec, stop) => {
    const { harness, ref } = await start(spec);
    stop(harness, ref);
    await harness.live(settle);
    expect(harness.running()).toEqual({});
    expect(harness.views.at(-1)?.phase).toBe('Removed');
  });

  it.each(ways)('%s keeps it if that is over before the last look', async (_, spec, stop, goOn) => {
    const { harness, ref } = await start(spec);
    const { id, name } = harness.only();
    stop(harness, ref);
    beforeLastLook(harness, () => goOn(harness, ref));
    await harness.live(2 * settle);
    expect(harness.provider.calls.remove).toBe(0);
    expect(harness.running()).toEqual({ '1/web': harness.repository.pullRequests.find(ref).commit });
    expect(harness.only()).toMatchObject({ id, name, status: { phase: 'Ready' } });
  });

  it.each(ways)('%s while its environment is being made leaves nothing behind', async (_, spec, stop) => {
    const harness = create(spec);
    const commit = harness.repository.headOf('work', null);
    if (commit !== undefined) harness.repository.point(branch('same'), commit);
    const ref = harness.repository.pullRequests.open({ head: 'work', labels: ['preview'] });
    let isStopped = false;
    harness.providerOptions = {
      disturb: (operation, moment) => {
        if (operation === 'ensure' && moment === 'during' && !isStopped) {
          isStopped = true;
          stop(harness, ref);
          harness.forge.nudge();
        }
        return Promise.resolve();
      },
    };
    harness.start();
    await harness.live(2 * settle);
    expect(isStopped).toBe(true);
    expect(harness.running()).toEqual({});
    expect(harness.engine.environments()).toEqual([]);
  });
});

describe('a pull request that is changed between two looks', () => {
  it('keeps a component if the commit that dropped it is forced away before the last look', async () => {
    const label = '{ type: pr_label, labels: [preview] }';
    const both = asking(label, 'web: { command: run web }, api: { command: run api }');
    const harness = create(both).start();
    harness.repository.pullRequests.open({ head: 'work', labels: ['preview'] });
    await harness.live(settle);
    expect(Object.keys(harness.running()).toSorted()).toEqual(['1/api', '1/web']);
    const removedBefore = harness.provider.calls.remove;
    harness.repository.push(branch('work'), { 'eph.yaml': byLabel });
    let back: string | undefined;
    beforeLastLook(harness, () => {
      back = harness.repository.push(branch('work'), { 'eph.yaml': both, 'back.txt': '' });
    });
    await harness.live(2 * settle);
    expect(back).toBeDefined();
    expect(harness.running()).toEqual({ '1/api': back, '1/web': back });
    expect(harness.provider.calls.remove).toBe(removedBefore);
  });

  it('ends at the commit that was forced over it last, however many there were', async () => {
    const harness = create(byLabel).start();
    harness.repository.pullRequests.open({ head: 'work', labels: ['preview'] });
    await harness.live(settle);
    const { id } = harness.only();
    let last: string | undefined;
    for (let round = 0; round < 50; round += 1) {
      last = harness.repository.push(branch('work'), { 'eph.yaml': byLabel, 'src/work.txt': `forced ${round}` });
      harness.forge.nudge();
      await Promise.resolve();
    }
    await harness.live(settle);
    expect(harness.running()).toEqual({ '1/web': last });
    expect(harness.only().id).toBe(id);
  });

  it('from a fork gets the configuration of the branch it goes to now, if the operator lists that', async () => {
    const harness = create(byLabel);
    const other = asking('{ type: pr_label, labels: [preview] }', 'shop: { command: run shop }');
    harness.repository.push(branch('release'), { 'eph.yaml': other });
    harness.forks = 'base';
    harness.baseBranches = ['release'];
    harness.start();
    harness.repository.pushToFork('mallory/shop', 'patch', { 'eph.yaml': 'nonsense' });
    const ref = harness.repository.pullRequests.open({ head: 'patch', fork: 'mallory/shop', labels: ['preview'] });
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
    harness.repository.pullRequests.edit(ref, { base: 'release' });
    await harness.live(2 * settle);
    expect(Object.keys(harness.running())).toEqual(['1/shop']);
    harness.repository.pullRequests.edit(ref, { base: 'nowhere' });
    await harness.live(2 * settle);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
  });
});

describe('labels that are toggled a thousand times in a minute', () => {
  /** A webhook after every toggle, and whatever falls due meanwhile. */
  const toggle = async (harness: EngineHarness, ref: SourceRef, rounds: number): Promise<void> => {
    const { pullRequests } = harness.repository;
    for (let round = 0; round < rounds; round += 1) {
      const label = round % 2 === 0 ? 'preview' : 'preview:keep';
      if (pullRequests.find(ref).pull.labels.includes(label)) pullRequests.unlabel(ref, label);
      else pullRequests.label(ref, label);
      harness.forge.nudge();
      harness.clock.advance(60_000 / rounds);
      // The loop goes on while more arrives; it is not waited for.
      await new Promise(setImmediate);
    }
  };

  it.each([
    ['on', 1000 + 2],
    ['off', 1000],
  ])('end with it %s, and so does the environment', async (end, rounds) => {
    const harness = create(byLabel).start();
    const ref = harness.repository.pullRequests.open({ head: 'work' });
    await harness.live(settle);
    harness.views.length = 0;
    await toggle(harness, ref, rounds);
    await harness.live(settle);
    const { labels } = harness.repository.pullRequests.find(ref).pull;
    expect(labels.includes('preview')).toBe(end === 'on');
    expect(Object.keys(harness.running())).toEqual(end === 'on' ? ['1/web'] : []);
    expect(harness.engine.environments().map(({ status }) => status?.phase)).toEqual(end === 'on' ? ['Ready'] : []);
    expect(harness.infrastructure.environments.size).toBe(end === 'on' ? 1 : 0);
    expect(harness.engine.load).toMatchObject({ ready: 0, running: 0 });
    // Two a second at most, whatever happens in between, and nothing is done more often than it was asked for.
    expect(harness.views.length).toBeLessThanOrEqual(2 * 60 + 5);
    expect(harness.provider.calls.ensure).toBeLessThanOrEqual(rounds / 4 + 1);
    expect(harness.provider.calls.remove).toBeLessThanOrEqual(rounds / 4 + 1);
  });
});

describe('a token that is revoked in the middle', () => {
  const revoked = new EphError('forge.refused', 'the credentials are not valid, or not any more; give Eph new ones');
  const revoke = (harness: EngineHarness, ...operations: readonly string[]): void => {
    harness.forgeOptions = {
      disturb: (operation) =>
        operations.length === 0 || operations.includes(operation) ? Promise.reject(revoked) : Promise.resolve(),
    };
  };

  it('of a pass destroys nothing, and what it would have removed goes once there is another', async () => {
    const harness = create(byLabel).start();
    const ref = harness.repository.pullRequests.open({ head: 'work', labels: ['preview'] });
    await harness.live(settle);
    harness.repository.pullRequests.unlabel(ref, 'preview');
    // The list could still be read.
    revoke(harness, 'source', 'readFile', 'pulls', 'exportTree');
    await harness.live(hour);
    revoke(harness);
    await harness.live(hour);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
    expect(harness.provider.calls.remove).toBe(0);
    expect(harness.engine.projects().get(shop)?.faults).toMatchObject([{ code: 'forge.refused' }]);
    harness.forgeOptions = {};
    await harness.live(hour);
    expect(harness.running()).toEqual({});
  });

  it('of a start keeps what runs, and what is new comes once there is another', async () => {
    const harness = create(byLabel).start();
    harness.repository.pullRequests.open({ head: 'work', labels: ['preview'] });
    await harness.live(settle);
    revoke(harness, 'readFile', 'source', 'pulls', 'exportTree');
    const commit = harness.repository.push(branch('work'), { 'eph.yaml': byLabel, 'src/work.txt': '2' });
    await harness.restart();
    harness.repository.pullRequests.open({ head: 'main', labels: ['preview'] });
    await harness.live(hour);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
    harness.forgeOptions = {};
    await harness.live(hour);
    expect(Object.keys(harness.running()).toSorted()).toEqual(['1/web', '2/web']);
    expect(harness.running()['1/web']).toBe(commit);
  });
});

describe('a repository that was deleted or made private', () => {
  it('keeps its environments for as long as nobody can tell which of the two it was', async () => {
    const harness = create(byLabel).start();
    harness.repository.pullRequests.open({ head: 'work', labels: ['preview'] });
    await harness.live(settle);
    const hidden = new EphError('forge.refused', 'acme/shop does not exist, or Eph may not see it');
    harness.forgeOptions = { disturb: () => Promise.reject(hidden) };
    await harness.live(24 * hour);
    await harness.restart();
    await harness.live(24 * hour);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
    expect(harness.provider.calls.remove).toBe(0);
    harness.forgeOptions = {};
    await harness.live(settle);
    expect(harness.only().status?.phase).toBe('Ready');
  });

  it('and made anew under its name, empty, is held for an operator', async () => {
    const harness = create(byLabel).start();
    for (let count = 0; count < 3; count += 1) harness.repository.pullRequests.open({ head: 'work', labels: ['preview'] });
    await harness.live(settle);
    const before = harness.running();
    harness.repository.refs.clear();
    await harness.live(24 * hour);
    expect([harness.running(), harness.provider.calls.remove]).toEqual([before, 0]);
    expect(harness.engine.environments().map(({ held }) => held)).toEqual([true, true, true]);
    for (const { id } of harness.engine.environments()) expect(harness.engine.release(id)).toBe(true);
    await harness.live(settle);
    expect(harness.running()).toEqual({});
  });
});

/** The watch of its forge is ahead of ours, or behind. */
class SkewedHarness extends EngineHarness {
  skewMs = 0;
  override readonly repository = new FakeRepository(shop, () => this.clock.now() + this.skewMs);
}

describe('watches that disagree', () => {
  it.each([5 * 60, -5 * 60, 12 * hour, -1800])(
    'by %i s move the end of an environment by as much and no more',
    async (seconds) => {
      const harness = new SkewedHarness();
      harness.skewMs = seconds * 1000;
      create(byLabel, harness).start();
      const ref = harness.repository.pullRequests.open({ head: 'work', labels: ['preview', 'preview:1h'] });
      await harness.live(hour + seconds - settle);
      expect(Object.keys(harness.running())).toEqual(['1/web']);
      await harness.live(2 * settle);
      expect(harness.running()).toEqual({});
      expect(harness.repository.pullRequests.find(ref).pull.labels).toEqual(['preview:1h']);
    },
  );

  it('by more than an environment may live end it at once, once, and say so', async () => {
    const harness = new SkewedHarness();
    harness.skewMs = -2 * hour * 1000;
    create(byLabel, harness).start();
    harness.repository.pullRequests.open({ head: 'work', labels: ['preview', 'preview:1h'] });
    await harness.live(hour);
    expect(harness.running()).toEqual({});
    expect(harness.events.filter(({ type }) => type === 'environment.expired')).toHaveLength(1);
    expect(harness.views.at(-1)?.summary).toContain('expired 1h');
  });

  it.each([-24, 24])('do not matter when ours is set by %i h: nothing goes, and passes go on', async (hours) => {
    const harness = create(byLabel).start();
    const ref = harness.repository.pullRequests.open({ head: 'work', labels: ['preview'] });
    await harness.live(settle);
    harness.clock.jump(hours * hour * 1000);
    await harness.live(10 * settle);
    expect(Object.keys(harness.running())).toEqual(['1/web']);
    const commit = harness.repository.push(branch('work'), { 'eph.yaml': byLabel, 'src/work.txt': '2' });
    await harness.live(2 * settle);
    expect(harness.running()).toEqual({ '1/web': commit });
    harness.repository.pullRequests.unlabel(ref, 'preview');
    await harness.live(2 * settle);
    expect(harness.running()).toEqual({});
  });
});
