import { EphError } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { branch, EngineHarness } from './engine-harness.fake.ts';

const settle = 60;

const web = 'web: { command: run web, entry: true }';

const specOf = (provider: string, services = web, more = ''): string => `version: "1.0"
name: shop
${provider}
process:
  services:
    ${services}
${more}`;

const on = (name: string, ...rest: string[]): string => specOf(`provider: ${name}`, ...rest);

/** Three providers, of which two have one type. */
const start = (): EngineHarness => {
  const harness = new EngineHarness();
  harness.configured = [
    { name: 'process', type: 'process' },
    { name: 'local', type: 'process' },
    { name: 'toys', type: 'toy' },
  ];
  return harness.start();
};

const withExtras = 'extras:\n  cache: {}\n';

describe('where components are made', () => {
  it('is where the file says: by type, the first in the file of ephd, or by name', async () => {
    const harness = start();
    const [a, b] = [harness.push('preview/a', on('process')), harness.push('preview/b', on('local', web, withExtras))];
    await harness.live(settle);
    expect(harness.running()).toEqual({
      'preview/a/web': a,
      'preview/b/web on local': b,
      'preview/b/cache on toys': b,
    });
    expect(harness.record('preview/b').status?.phase).toBe('Ready');
  });

  it('is the fallback where the primary is not configured, with a truthful warning', async () => {
    const harness = start();
    const fallback = specOf('providers: { primary: kubernetes, fallback: local }', web, 'kubernetes: { manifests: [k8s] }\n');
    harness.push('preview/a', fallback);
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['preview/a/web on local']);
    const { status } = harness.record('preview/a');
    expect(status?.phase).toBe('Ready');
    expect(status?.conditions.find(({ type }) => type === 'Warning')?.message).toContain('kubernetes');
    expect(JSON.stringify(status)).not.toContain('no environment is made');
  });

  it('stays the fallback when the primary comes back, until the file changes the choice', async () => {
    const harness = start();
    harness.configured = [{ name: 'process', type: 'process' }];
    await harness.restart();
    const either = specOf('providers: { primary: local, fallback: process }');
    harness.push('preview/a', either);
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['preview/a/web']);
    harness.configured = [...harness.configured, { name: 'local', type: 'process' }];
    await harness.restart();
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['preview/a/web']);
    harness.push('preview/a', on('local'));
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['preview/a/web on local']);
  });
});

describe('a component that moves to another provider', () => {
  const app = 'web: { command: run web, entry: true, env: { API: outputs/api/url } }\n    api: { command: run api }';

  it('is made there first, and removed here once the new one is ready and has the traffic', async () => {
    const harness = start();
    const first = harness.push('preview/a', on('process', app));
    await harness.live(settle);
    let isReady = false;
    harness.behaviourOf = ({ provider }) => (provider !== 'local' || isReady ? 'gets ready' : 'never ready');
    const second = harness.push('preview/a', on('local', app));
    await harness.live(settle);
    expect(harness.running()).toMatchObject({
      'preview/a/web': first,
      'preview/a/api': first,
      'preview/a/api on local': 'nothing',
    });
    expect(harness.record('preview/a').status?.phase).toBe('Degraded');
    isReady = true;
    await harness.live(settle);
    expect(harness.running()).toEqual({ 'preview/a/web on local': second, 'preview/a/api on local': second });
    expect(harness.record('preview/a').status?.phase).toBe('Ready');
  });

  it('and back before it was ready leaves nothing there', async () => {
    const harness = start();
    harness.push('preview/a', on('process', app));
    await harness.live(settle);
    harness.behaviourOf = ({ provider }) => (provider === 'local' ? 'never ready' : 'gets ready');
    harness.push('preview/a', on('local', app));
    await harness.live(settle);
    const back = harness.push('preview/a', on('process', app));
    await harness.live(settle);
    expect(harness.running()).toEqual({ 'preview/a/web': back, 'preview/a/api': back });
  });

  it('and is renamed in the same commit leaves nothing behind', async () => {
    const harness = start();
    harness.push('preview/a', on('process'));
    await harness.live(settle);
    const moved = harness.push('preview/a', on('local', 'site: { command: run site, entry: true }'));
    await harness.live(settle);
    expect(harness.running()).toEqual({ 'preview/a/site on local': moved });
  });

  it('that two providers hold stays on the one the file names', async () => {
    const harness = start();
    harness.push('preview/a', on('local'));
    await harness.live(settle);
    const { identity, slots } = [...harness.infrastructureOf('local').environments.values()][0] ?? {};
    if (identity === undefined || slots === undefined) throw new Error('nothing was made');
    harness.infrastructure.environments.set(identity.id, { identity, slots: new Map(slots), held: false });
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['preview/a/web on local']);
  });
});

describe('a provider that is away', () => {
  it('freezes what is on it, and nothing else', async () => {
    const harness = start();
    const before = harness.push('preview/a', on('process'));
    harness.push('preview/b', on('local'));
    harness.push('preview/c', on('local'));
    await harness.live(settle);
    harness.away.add('process');
    harness.push('preview/a', on('process'));
    const after = harness.push('preview/b', on('local'));
    harness.repository.delete(branch('preview/c'));
    const made = harness.push('preview/d', on('local'));
    await harness.live(settle);
    expect(harness.running()).toMatchObject({
      'preview/a/web': before,
      'preview/b/web on local': after,
      'preview/d/web on local': made,
    });
    expect(Object.keys(harness.running())).not.toContain('preview/c/web on local');
    expect(harness.record('preview/a').status?.summary).toContain('process does not answer');
    expect(harness.engine.explain(harness.record('preview/a').id)?.join('\n')).toContain('provider process could not be read');
  });

  it('is asked again, and what waited for it goes on', async () => {
    const harness = start();
    harness.push('preview/a', on('process'));
    await harness.live(settle);
    harness.away.add('process');
    const after = harness.push('preview/a', on('process'));
    await harness.live(3600);
    harness.away.clear();
    await harness.live(1200);
    expect(harness.running()).toEqual({ 'preview/a/web': after });
    expect(harness.record('preview/a').status?.phase).toBe('Ready');
  });

  it('keeps a removal from being finished, and one that holds some of it keeps it from being begun', async () => {
    const harness = start();
    harness.push('preview/a', on('local'));
    harness.push('preview/b', on('local', web, withExtras));
    await harness.live(settle);
    harness.away.add('toys');
    harness.repository.delete(branch('preview/a'));
    harness.repository.delete(branch('preview/b'));
    await harness.live(settle);
    expect(Object.keys(harness.running()).toSorted()).toEqual(['preview/b/cache on toys', 'preview/b/web on local']);
    expect(harness.record('preview/a').status?.phase).toBe('Removing');
    harness.away.clear();
    await harness.live(1200);
    expect(harness.running()).toEqual({});
    expect(harness.engine.environments()).toEqual([]);
  });

  it('from the start makes only new environments with a name template wait', async () => {
    const harness = start();
    harness.away.add('toys');
    await harness.restart();
    const made = harness.push('preview/a', on('local'));
    harness.push('preview/b', on('local', web, 'environment: { name_template: "shop-{words}" }\n'));
    harness.push('preview/c', on('local', web, withExtras));
    await harness.live(settle);
    expect(harness.running()).toEqual({ 'preview/a/web on local': made });
    harness.away.clear();
    await harness.live(settle);
    expect(Object.keys(harness.running())).toHaveLength(4);
  });

  it('from the start does not make anything twice', async () => {
    const harness = start();
    harness.push('preview/a', specOf('providers: { primary: local, fallback: process }'));
    await harness.live(settle);
    harness.away.add('local');
    await harness.restart();
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['preview/a/web on local']);
    expect(harness.engine.environments()).toEqual([]);
    harness.away.clear();
    await harness.live(settle);
    expect(harness.record('preview/a').status?.phase).toBe('Ready');
  });

  it('from the start gives no name away that it shows when it is back', async () => {
    const harness = start();
    const oneName = 'environment: { name_template: "twin" }\n';
    harness.push('preview/a', on('process', web, oneName));
    await harness.live(settle);
    harness.away.add('process');
    harness.push('preview/a', on('local'));
    await harness.restart();
    harness.push('preview/b', on('local', web, oneName));
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['preview/a/web', 'preview/a/web on local']);
    const written = new Set<string>();
    harness.onChange = () => {
      for (const { environments } of harness.infrastructures.values())
        for (const { identity } of environments.values()) if (identity.name === 'shop-twin') written.add(identity.source.name);
    };
    harness.away.clear();
    await harness.live(2 * settle);
    expect(Object.keys(harness.running()).toSorted()).toEqual(['preview/a/web on local', 'preview/b/web on local']);
    expect([...written]).toEqual(['preview/a']);
    expect(harness.record('preview/b').name).not.toBe('shop-twin');
  });

  it('because it hangs delays nobody else', async () => {
    const harness = start();
    harness.push('preview/a', on('process'));
    await harness.live(settle);
    const gate = Promise.withResolvers<void>();
    const local = [...harness.providers.values()].find(({ name }) => name === 'local');
    if (local === undefined) throw new Error('there is no such provider');
    const { list } = local;
    local.list = async (...args) => {
      await gate.promise;
      return await list.apply(local, args);
    };
    harness.engine.wakeAll();
    for (let turn = 0; turn < 100; turn += 1) await Promise.resolve();
    harness.clock.advance(60_000);
    const after = harness.push('preview/a', on('process'));
    harness.engine.wakeProject(harness.forge.project);
    await harness.live(10);
    expect(harness.running()).toEqual({ 'preview/a/web': after });
    expect(harness.engine.away().get(local.name)?.message).toContain('did not answer within');
    gate.resolve();
    await harness.live(120);
    expect(harness.engine.away().size).toBe(0);
  });
});

describe('a removal that takes its time', () => {
  it('holds no worker, names what blocks it, and goes on until nothing is left', async () => {
    const harness = start();
    harness.push('main', on('process'));
    harness.push('preview/a', on('process'));
    await harness.live(settle);
    let isBlocked = true;
    harness.providerOptions = {
      disturb: (operation, moment) =>
        operation === 'remove' && moment === 'during' && isBlocked
          ? Promise.reject(new EphError('component.removing', 'a finalizer of web is not done'))
          : Promise.resolve(),
    };
    harness.repository.delete(branch('preview/a'));
    await harness.live(settle);
    const { status, actions } = harness.record('preview/a');
    expect(status).toMatchObject({ phase: 'Removing', summary: 'being removed: a finalizer of web is not done' });
    expect(actions).toMatchObject([{ type: 'wait', code: 'component.removing' }]);
    isBlocked = false;
    await harness.live(600);
    expect(harness.running()).toEqual({});
    expect(harness.engine.environments()).toEqual([]);
  });
});

describe('a hold', () => {
  const many = async (): Promise<EngineHarness> => {
    const harness = start();
    harness.push('main', on('process'));
    for (let index = 0; index < 20; index += 1) harness.push(`preview/${index}`, on('process'));
    await harness.live(settle);
    for (let index = 0; index < 20; index += 1) harness.repository.delete(branch(`preview/${index}`));
    await harness.live(settle);
    expect(harness.infrastructure.environments.size).toBe(15);
    return harness;
  };

  it('is written on the infrastructure and outlives a restart, however few are left', async () => {
    const harness = await many();
    expect([...harness.infrastructure.environments.values()].every(({ held }) => held)).toBe(true);
    for (const { id } of harness.engine.environments().slice(0, 12)) harness.engine.release(id);
    await harness.live(settle);
    expect(harness.infrastructure.environments.size).toBe(3);
    await harness.restart();
    await harness.live(3600);
    expect(harness.infrastructure.environments.size).toBe(3);
    expect(harness.engine.environments().every(({ status }) => status?.phase === 'Held')).toBe(true);
    for (const { id } of harness.engine.environments()) harness.engine.release(id);
    await harness.live(settle);
    expect(harness.running()).toEqual({});
  });

  it('is written before anything goes', async () => {
    const harness = start();
    harness.push('main', on('process'));
    for (let index = 0; index < 20; index += 1) harness.push(`preview/${index}`, on('process'));
    await harness.live(settle);
    harness.providerOptions = {
      disturb: (operation) => (operation === 'hold' ? Promise.reject(new Error('disk full')) : Promise.resolve()),
    };
    for (let index = 0; index < 20; index += 1) harness.repository.delete(branch(`preview/${index}`));
    await harness.live(3600);
    expect(harness.infrastructure.environments.size).toBe(20);
  });

  it('ends when its source comes back', async () => {
    const harness = await many();
    const { ref } = harness.engine.environments()[0] ?? {};
    const back = harness.push(ref?.name ?? '', on('process'));
    await harness.live(settle);
    expect(harness.running()[`${ref?.name}/web`]).toBe(back);
    expect(harness.record(ref?.name ?? '')).toMatchObject({ held: false, observed: { held: false }, status: { phase: 'Ready' } });
  });
});

describe('a provider that is no longer in the file of ephd', () => {
  it('keeps what it holds until an operator releases it, while new copies are made elsewhere', async () => {
    const harness = start();
    harness.push('preview/a', on('process'));
    await harness.live(settle);
    harness.configured = [{ name: 'local', type: 'process' }];
    harness.retired = [{ name: 'process', type: 'process' }];
    await harness.restart();
    await harness.live(settle);
    expect(Object.keys(harness.running()).toSorted()).toEqual(['preview/a/web', 'preview/a/web on local']);
    const { id, status } = harness.record('preview/a');
    expect(status?.phase).toBe('Ready');
    expect(status?.conditions.find(({ type }) => type === 'Held')?.message).toContain('provider process is no longer configured');
    expect(harness.engine.release(id)).toBe(true);
    await harness.live(settle);
    expect(Object.keys(harness.running())).toEqual(['preview/a/web on local']);
    expect(harness.engine.release(id)).toBe(false);
  });

  it('keeps environments that no source wants, too', async () => {
    const harness = start();
    harness.push('main', on('process'));
    harness.push('preview/a', on('process'));
    await harness.live(settle);
    harness.configured = [{ name: 'local', type: 'process' }];
    harness.retired = [{ name: 'process', type: 'process' }];
    harness.repository.delete(branch('preview/a'));
    await harness.restart();
    await harness.live(settle);
    expect(harness.record('preview/a').status?.phase).toBe('Held');
    harness.engine.release(harness.record('preview/a').id);
    await harness.live(settle);
    expect(harness.running()).toEqual({});
  });
});
