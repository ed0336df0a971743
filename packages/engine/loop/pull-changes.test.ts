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

/** A town with a branch `main` and a branch `work` that pull requests come from. */
const create = (spec: string, town = new EngineHarness()): EngineHarness => {
  town.repository.push(branch('main'), { 'eph.yaml': spec });
  town.repository.push(branch('work'), { 'eph.yaml': spec, 'src/work.txt': '1' });
  return town;
};

/** Does this once, right before the one source is read again. */
const beforeLastLook = (town: EngineHarness, act: () => void): void => {
  town.forgeOptions = {
    disturb: (operation) => {
      if (operation !== 'source') return Promise.resolve();
      town.forgeOptions = {};
      act();
      return Promise.resolve();
    },
  };
};

type Act = (town: EngineHarness, ref: SourceRef) => void;

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

  const start = async (spec: string): Promise<{ readonly town: EngineHarness; readonly ref: SourceRef }> => {
    const town = create(spec);
    const commit = town.repository.headOf('work', null);
    if (commit !== undefined) town.repository.point(branch('same'), commit);
    town.start();
    const ref = town.repository.pullRequests.open({ head: 'work', labels: ['preview'] });
    await town.live(settle);
    expect(Object.keys(town.running())).toEqual(['1/web']);
    return { town, ref };
  };

  it.each(ways)('%s loses it', async (_, spec, stop) => {
    const { town, ref } = await start(spec);
    stop(town, ref);
    await town.live(settle);
    expect(town.running()).toEqual({});
    expect(town.views.at(-1)?.phase).toBe('Removed');
  });

  it.each(ways)('%s keeps it if that is over before the last look', async (_, spec, stop, goOn) => {
    const { town, ref } = await start(spec);
    const { id, name } = town.only();
    stop(town, ref);
    beforeLastLook(town, () => goOn(town, ref));
    await town.live(2 * settle);
    expect(town.provider.calls.remove).toBe(0);
    expect(town.running()).toEqual({ '1/web': town.repository.pullRequests.find(ref).commit });
    expect(town.only()).toMatchObject({ id, name, status: { phase: 'Ready' } });
  });

  it.each(ways)('%s while its environment is being made leaves nothing behind', async (_, spec, stop) => {
    const town = create(spec);
    const commit = town.repository.headOf('work', null);
    if (commit !== undefined) town.repository.point(branch('same'), commit);
    const ref = town.repository.pullRequests.open({ head: 'work', labels: ['preview'] });
    let isStopped = false;
    town.providerOptions = {
      disturb: (operation, moment) => {
        if (operation === 'ensure' && moment === 'during' && !isStopped) {
          isStopped = true;
          stop(town, ref);
          town.forge.nudge();
        }
        return Promise.resolve();
      },
    };
    town.start();
    await town.live(2 * settle);
    expect(isStopped).toBe(true);
    expect(town.running()).toEqual({});
    expect(town.engine.environments()).toEqual([]);
  });
});

describe('a pull request that is changed between two looks', () => {
  it('keeps a component if the commit that dropped it is forced away before the last look', async () => {
    const label = '{ type: pr_label, labels: [preview] }';
    const both = asking(label, 'web: { command: run web }, api: { command: run api }');
    const town = create(both).start();
    town.repository.pullRequests.open({ head: 'work', labels: ['preview'] });
    await town.live(settle);
    expect(Object.keys(town.running()).toSorted()).toEqual(['1/api', '1/web']);
    const removedBefore = town.provider.calls.remove;
    town.repository.push(branch('work'), { 'eph.yaml': byLabel });
    let back: string | undefined;
    beforeLastLook(town, () => {
      back = town.repository.push(branch('work'), { 'eph.yaml': both, 'back.txt': '' });
    });
    await town.live(2 * settle);
    expect(back).toBeDefined();
    expect(town.running()).toEqual({ '1/api': back, '1/web': back });
    expect(town.provider.calls.remove).toBe(removedBefore);
  });

  it('ends at the commit that was forced over it last, however many there were', async () => {
    const town = create(byLabel).start();
    town.repository.pullRequests.open({ head: 'work', labels: ['preview'] });
    await town.live(settle);
    const { id } = town.only();
    let last: string | undefined;
    for (let round = 0; round < 50; round += 1) {
      last = town.repository.push(branch('work'), { 'eph.yaml': byLabel, 'src/work.txt': `forced ${round}` });
      town.forge.nudge();
      await Promise.resolve();
    }
    await town.live(settle);
    expect(town.running()).toEqual({ '1/web': last });
    expect(town.only().id).toBe(id);
  });

  it('from a fork gets the configuration of the branch it goes to now', async () => {
    const town = create(byLabel);
    const other = asking('{ type: pr_label, labels: [preview] }', 'shop: { command: run shop }');
    town.repository.push(branch('release'), { 'eph.yaml': other });
    town.forks = 'base';
    town.start();
    town.repository.pushToFork('mallory/shop', 'patch', { 'eph.yaml': 'nonsense' });
    const ref = town.repository.pullRequests.open({ head: 'patch', fork: 'mallory/shop', labels: ['preview'] });
    await town.live(settle);
    expect(Object.keys(town.running())).toEqual(['1/web']);
    town.repository.pullRequests.edit(ref, { base: 'release' });
    await town.live(2 * settle);
    expect(Object.keys(town.running())).toEqual(['1/shop']);
    town.repository.pullRequests.edit(ref, { base: 'nowhere' });
    await town.live(2 * settle);
    expect(town.running()).toEqual({});
  });
});

describe('labels that are toggled a thousand times in a minute', () => {
  /** A webhook after every toggle, and whatever falls due meanwhile. */
  const toggle = async (town: EngineHarness, ref: SourceRef, rounds: number): Promise<void> => {
    const { pullRequests } = town.repository;
    for (let round = 0; round < rounds; round += 1) {
      const label = round % 2 === 0 ? 'preview' : 'preview:keep';
      if (pullRequests.find(ref).pull.labels.includes(label)) pullRequests.unlabel(ref, label);
      else pullRequests.label(ref, label);
      town.forge.nudge();
      town.clock.advance(60_000 / rounds);
      // The loop goes on while more arrives; it is not waited for.
      await new Promise(setImmediate);
    }
  };

  it.each([
    ['on', 1000 + 2],
    ['off', 1000],
  ])('end with it %s, and so does the environment', async (end, rounds) => {
    const town = create(byLabel).start();
    const ref = town.repository.pullRequests.open({ head: 'work' });
    await town.live(settle);
    town.views.length = 0;
    await toggle(town, ref, rounds);
    await town.live(settle);
    const { labels } = town.repository.pullRequests.find(ref).pull;
    expect(labels.includes('preview')).toBe(end === 'on');
    expect(Object.keys(town.running())).toEqual(end === 'on' ? ['1/web'] : []);
    expect(town.engine.environments().map(({ status }) => status?.phase)).toEqual(end === 'on' ? ['Ready'] : []);
    expect(town.infrastructure.environments.size).toBe(end === 'on' ? 1 : 0);
    expect(town.engine.load).toMatchObject({ ready: 0, running: 0 });
    // Two a second at most, whatever happens in between, and nothing is done more often than it was asked for.
    expect(town.views.length).toBeLessThanOrEqual(2 * 60 + 5);
    expect(town.provider.calls.ensure).toBeLessThanOrEqual(rounds / 4 + 1);
    expect(town.provider.calls.remove).toBeLessThanOrEqual(rounds / 4 + 1);
  });
});

describe('a token that is revoked in the middle', () => {
  const revoked = new EphError('forge.refused', 'the credentials are not valid, or not any more; give Eph new ones');
  const revoke = (town: EngineHarness, ...operations: readonly string[]): void => {
    town.forgeOptions = {
      disturb: (operation) =>
        operations.length === 0 || operations.includes(operation) ? Promise.reject(revoked) : Promise.resolve(),
    };
  };

  it('of a pass destroys nothing, and what it would have removed goes once there is another', async () => {
    const town = create(byLabel).start();
    const ref = town.repository.pullRequests.open({ head: 'work', labels: ['preview'] });
    await town.live(settle);
    town.repository.pullRequests.unlabel(ref, 'preview');
    // The list could still be read.
    revoke(town, 'source', 'readFile', 'pulls', 'exportTree');
    await town.live(hour);
    revoke(town);
    await town.live(hour);
    expect(Object.keys(town.running())).toEqual(['1/web']);
    expect(town.provider.calls.remove).toBe(0);
    expect(town.engine.faults().get(shop)).toMatchObject([{ code: 'forge.refused' }]);
    town.forgeOptions = {};
    await town.live(hour);
    expect(town.running()).toEqual({});
  });

  it('of a start keeps what runs, and what is new comes once there is another', async () => {
    const town = create(byLabel).start();
    town.repository.pullRequests.open({ head: 'work', labels: ['preview'] });
    await town.live(settle);
    revoke(town, 'readFile', 'source', 'pulls', 'exportTree');
    const commit = town.repository.push(branch('work'), { 'eph.yaml': byLabel, 'src/work.txt': '2' });
    await town.restart();
    town.repository.pullRequests.open({ head: 'main', labels: ['preview'] });
    await town.live(hour);
    expect(Object.keys(town.running())).toEqual(['1/web']);
    town.forgeOptions = {};
    await town.live(hour);
    expect(Object.keys(town.running()).toSorted()).toEqual(['1/web', '2/web']);
    expect(town.running()['1/web']).toBe(commit);
  });
});

describe('a repository that was deleted or made private', () => {
  it('keeps its environments for as long as nobody can tell which of the two it was', async () => {
    const town = create(byLabel).start();
    town.repository.pullRequests.open({ head: 'work', labels: ['preview'] });
    await town.live(settle);
    const hidden = new EphError('forge.refused', 'acme/shop does not exist, or Eph may not see it');
    town.forgeOptions = { disturb: () => Promise.reject(hidden) };
    await town.live(24 * hour);
    await town.restart();
    await town.live(24 * hour);
    expect(Object.keys(town.running())).toEqual(['1/web']);
    expect(town.provider.calls.remove).toBe(0);
    town.forgeOptions = {};
    await town.live(settle);
    expect(town.only().status?.phase).toBe('Ready');
  });

  it('and made anew under its name, empty, is held for an operator', async () => {
    const town = create(byLabel).start();
    for (let count = 0; count < 3; count += 1) town.repository.pullRequests.open({ head: 'work', labels: ['preview'] });
    await town.live(settle);
    const before = town.running();
    town.repository.refs.clear();
    await town.live(24 * hour);
    expect([town.running(), town.provider.calls.remove]).toEqual([before, 0]);
    expect(town.engine.environments().map(({ held }) => held)).toEqual([true, true, true]);
    for (const { id } of town.engine.environments()) expect(town.engine.release(id)).toBe(true);
    await town.live(settle);
    expect(town.running()).toEqual({});
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
      const town = new SkewedHarness();
      town.skewMs = seconds * 1000;
      create(byLabel, town).start();
      const ref = town.repository.pullRequests.open({ head: 'work', labels: ['preview', 'preview:1h'] });
      await town.live(hour + seconds - settle);
      expect(Object.keys(town.running())).toEqual(['1/web']);
      await town.live(2 * settle);
      expect(town.running()).toEqual({});
      expect(town.repository.pullRequests.find(ref).pull.labels).toEqual(['preview:1h']);
    },
  );

  it('by more than an environment may live end it at once, once, and say so', async () => {
    const town = new SkewedHarness();
    town.skewMs = -2 * hour * 1000;
    create(byLabel, town).start();
    town.repository.pullRequests.open({ head: 'work', labels: ['preview', 'preview:1h'] });
    await town.live(hour);
    expect(town.running()).toEqual({});
    expect(town.events.filter(({ type }) => type === 'environment.expired')).toHaveLength(1);
    expect(town.views.at(-1)?.summary).toContain('expired 1h');
  });

  it.each([-24, 24])('do not matter when ours is set by %i h: nothing goes, and passes go on', async (hours) => {
    const town = create(byLabel).start();
    const ref = town.repository.pullRequests.open({ head: 'work', labels: ['preview'] });
    await town.live(settle);
    town.clock.jump(hours * hour * 1000);
    await town.live(10 * settle);
    expect(Object.keys(town.running())).toEqual(['1/web']);
    const commit = town.repository.push(branch('work'), { 'eph.yaml': byLabel, 'src/work.txt': '2' });
    await town.live(2 * settle);
    expect(town.running()).toEqual({ '1/web': commit });
    town.repository.pullRequests.unlabel(ref, 'preview');
    await town.live(2 * settle);
    expect(town.running()).toEqual({});
  });
});
