import { type EnvironmentId, EphError } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { branch, EngineHarness, oneService, shop } from './engine-harness.fake.ts';
import type { EnvironmentRecord } from './memory.ts';

const twoServices = `version: "1.0"
name: shop
process:
  services:
    web:
      command: run web
      entry: true
      env: { API: outputs/api/url }
    api: { command: run api }
`;

const settle = 60;

describe('the life of an environment', () => {
  it('comes with its branch, follows its commits and goes with it', async () => {
    const town = new EngineHarness().start();
    const first = town.push('preview/login');
    await town.live(settle);
    expect(town.running()).toEqual({ 'preview/login/web': first });
    expect(town.only().status?.phase).toBe('Ready');
    const name = town.only().name;

    const second = town.push('preview/login');
    await town.live(settle);
    expect(town.running()).toEqual({ 'preview/login/web': second });
    expect(town.only().name).toBe(name);

    town.repository.delete(branch('preview/login'));
    await town.live(settle);
    expect(town.running()).toEqual({});
    expect(town.engine.environments()).toEqual([]);
    expect(town.reports.at(-1)).toContain('removed');
  });

  it('is not made for a branch no trigger asks for', async () => {
    const town = new EngineHarness().start();
    town.push('main');
    await town.live(settle);
    expect(town.engine.environments()).toEqual([]);
  });

  it('keeps its name when the server key is lost and the template changes', async () => {
    const town = new EngineHarness().start();
    town.push('preview/a');
    await town.live(settle);
    const { name, id } = town.only();
    town.serverKey = 'another key';
    await town.restart();
    town.push('preview/a', oneService.replace('name: shop', 'name: shop\nenvironment: { name_template: "x-{words}" }'));
    await town.live(settle);
    expect(town.only()).toMatchObject({ name, id });
    expect(town.infrastructure.environments.size).toBe(1);
  });

  it('starts a component only when what it refers to is ready, and passes on its output', async () => {
    const town = new EngineHarness().start();
    town.push('preview/two', twoServices);
    await town.live(0.5);
    expect(town.running()).toEqual({ 'preview/two/api': 'nothing' });
    expect(town.engine.explain(town.only().id)?.join('\n')).toContain('outputs/api/url: api is not ready yet');
    await town.live(settle);
    const slots = town.infrastructure.environments.get(town.only().id)?.slots;
    const api = [...(slots ?? [])].find(([component]) => component === 'api')?.[1].current?.component;
    const web = [...(slots ?? [])].find(([component]) => component === 'web')?.[1].current?.component;
    expect(web?.values['env']).toMatchObject({ API: `http://api.process.test/${api?.revision}` });
    expect(town.only().status?.phase).toBe('Ready');
  });

  it('keeps the old version of what others use until they have moved on', async () => {
    const town = new EngineHarness().start();
    town.push('preview/two', twoServices);
    await town.live(settle);
    town.behaviourOf = (component) => (component.name === 'web' && component.commit === second ? 'never ready' : 'gets ready');
    const second = town.push('preview/two', twoServices);
    await town.live(settle);
    const retiring = (): (string | undefined)[] =>
      [...(town.infrastructure.environments.get(town.only().id)?.slots ?? [])].flatMap(([name, slot]) =>
        slot.retiring ? [name] : [],
      );
    expect(retiring()).toEqual(['api']);
    expect(town.only().status).toMatchObject({ phase: 'Degraded' });
    expect(town.only().status?.summary).toContain('the version before keeps serving');
    town.behaviourOf = () => 'gets ready';
    await town.live(settle);
    expect(retiring()).toEqual([]);
    expect(town.only().status?.phase).toBe('Ready');
  });

  it('removes a component that is no longer in the file, and only after the rest has settled', async () => {
    const town = new EngineHarness().start();
    town.push('preview/two', twoServices);
    await town.live(settle);
    const commit = town.push('preview/two', oneService);
    await town.live(settle);
    expect(town.running()).toEqual({ 'preview/two/web': commit });
  });
});

describe('doubt', () => {
  it('deletes nothing when Git cannot be read', async () => {
    const town = new EngineHarness().start();
    town.push('preview/a');
    await town.live(settle);
    town.repository.delete(branch('preview/a'));
    town.forgeOptions = { disturb: () => Promise.reject(new EphError('forge.unreachable', 'no answer')) };
    await town.live(3600);
    expect(Object.keys(town.running())).toEqual(['preview/a/web']);
    town.forgeOptions = {};
    await town.live(3600);
    expect(town.running()).toEqual({});
  });

  it('deletes nothing on a listing that lies: the one source is read again first', async () => {
    const town = new EngineHarness().start();
    town.push('preview/a');
    await town.live(settle);
    town.forgeOptions = { lose: () => ({ sources: [], admitted: false }) };
    await town.live(3600);
    expect(Object.keys(town.running())).toEqual(['preview/a/web']);
  });

  it('leaves everything as it is after a restart without an answer from Git, and still shows it', async () => {
    const town = new EngineHarness().start();
    town.push('preview/a');
    await town.live(settle);
    town.forgeOptions = { disturb: () => Promise.reject(new EphError('forge.unreachable', 'no answer')) };
    await town.restart();
    await town.live(settle);
    expect(Object.keys(town.running())).toEqual(['preview/a/web']);
    expect(town.engine.explain(town.only().id)?.[0]).toContain('left as it is');
  });

  it('makes nothing while a provider cannot say what it holds', async () => {
    const town = new EngineHarness();
    town.providerOptions = {
      disturb: (operation) => (operation === 'list' ? Promise.reject(new Error('down')) : Promise.resolve()),
    };
    town.start();
    town.push('preview/a');
    await town.live(settle);
    expect(town.provider.calls.ensure).toBe(0);
    town.providerOptions = {};
    await town.live(3600);
    expect(Object.keys(town.running())).toEqual(['preview/a/web']);
  });

  it('shows a file it cannot understand on that environment alone', async () => {
    const town = new EngineHarness().start();
    town.push('preview/good');
    town.push('preview/bad', 'version: "1.0"\nname: shop\nprocces: {}\n');
    await town.live(settle);
    expect(Object.keys(town.running())).toEqual(['preview/good/web']);
    const bad = town.engine.environments().find((one) => one.ref.name === 'preview/bad');
    expect(bad?.status).toMatchObject({ phase: 'Failed' });
    expect(bad?.status?.conditions.find((one) => one.type === 'SpecValid')).toMatchObject({ status: 'False' });
    expect(bad?.status?.summary).toContain('did you mean "process"?');
  });

  it('keeps what runs when a new commit breaks the file, also where only the file said that it is wanted', async () => {
    const town = new EngineHarness().start();
    const triggers = 'triggers: [{ type: git_branch, patterns: ["feature/*"] }]\n';
    const good = town.push('feature/a', `${triggers}${oneService}`);
    await town.live(settle);
    town.push('feature/a', ': not yaml [');
    await town.live(3600);
    expect(town.running()).toEqual({ 'feature/a/web': good });
    expect(town.only().status).toMatchObject({
      phase: 'Degraded',
      summary: expect.stringContaining('the version before keeps serving'),
    });
    await town.restart();
    await town.live(3600);
    expect(town.running()).toEqual({ 'feature/a/web': good });
    const fixed = town.push('feature/a', `${triggers}${oneService}`);
    await town.live(settle);
    expect(town.running()).toEqual({ 'feature/a/web': fixed });
    expect(town.only().status?.phase).toBe('Ready');
  });

  it('keeps what runs when a new commit breaks the file', async () => {
    const town = new EngineHarness().start();
    const good = town.push('preview/a');
    await town.live(settle);
    town.push('preview/a', ': not yaml [');
    await town.live(settle);
    expect(town.running()).toEqual({ 'preview/a/web': good });
    expect(town.only().status?.phase).toBe('Degraded');
  });
});

describe('the deletion guard', () => {
  const many = async (): Promise<EngineHarness> => {
    const town = new EngineHarness().start();
    town.push('main');
    for (let index = 0; index < 20; index += 1) town.push(`preview/${index}`);
    await town.live(settle);
    expect(town.infrastructure.environments.size).toBe(20);
    for (let index = 0; index < 20; index += 1) town.repository.delete(branch(`preview/${index}`));
    return town;
  };

  it('removes a bound number and holds the rest until an operator releases it', async () => {
    const town = await many();
    await town.live(3600);
    expect(town.infrastructure.environments.size).toBe(15);
    const held = town.engine.environments();
    expect(held.every((one) => one.held)).toBe(true);
    expect(held[0]?.status?.conditions.find((one) => one.type === 'Held')).toMatchObject({ status: 'True' });
    expect(town.engine.release(held[0]?.id as EnvironmentId)).toBe(true);
    await town.live(settle);
    expect(town.infrastructure.environments.size).toBe(14);
    for (const one of held) town.engine.release(one.id);
    await town.live(settle);
    expect(town.infrastructure.environments.size).toBe(0);
  });

  it('removes nothing when nothing at all is left of a project', async () => {
    const town = new EngineHarness().start();
    for (const name of ['a', 'b', 'c']) town.push(`preview/${name}`);
    await town.live(settle);
    for (const name of ['a', 'b', 'c']) town.repository.delete(branch(`preview/${name}`));
    await town.live(3600);
    expect(town.infrastructure.environments.size).toBe(3);
    expect(town.engine.environments().every((one) => one.held)).toBe(true);
    for (const { id } of town.engine.environments()) town.engine.release(id);
    await town.live(settle);
    expect(town.infrastructure.environments.size).toBe(0);
  });

  it('removes nothing of too many right after a start, however often it is started', async () => {
    const town = await many();
    for (let round = 0; round < 5; round += 1) {
      await town.restart();
      await town.live(settle);
    }
    expect(town.infrastructure.environments.size).toBe(20);
  });

  it('lets go of the hold when the source comes back', async () => {
    const town = await many();
    await town.live(settle);
    const back = town.engine.environments()[0] as EnvironmentRecord;
    town.push(back.ref.name);
    await town.live(settle);
    expect(town.engine.memory.get(back.id)).toMatchObject({ held: false });
    expect(town.engine.memory.get(back.id)?.status?.phase).toBe('Ready');
  });

  it('holds environments of a project that is not configured any more', async () => {
    const town = new EngineHarness().start();
    town.push('preview/a');
    await town.live(settle);
    await town.restart([]);
    await town.live(settle);
    expect(town.infrastructure.environments.size).toBe(1);
    expect(town.only().held).toBe(true);
    town.engine.release(town.only().id);
    await town.live(settle);
    expect(town.infrastructure.environments.size).toBe(0);
    expect(town.engine.environments()).toEqual([]);
  });
});

describe('effort', () => {
  it('looks at unchanged environments without calling the provider for any of them', async () => {
    const town = new EngineHarness().start();
    for (let index = 0; index < 50; index += 1) town.push(`preview/${index}`);
    await town.live(settle);
    const before = { ...town.provider.calls };
    town.engine.wakeAll();
    await town.engine.idle();
    expect(town.provider.calls).toEqual({ ...before, list: before.list + 1 });
  });

  it('makes the next pass soon when somebody is at work, also on a quiet week-end', async () => {
    const town = new EngineHarness();
    town.clock.advance(5 * 24 * 3600 * 1000);
    expect(new Date(town.clock.now()).getUTCDay()).toBe(6);
    town.start();
    await town.live(1);
    const before = town.provider.calls.list;
    await town.live(60);
    expect(town.provider.calls.list).toBe(before);
    town.push('preview/a');
    town.engine.wakeProject(shop);
    await town.live(4);
    const afterPush = town.provider.calls.list;
    await town.live(11);
    expect(town.provider.calls.list).toBeGreaterThan(afterPush);
  });

  it('stops an apply that a newer commit has made pointless', async () => {
    const town = new EngineHarness().start();
    const gate = Promise.withResolvers<void>();
    town.providerOptions = {
      disturb: (operation, moment) => (operation === 'ensure' && moment === 'before' ? gate.promise : Promise.resolve()),
    };
    town.push('preview/a');
    town.engine.wakeAll();
    while (town.provider.calls.ensure === 0) await Promise.resolve();
    const newer = town.push('preview/a');
    town.engine.wakeProject(shop);
    for (let turn = 0; turn < 200; turn += 1) await Promise.resolve();
    town.providerOptions = {};
    gate.resolve();
    await town.live(settle);
    expect(town.running()).toEqual({ 'preview/a/web': newer });
    expect(town.events.filter((event) => event.type === 'component.applied')).toHaveLength(1);
  });

  it('tries again after a failure, later each time, and other environments do not notice', async () => {
    const town = new EngineHarness().start();
    let failures = 0;
    town.providerOptions = {
      disturb: (operation, moment, environment) => {
        const bad = town.engine.memory.get(environment as EnvironmentId)?.ref.name === 'preview/bad';
        if (operation !== 'ensure' || moment !== 'before' || !bad || failures >= 6) return Promise.resolve();
        failures += 1;
        return Promise.reject(new EphError('provider.unreachable', 'not now'));
      },
    };
    town.push('preview/bad');
    town.push('preview/good');
    await town.live(1.5);
    expect(Object.keys(town.running())).toContain('preview/good/web');
    await town.live(settle);
    expect(failures).toBe(6);
    expect(Object.keys(town.running()).toSorted()).toEqual(['preview/bad/web', 'preview/good/web']);
  });

  it('plans nothing for a branch that has no environment and whose file nobody understands', async () => {
    const town = new EngineHarness().start();
    await town.live(1);
    town.push('main', ': [');
    const before = town.provider.calls.list;
    await town.live(300);
    expect(await town.engine.plan(new AbortController().signal)).toEqual({ plans: [], faults: [] });
    expect(town.engine.environments()).toEqual([]);
    expect(town.provider.calls.list - before).toBeLessThan(40);
  });

  it('plans without doing', async () => {
    const town = new EngineHarness().start();
    await town.live(1);
    town.push('preview/a');
    const { plans } = await town.engine.plan(new AbortController().signal);
    expect(plans).toMatchObject([{ wanted: true, actions: [{ type: 'create', component: 'web' }] }]);
    expect(town.infrastructure.environments.size).toBe(0);
  });
});
