import { EphError, type ProjectId, projectId } from '@eph/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FakeForge, FakeRepository } from '../source/forge.fake.ts';
import { branch, EngineHarness, oneService, shop } from './engine-harness.fake.ts';

const settle = 60;

/** With these branches ready. Every environment has to be known whenever something about it changes, and to be reachable. */
const startWith = async (...branches: readonly string[]) => {
  const harness = new EngineHarness().start();
  onTestFinished(() => harness.engine.close());
  for (const name of branches) harness.push(name);
  await harness.live(settle);
  return harness;
};

const leave = (harness: EngineHarness): void => harness.engine.removeProjects(new Set([shop]));
const join = (harness: EngineHarness): void => harness.engine.addProjects(harness.configure(new Map([[shop, harness.forge]])));

const callsThatChange = ({ provider: { calls } }: EngineHarness) => ({ ...calls, list: 0 });

describe('a project that leaves', () => {
  it('has its environments held, and nothing is done with them', async () => {
    const harness = await startWith('preview/a', 'preview/b');
    const before = harness.running();
    const calls = callsThatChange(harness);
    const reports = harness.reports.length;
    const entries: unknown[] = [];
    harness.onChange = (id) => entries.push(harness.engine.environment(id)?.observed?.components[0]?.current?.health);
    leave(harness);
    harness.push('preview/a');
    harness.repository.delete(branch('preview/b'));
    harness.forge.nudge();
    harness.engine.wakeProject(shop);
    await harness.live(3600);
    expect(harness.running()).toEqual(before);
    expect(callsThatChange(harness)).toEqual(calls);
    expect(harness.engine.environments()).toMatchObject([
      { held: true, status: { phase: 'Held' }, decision: { because: 'project shop is not configured here' } },
      { held: true, status: { phase: 'Held' } },
    ]);
    expect(new Set(entries)).toEqual(new Set(['ready']));
    expect(harness.reports).toHaveLength(reports);
    expect(harness.engine.projects().size).toBe(0);
    expect(harness.failures).toEqual([]);
  });

  it('goes on as before when it returns', async () => {
    const harness = await startWith('preview/a', 'preview/b');
    const before = harness.running();
    const identities = harness.engine.environments().map(({ id, name }) => ({ id, name }));
    const calls = callsThatChange(harness);
    const reports = harness.reports.length;
    leave(harness);
    await harness.live(settle);
    const seen: (string | undefined)[] = [];
    harness.onChange = (id) => seen.push(harness.engine.environment(id)?.observed?.components[0]?.current?.health);
    join(harness);
    await harness.live(settle);
    expect(harness.engine.environments()).toMatchObject(
      identities.map((one) => ({ ...one, held: false, settled: true, status: { phase: 'Ready' } })),
    );
    expect(harness.running()).toEqual(before);
    expect(callsThatChange(harness)).toEqual(calls);
    expect(new Set(seen)).toEqual(new Set(['ready']));
    expect(harness.reports).toHaveLength(reports);
    expect(harness.failures).toEqual([]);
    harness.push('preview/a');
    harness.forge.nudge();
    await harness.engine.idle();
    expect(harness.provider.calls.ensure).toBe(calls.ensure + 1);
  });

  it('removes what was deleted while it was away, but only once it has been read', async () => {
    const harness = await startWith('preview/a', 'preview/b', 'preview/c');
    leave(harness);
    await harness.live(settle);
    harness.repository.delete(branch('preview/b'));
    harness.forgeOptions = { disturb: () => Promise.reject(new EphError('forge.unreachable', 'no answer')) };
    join(harness);
    await harness.live(3600);
    expect(Object.keys(harness.running())).toHaveLength(3);
    expect(harness.engine.environments().filter(({ held }) => held)).toEqual([]);
    harness.forgeOptions = {};
    await harness.live(3600);
    expect(Object.keys(harness.running())).toEqual(['preview/a/web', 'preview/c/web']);
  });

  it('is removed when an operator releases it, unless it returns first', async () => {
    const harness = await startWith('preview/a', 'preview/b');
    const [a, b] = [harness.record('preview/a'), harness.record('preview/b')];
    leave(harness);
    await harness.live(settle);
    harness.engine.release(a.id);
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['preview/b/web']);
    const gate = Promise.withResolvers<void>();
    harness.providerOptions = { disturb: (operation) => (operation === 'remove' ? gate.promise : Promise.resolve()) };
    harness.engine.release(b.id);
    join(harness);
    gate.resolve();
    await harness.live(settle);
    expect(Object.keys(harness.running()).toSorted()).toEqual(['preview/a/web', 'preview/b/web']);
    expect(harness.engine.environments()).toMatchObject([{ held: false }, { held: false }]);
  });

  it.each(['sources', 'readFile'])('ends a reading that is under way at %s, without a failure', async (operation) => {
    const harness = await startWith('preview/a');
    const [gate, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    harness.forgeOptions = {
      disturb: async (one) => {
        if (one !== operation) return;
        begun.resolve();
        await gate.promise;
      },
    };
    harness.push('preview/b');
    harness.forge.nudge();
    await begun.promise;
    leave(harness);
    gate.reject(new EphError('forge.unreachable', 'the forge was closed'));
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['preview/a/web']);
    expect(harness.only()).toMatchObject({ held: true });
    expect(harness.failures).toEqual([]);
  });

  it('ends the runs of its environments that are under way, and holds what they have made', async () => {
    const harness = await startWith();
    const [gate, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    harness.providerOptions = {
      disturb: async (operation) => {
        if (operation !== 'ensure') return;
        begun.resolve();
        await gate.promise;
      },
    };
    harness.push('preview/a');
    harness.forge.nudge();
    await begun.promise;
    leave(harness);
    gate.resolve();
    await harness.live(settle);
    const made = Object.keys(harness.running()).length;
    expect(harness.engine.environments()).toHaveLength(made);
    expect(harness.engine.environments().every(({ held }) => held)).toBe(true);
    expect(harness.failures).toEqual([]);
    harness.providerOptions = {};
    join(harness);
    await harness.live(settle);
    expect(harness.only()).toMatchObject({ held: false, status: { phase: 'Ready' } });
  });

  it('has reports that were not delivered dropped', async () => {
    const harness = await startWith();
    const refused: string[] = [];
    harness.onReport = ({ text }) => {
      refused.push(text);
      return Promise.reject(new EphError('forge.unreachable', 'no answer'));
    };
    harness.push('preview/a');
    harness.forge.nudge();
    await harness.live(settle);
    leave(harness);
    const { length } = refused;
    expect(length).toBeGreaterThan(0);
    await harness.live(3600);
    expect(refused).toHaveLength(length);
    harness.onReport = undefined;
    join(harness);
    await harness.live(settle);
    expect(harness.reports.at(-1)).toContain('Ready');
  });
});

describe('other projects', () => {
  it('go on while 500 leave and return, and all 500 are as they were', async () => {
    const harness = await startWith('preview/a');
    const forges = new Map<ProjectId, FakeForge>();
    for (let index = 0; index < 500; index += 1) {
      const id = projectId(`p${index}`);
      const repository = new FakeRepository(id);
      repository.push(branch(index % 5 === 0 ? 'preview/a' : 'main'), { 'eph.yaml': oneService });
      forges.set(id, new FakeForge(id, repository));
    }
    const many = harness.configure(forges);
    harness.engine.addProjects(many);
    await harness.live(12);
    const before = harness.engine.environments().map(({ id, name, observed }) => ({ id, name, mark: observed?.mark }));
    expect(before).toHaveLength(101);
    const calls = callsThatChange(harness);
    for (const seconds of [0, 1, 15]) {
      harness.engine.removeProjects(new Set(many.keys()));
      expect(harness.engine.environments().filter(({ held }) => held)).toHaveLength(100);
      if (seconds > 0) await harness.live(seconds);
      harness.engine.addProjects(many);
      await harness.live(1);
    }
    expect(harness.engine.environments().map(({ id, name, observed }) => ({ id, name, mark: observed?.mark }))).toEqual(before);
    expect(harness.engine.environments().every(({ held, status }) => !held && status?.phase === 'Ready')).toBe(true);
    expect(callsThatChange(harness)).toEqual(calls);
    expect(harness.failures.filter((one) => !one.endsWith('has not been read yet'))).toEqual([]);
  });
});
