import { EphError, type Event } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { branch, EngineHarness, twoServices } from './engine-harness.fake.ts';

const settle = 60;

const start = async (): Promise<EngineHarness> => {
  const harness = new EngineHarness().start();
  harness.push('preview/login', twoServices);
  await harness.live(settle);
  expect(harness.only().status?.phase).toBe('Ready');
  return harness;
};

const changes = (events: readonly Event[]): readonly string[] =>
  events.flatMap(({ type, message }) => (type.startsWith('component.') ? [`${type} ${message}`] : []));

describe('a request to make components again', () => {
  it('removes and makes them one after the other, users first', async () => {
    const harness = await start();
    const { id, name } = harness.only();
    const before = harness.events.length;
    expect(harness.engine.redeploy(id, undefined)).toEqual(['api', 'web']);
    await harness.live(settle);
    expect(changes(harness.events.slice(before)).map((line) => line.replace(/:.*/, ''))).toEqual([
      'component.removed destroy web',
      'component.applied create web',
      'component.removed destroy api',
      'component.applied create api',
    ]);
    expect(harness.only()).toMatchObject({ id, name, status: { phase: 'Ready' }, redeploy: undefined });
  });

  it('is about those that are named', async () => {
    const harness = await start();
    const { id } = harness.only();
    const before = harness.events.length;
    expect(harness.engine.redeploy(id, ['api'])).toEqual(['api']);
    await harness.live(settle);
    expect(changes(harness.events.slice(before))).toEqual([
      'component.removed destroy api: somebody asked to make it again',
      'component.applied create api: api does not exist yet',
    ]);
  });

  it('names a component that does not exist in its refusal', async () => {
    const harness = await start();
    const { id } = harness.only();
    expect(() => harness.engine.redeploy(id, ['db'])).toThrow(EphError);
    expect(() => harness.engine.redeploy(id, ['db'])).toThrow('has no component "db"; it has: api, web');
  });

  it('is refused for an environment that goes', async () => {
    const harness = await start();
    const { id } = harness.only();
    harness.repository.delete(branch('preview/login'));
    await harness.live(settle);
    expect(() => harness.engine.redeploy(id, undefined)).toThrow('nothing that could be made again');
  });
});
