import { type EnvironmentId, EphError } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { branch, EngineHarness, oneService, shop, twoServices } from './engine-harness.fake.ts';
import type { EnvironmentRecord } from './record.ts';

const settle = 60;

describe('the life of an environment', () => {
  it('comes with its branch, follows its commits and goes with it', async () => {
    const harness = new EngineHarness().start();
    const first = harness.push('preview/login');
    await harness.live(settle);
    expect(harness.running()).toEqual({ 'preview/login/web': first });
    expect(harness.only().status?.phase).toBe('Ready');
    const name = harness.only().name;

    const second = harness.push('preview/login');
    await harness.live(settle);
    expect(harness.running()).toEqual({ 'preview/login/web': second });
    expect(harness.only().name).toBe(name);

    harness.repository.delete(branch('preview/login'));
    await harness.live(settle);
    expect(harness.running()).toEqual({});
    expect(harness.engine.environments()).toEqual([]);
    expect(harness.reports.at(-1)).toContain('removed');
  });

  it('is not made for a branch no trigger asks for', async () => {
    const harness = new EngineHarness().start();
    harness.push('main');
    await harness.live(settle);
    expect(harness.engine.environments()).toEqual([]);
  });

  it('keeps its name when the server key is lost and the template changes', async () => {
    const harness = new EngineHarness().start();
    harness.push('preview/a');
    await harness.live(settle);
    const { name, id } = harness.only();
    harness.serverKey = 'another key';
    await harness.restart();
    harness.push('preview/a', oneService.replace('name: shop', 'name: shop\nenvironment: { name_template: "x-{words}" }'));
    await harness.live(settle);
    expect(harness.only()).toMatchObject({ name, id });
    expect(harness.infrastructure.environments.size).toBe(1);
  });

  it('starts a component only when what it refers to is ready, and passes on its output', async () => {
    const harness = new EngineHarness().start();
    harness.push('preview/two', twoServices);
    await harness.live(0.5);
    expect(harness.running()).toEqual({ 'preview/two/api': 'nothing' });
    expect(harness.engine.explain(harness.only().id)?.join('\n')).toContain('outputs/api/url: api is not ready yet');
    await harness.live(settle);
    const slots = harness.infrastructure.environments.get(harness.only().id)?.slots;
    const api = [...(slots ?? [])].find(([component]) => component === 'api')?.[1].current?.component;
    const web = [...(slots ?? [])].find(([component]) => component === 'web')?.[1].current?.component;
    expect(web?.values['env']).toMatchObject({ API: `http://api.process.test/${api?.revision}` });
    expect(harness.only().status?.phase).toBe('Ready');
  });

  it('keeps the old version of what others use until they have moved on', async () => {
    const harness = new EngineHarness().start();
    harness.push('preview/two', twoServices);
    await harness.live(settle);
    harness.behaviourOf = (component) => (component.name === 'web' && component.commit === second ? 'never ready' : 'gets ready');
    const second = harness.push('preview/two', twoServices);
    await harness.live(settle);
    const retiring = (): (string | undefined)[] =>
      [...(harness.infrastructure.environments.get(harness.only().id)?.slots ?? [])].flatMap(([name, slot]) =>
        slot.retiring ? [name] : [],
      );
    expect(retiring()).toEqual(['api']);
    expect(harness.only().status).toMatchObject({ phase: 'Degraded' });
    expect(harness.only().status?.summary).toContain('the version before keeps serving');
    harness.behaviourOf = () => 'gets ready';
    await harness.live(settle);
    expect(retiring()).toEqual([]);
    expect(harness.only().status?.phase).toBe('Ready');
  });

  it('removes a component that is no longer in the file, and only after the rest has settled', async () => {
    const harness = new EngineHarness().start();
    harness.push('preview/two', twoServices);
    await harness.live(settle);
    const commit = harness.push('preview/two', oneService);
    await harness.live(settle);
    expect(harness.running()).toEqual({ 'preview/two/web': commit });
  });
});

describe('doubt', () => {
  it('deletes nothing when Git cannot be read', async () => {
    const harness = new EngineHarness().start();
    harness.push('preview/a');
    await harness.live(settle);
    harness.repository.delete(branch('preview/a'));
    harness.forgeOptions = { disturb: () => Promise.reject(new EphError('forge.unreachable', 'no answer')) };
    await harness.live(3600);
    expect(Object.keys(harness.running())).toEqual(['preview/a/web']);
    harness.forgeOptions = {};
    await harness.live(3600);
    expect(harness.running()).toEqual({});
  });

  it('deletes nothing on a listing that lies: the one source is read again first', async () => {
    const harness = new EngineHarness().start();
    harness.push('preview/a');
    await harness.live(settle);
    harness.forgeOptions = { lose: () => ({ sources: [], admitted: false }) };
    await harness.live(3600);
    expect(Object.keys(harness.running())).toEqual(['preview/a/web']);
  });

  it('leaves everything as it is after a restart without an answer from Git, and still shows it', async () => {
    const harness = new EngineHarness().start();
    harness.push('preview/a');
    await harness.live(settle);
    harness.forgeOptions = { disturb: () => Promise.reject(new EphError('forge.unreachable', 'no answer')) };
    await harness.restart();
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['preview/a/web']);
    expect(harness.engine.explain(harness.only().id)?.[0]).toContain('left as it is');
  });

  it('makes nothing while a provider cannot say what it holds', async () => {
    const harness = new EngineHarness();
    harness.providerOptions = {
      disturb: (operation) => (operation === 'list' ? Promise.reject(new Error('down')) : Promise.resolve()),
    };
    harness.start();
    harness.push('preview/a');
    await harness.live(settle);
    expect(harness.provider.calls.ensure).toBe(0);
    harness.providerOptions = {};
    await harness.live(3600);
    expect(Object.keys(harness.running())).toEqual(['preview/a/web']);
  });

  it('shows a file it cannot understand on that environment alone', async () => {
    const harness = new EngineHarness().start();
    harness.push('preview/good');
    harness.push('preview/bad', 'version: "1.0"\nname: shop\nprocces: {}\n');
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['preview/good/web']);
    const bad = harness.engine.environments().find((one) => one.ref.name === 'preview/bad');
    expect(bad?.status).toMatchObject({ phase: 'Failed' });
    expect(bad?.status?.conditions.find((one) => one.type === 'SpecValid')).toMatchObject({ status: 'False' });
    expect(bad?.status?.summary).toContain('did you mean "process"?');
  });

  it('keeps what runs when a new commit breaks the file, also where only the file said that it is wanted', async () => {
    const harness = new EngineHarness().start();
    const triggers = 'triggers: [{ type: git_branch, patterns: ["feature/*"] }]\n';
    const good = harness.push('feature/a', `${triggers}${oneService}`);
    await harness.live(settle);
    harness.push('feature/a', ': not yaml [');
    await harness.live(3600);
    expect(harness.running()).toEqual({ 'feature/a/web': good });
    expect(harness.only().status).toMatchObject({
      phase: 'Degraded',
      summary: expect.stringContaining('the version before keeps serving'),
    });
    await harness.restart();
    await harness.live(3600);
    expect(harness.running()).toEqual({ 'feature/a/web': good });
    const fixed = harness.push('feature/a', `${triggers}${oneService}`);
    await harness.live(settle);
    expect(harness.running()).toEqual({ 'feature/a/web': fixed });
    expect(harness.only().status?.phase).toBe('Ready');
  });

  it('keeps what runs when a new commit breaks the file', async () => {
    const harness = new EngineHarness().start();
    const good = harness.push('preview/a');
    await harness.live(settle);
    harness.push('preview/a', ': not yaml [');
    await harness.live(settle);
    expect(harness.running()).toEqual({ 'preview/a/web': good });
    expect(harness.only().status?.phase).toBe('Degraded');
  });
});

describe('the deletion guard', () => {
  const many = async (): Promise<EngineHarness> => {
    const harness = new EngineHarness().start();
    harness.push('main');
    for (let index = 0; index < 20; index += 1) harness.push(`preview/${index}`);
    await harness.live(settle);
    expect(harness.infrastructure.environments.size).toBe(20);
    for (let index = 0; index < 20; index += 1) harness.repository.delete(branch(`preview/${index}`));
    return harness;
  };

  it('removes a bound number and holds the rest until an operator releases it', async () => {
    const harness = await many();
    await harness.live(3600);
    expect(harness.infrastructure.environments.size).toBe(15);
    const held = harness.engine.environments();
    expect(held.every((one) => one.held)).toBe(true);
    expect(held[0]?.status?.conditions.find((one) => one.type === 'Held')).toMatchObject({ status: 'True' });
    for (let time = 0; time < 2; time += 1) expect(harness.engine.release(held[0]?.id as EnvironmentId)).toBe(true);
    expect(harness.events.filter(({ type }) => type === 'deletion.released')).toHaveLength(1);
    await harness.live(settle);
    expect(harness.infrastructure.environments.size).toBe(14);
    for (const one of held) harness.engine.release(one.id);
    await harness.live(settle);
    expect(harness.infrastructure.environments.size).toBe(0);
  });

  it('may be told twice to let go, also once the removal is under way', async () => {
    const harness = await many();
    await harness.live(3600);
    const [first] = harness.engine.environments();
    const id = first?.id as EnvironmentId;
    harness.providerOptions = {
      disturb: (operation) =>
        operation === 'remove' ? Promise.reject(new EphError('provider.unreachable', 'it is away')) : Promise.resolve(),
    };
    expect(harness.engine.release(id)).toBe(true);
    await harness.live(settle);
    expect(harness.engine.environment(id)).toMatchObject({ held: false, status: { phase: 'Removing' } });
    expect(harness.engine.release(id)).toBe(true);
    expect(harness.events.filter(({ type }) => type === 'deletion.released')).toHaveLength(1);
    harness.providerOptions = {};
    await harness.live(settle);
    expect(harness.engine.release(id)).toBe(false);
  });

  it('removes nothing when nothing at all is left of a project', async () => {
    const harness = new EngineHarness().start();
    for (const name of ['a', 'b', 'c']) harness.push(`preview/${name}`);
    await harness.live(settle);
    for (const name of ['a', 'b', 'c']) harness.repository.delete(branch(`preview/${name}`));
    await harness.live(3600);
    expect(harness.infrastructure.environments.size).toBe(3);
    expect(harness.engine.environments().every((one) => one.held)).toBe(true);
    for (const { id } of harness.engine.environments()) harness.engine.release(id);
    await harness.live(settle);
    expect(harness.infrastructure.environments.size).toBe(0);
  });

  it('removes nothing of too many right after a start, however often it is started', async () => {
    const harness = await many();
    for (let round = 0; round < 5; round += 1) {
      await harness.restart();
      await harness.live(settle);
    }
    expect(harness.infrastructure.environments.size).toBe(20);
  });

  it('lets go of the hold when the source comes back', async () => {
    const harness = await many();
    await harness.live(settle);
    const back = harness.engine.environments()[0] as EnvironmentRecord;
    harness.push(back.ref.name);
    await harness.live(settle);
    expect(harness.engine.environment(back.id)).toMatchObject({ held: false });
    expect(harness.engine.environment(back.id)?.status?.phase).toBe('Ready');
  });

  it('holds environments of a project that is not configured any more', async () => {
    const harness = new EngineHarness().start();
    harness.push('preview/a');
    await harness.live(settle);
    await harness.restart([]);
    await harness.live(settle);
    expect(harness.infrastructure.environments.size).toBe(1);
    expect(harness.only().held).toBe(true);
    harness.engine.release(harness.only().id);
    await harness.live(settle);
    expect(harness.infrastructure.environments.size).toBe(0);
    expect(harness.engine.environments()).toEqual([]);
  });
});

describe('effort', () => {
  it('looks at unchanged environments without calling the provider for any of them', async () => {
    const harness = new EngineHarness().start();
    for (let index = 0; index < 50; index += 1) harness.push(`preview/${index}`);
    await harness.live(settle);
    const before = { ...harness.provider.calls };
    harness.engine.wakeAll();
    await harness.engine.idle();
    expect(harness.provider.calls).toEqual({ ...before, list: before.list + 1 });
  });

  it('makes the next pass soon when somebody is at work, also on a quiet week-end', async () => {
    const harness = new EngineHarness();
    harness.clock.advance(5 * 24 * 3600 * 1000);
    expect(new Date(harness.clock.now()).getUTCDay()).toBe(6);
    harness.start();
    await harness.live(1);
    const before = harness.provider.calls.list;
    await harness.live(60);
    expect(harness.provider.calls.list).toBe(before);
    harness.push('preview/a');
    harness.engine.wakeProject(shop);
    await harness.live(4);
    const afterPush = harness.provider.calls.list;
    await harness.live(11);
    expect(harness.provider.calls.list).toBeGreaterThan(afterPush);
  });

  it('stops an apply that a newer commit has made pointless', async () => {
    const harness = new EngineHarness().start();
    const gate = Promise.withResolvers<void>();
    harness.providerOptions = {
      disturb: (operation, moment) => (operation === 'ensure' && moment === 'before' ? gate.promise : Promise.resolve()),
    };
    harness.push('preview/a');
    harness.engine.wakeAll();
    while (harness.provider.calls.ensure === 0) await Promise.resolve();
    const newer = harness.push('preview/a');
    harness.engine.wakeProject(shop);
    for (let turn = 0; turn < 200; turn += 1) await Promise.resolve();
    harness.providerOptions = {};
    gate.resolve();
    await harness.live(settle);
    expect(harness.running()).toEqual({ 'preview/a/web': newer });
    expect(harness.events.filter((event) => event.type === 'component.applied')).toHaveLength(1);
  });

  it('tries again after a failure, later each time, and other environments do not notice', async () => {
    const harness = new EngineHarness().start();
    let failures = 0;
    harness.providerOptions = {
      disturb: (operation, moment, environment) => {
        const bad = harness.engine.environment(environment as EnvironmentId)?.ref.name === 'preview/bad';
        if (operation !== 'ensure' || moment !== 'before' || !bad || failures >= 6) return Promise.resolve();
        failures += 1;
        return Promise.reject(new EphError('provider.unreachable', 'not now'));
      },
    };
    harness.push('preview/bad');
    harness.push('preview/good');
    await harness.live(1.5);
    expect(Object.keys(harness.running())).toContain('preview/good/web');
    await harness.live(settle);
    expect(failures).toBe(6);
    expect(Object.keys(harness.running()).toSorted()).toEqual(['preview/bad/web', 'preview/good/web']);
  });

  it('plans nothing for a branch that has no environment and whose file nobody understands', async () => {
    const harness = new EngineHarness().start();
    await harness.live(1);
    harness.push('main', ': [');
    const before = harness.provider.calls.list;
    await harness.live(300);
    expect(await harness.engine.plan(() => true, new AbortController().signal)).toEqual({ plans: [], faults: [] });
    expect(harness.engine.environments()).toEqual([]);
    expect(harness.provider.calls.list - before).toBeLessThan(40);
  });

  it('plans without doing', async () => {
    const harness = new EngineHarness().start();
    await harness.live(1);
    harness.push('preview/a');
    const { plans } = await harness.engine.plan(() => true, new AbortController().signal);
    expect(plans).toMatchObject([{ wanted: true, actions: [{ type: 'create', component: 'web' }] }]);
    expect(harness.infrastructure.environments.size).toBe(0);
  });
});
