import { environmentName, projectId, providerName } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { createReadyRecord } from './environment-record.fake.ts';
import { RouteTable } from './route-table.ts';

const projects = new Set(['shop']);

describe('the routes of the gateway', () => {
  it('lead to the component that gets the traffic, and redirect the alias to the name', () => {
    const table = new RouteTable(projects);
    const known = createReadyRecord('preview/login');
    table.update(known);
    expect(table.find(known.name)).toEqual({
      state: 'open',
      environment: known.name,
      upstream: { host: '127.0.0.1', port: 4000 },
    });
    expect(table.find('shop-preview-login')).toEqual({ state: 'alias', target: known.name });
    expect(table.aliasOf(known.id)).toBe('shop-preview-login');
  });

  it('lead to where a component is reached, whatever it publishes for references', () => {
    const table = new RouteTable(projects);
    const known = createReadyRecord('preview/login');
    const seen = known.observed;
    const components = seen?.components.map((one) => ({
      ...one,
      upstream: 'http://[::1]:5000',
      outputs: { url: 'http://db:1' },
    }));
    table.update({ ...known, observed: seen && { ...seen, components: components ?? [] } });
    expect(table.find(known.name)).toMatchObject({ state: 'open', upstream: { host: '::1', port: 5000 } });
    const unreachable = seen?.components.map((one) => ({ ...one, upstream: null }));
    table.update({ ...known, observed: seen && { ...seen, components: unreachable ?? [] } });
    expect(table.find(known.name)).toMatchObject({ state: 'closed' });
  });

  it('follow a component to another provider once it is ready there', () => {
    const table = new RouteTable(projects);
    const known = createReadyRecord('preview/login');
    const seen = known.observed;
    const move = (health: 'starting' | 'ready') => {
      const [old] = seen?.components ?? [];
      if (seen === undefined || old === undefined || old.current === null)
        throw new Error('the record has a component that is ready');
      const current = { ...old.current, health, since: '2026-01-05T10:00:00.000Z' };
      const fresh = { ...old, provider: providerName('other'), current, upstream: 'http://127.0.0.1:5000' };
      for (const components of [
        [old, fresh],
        [fresh, old],
      ]) {
        table.update({ ...known, observed: { ...seen, components } });
        expect(table.find(known.name)).toMatchObject({ upstream: { port: health === 'ready' ? 5000 : 4000 } });
      }
    };
    move('starting');
    move('ready');
  });

  it.each([
    ['a branch that is called like one', 'pr-7'],
    ['a branch of which a label is made that looks like one', 'feature/PR/7'],
  ])('keep the alias of a pull request from %s', (_, branch) => {
    const table = new RouteTable(projects);
    const taken = createReadyRecord(branch);
    const pull = createReadyRecord('7', {}, 'pr');
    table.update(taken);
    table.update(pull);
    expect(table.find('shop-pr-7')).toEqual({ state: 'alias', target: pull.name });
    expect([table.aliasOf(taken.id), table.aliasOf(pull.id)]).toEqual([undefined, 'shop-pr-7']);
    table.remove(pull.id);
    expect(table.find('shop-pr-7')).toBeUndefined();
    expect(table.find(taken.name)).toMatchObject({ state: 'open' });
    table.remove(taken.id);
    expect(table.find(taken.name)).toBeUndefined();
  });

  it('say what an environment that does not answer yet waits for', () => {
    const table = new RouteTable(projects);
    const known = createReadyRecord('preview/login', {
      observed: undefined,
      status: { phase: 'Progressing', summary: 'api is starting', conditions: [] },
      actions: [{ type: 'wait', code: 'component.not_ready', reason: 'api is starting' }],
    });
    table.update(known);
    expect(table.find(known.name)).toMatchObject({ state: 'closed', phase: 'Progressing', waitingFor: ['api is starting'] });
  });

  it('leave an alias that two could have with the one that was there first, and pass it on when that one goes', () => {
    const table = new RouteTable(projects);
    const first = createReadyRecord('preview/a');
    const second = createReadyRecord('preview-a');
    table.update(first);
    table.update(second);
    expect(table.find('shop-preview-a')).toEqual({ state: 'alias', target: first.name });
    expect(table.aliasOf(second.id)).toBeUndefined();
    expect([first.name, second.name, 'shop-preview-a', 'nobody'].map((label) => table.ownerOf(label))).toEqual([
      first.id,
      second.id,
      first.id,
      undefined,
    ]);
    table.remove(first.id);
    expect(table.find(first.name)).toBeUndefined();
    expect(table.find('shop-preview-a')).toEqual({ state: 'alias', target: second.name });
  });

  it('never let an alias take the place of a name', () => {
    const table = new RouteTable(projects);
    const named = createReadyRecord('preview/x', { name: environmentName('shop-preview-y') });
    table.update(named);
    table.update(createReadyRecord('preview/y'));
    expect(table.find('shop-preview-y')).toMatchObject({ state: 'open' });
    const late = new RouteTable(projects);
    late.update(createReadyRecord('preview/y'));
    late.update(named);
    expect(late.find('shop-preview-y')).toMatchObject({ state: 'open', environment: named.name });
    expect(late.ownerOf('shop-preview-y')).toBe(named.id);
    late.remove(named.id);
    expect(late.find('shop-preview-y')).toMatchObject({ state: 'alias' });
  });

  it('leave an alias to the project with the longest id that it begins with, as soon as there is one', () => {
    const ids = new Set(['shop']);
    const table = new RouteTable(ids);
    const [ours, theirs] = [createReadyRecord('admin/x'), createReadyRecord('x', { project: projectId('shop-admin') }, 'tag')];
    table.update(ours);
    expect([table.find('shop-admin-x'), table.aliasOf(ours.id)]).toEqual([{ state: 'alias', target: ours.name }, 'shop-admin-x']);
    ids.add('shop-admin');
    expect([table.find('shop-admin-x'), table.aliasOf(ours.id), table.ownerOf('shop-admin-x')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    table.update(theirs);
    expect(table.find('shop-admin-x')).toEqual({ state: 'alias', target: theirs.name });
    expect([table.aliasOf(ours.id), table.aliasOf(theirs.id)]).toEqual([undefined, 'shop-admin-x']);
    ids.delete('shop-admin');
    expect(table.ownerOf('shop-admin-x')).toBe(ours.id);
  });

  it('never lead from a reserved label', () => {
    const table = new RouteTable(new Set(['api']));
    const known = createReadyRecord('_', { project: projectId('api') });
    table.update(known);
    expect([table.find('api'), table.aliasOf(known.id)]).toEqual([undefined, undefined]);
  });

  it('follow an environment whose name is read back', () => {
    const table = new RouteTable(projects);
    const known = createReadyRecord('preview/a');
    table.update(known);
    const renamed = createReadyRecord('preview/a', { name: environmentName('shop-other-name-1234') });
    table.update(renamed);
    expect(table.find(known.name)).toBeUndefined();
    expect(table.find('shop-preview-a')).toEqual({ state: 'alias', target: renamed.name });
  });
});
