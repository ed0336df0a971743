import { environmentName } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { createReadyRecord } from './environment-record.fake.ts';
import { RouteTable } from './route-table.ts';

describe('the routes of the gateway', () => {
  it('lead to the component that gets the traffic, and redirect the alias to the name', () => {
    const table = new RouteTable();
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

  it('say what an environment that does not answer yet waits for', () => {
    const table = new RouteTable();
    const known = createReadyRecord('preview/login', {
      observed: undefined,
      status: { phase: 'Progressing', summary: 'api is starting', conditions: [] },
      actions: [{ type: 'wait', code: 'component.not_ready', reason: 'api is starting' }],
    });
    table.update(known);
    expect(table.find(known.name)).toMatchObject({ state: 'closed', phase: 'Progressing', waitingFor: ['api is starting'] });
  });

  it('leave an alias that two could have with the one that was there first, and pass it on when that one goes', () => {
    const table = new RouteTable();
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
    const table = new RouteTable();
    const named = createReadyRecord('preview/x', { name: environmentName('shop-preview-y') });
    table.update(named);
    table.update(createReadyRecord('preview/y'));
    expect(table.find('shop-preview-y')).toMatchObject({ state: 'open' });
    const late = new RouteTable();
    late.update(createReadyRecord('preview/y'));
    late.update(named);
    expect(late.find('shop-preview-y')).toMatchObject({ state: 'open', environment: named.name });
    expect(late.ownerOf('shop-preview-y')).toBe(named.id);
    late.remove(named.id);
    expect(late.find('shop-preview-y')).toMatchObject({ state: 'alias' });
  });

  it('follow an environment whose name is read back', () => {
    const table = new RouteTable();
    const known = createReadyRecord('preview/a');
    table.update(known);
    const renamed = createReadyRecord('preview/a', { name: environmentName('shop-other-name-1234') });
    table.update(renamed);
    expect(table.find(known.name)).toBeUndefined();
    expect(table.find('shop-preview-a')).toEqual({ state: 'alias', target: renamed.name });
  });
});
