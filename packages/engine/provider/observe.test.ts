import {
  type ComponentVersion,
  commitSha,
  completeReading,
  componentName,
  environmentId,
  environmentName,
  failure,
  type Identity,
  incompleteReading,
  type ObservedComponent,
  type ObservedEnvironment,
  observedEnvironment,
  projectId,
  providerName,
  type Reading,
  revision,
} from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { observe } from './observe.ts';
import { createFakeInfrastructure, FakeProvider } from './provider.fake.ts';
import type { Provider } from './provider.ts';

const { signal } = new AbortController();

const identity = (number: number, changes: Partial<Identity> = {}): Identity => ({
  id: environmentId(String(number).padStart(16, '0')),
  name: environmentName(`shop-${number}`),
  project: projectId('shop'),
  source: { kind: 'branch', name: `preview/${number}` },
  createdAt: '2026-01-05T09:00:00.000Z',
  ...changes,
});

const version: ComponentVersion = {
  revision: revision('1'.repeat(16)),
  commit: commitSha('1'.repeat(40)),
  health: 'ready',
  message: '',
  since: '2026-01-05T09:00:00.000Z',
};

const component = (name: string, changes: Partial<ObservedComponent> = {}): ObservedComponent => ({
  name: componentName(name),
  provider: providerName('process'),
  entry: false,
  dependsOn: [],
  current: version,
  next: null,
  retiring: false,
  outputs: { url: 'http://127.0.0.1:1' },
  usage: null,
  ...changes,
});

const environment = (
  number: number,
  components: readonly ObservedComponent[],
  changes: Partial<ObservedEnvironment> = {},
): ObservedEnvironment => observedEnvironment({ identity: identity(number), components, complete: true, ...changes });

/** A provider that says the same whenever it is asked. */
const saying = (reading: Reading<ObservedEnvironment> | Error): Provider =>
  Object.assign(new FakeProvider(createFakeInfrastructure(), { now: () => 0 }), {
    list: () => (reading instanceof Error ? Promise.reject(reading) : Promise.resolve(reading)),
  });

const look = (...readings: (Reading<ObservedEnvironment> | Error)[]): Promise<Reading<ObservedEnvironment>> =>
  observe(readings.map(saying), { all: true }, signal);

const fault = failure('provider.unreachable', 'no answer');

describe('what all providers hold', () => {
  it('is nothing, completely, without providers', async () => {
    expect(await look()).toEqual(completeReading([]));
  });

  it('is what the only provider says', async () => {
    const reading = completeReading([environment(1, [component('web')])]);
    expect(await look(reading)).toEqual(reading);
  });

  it('is put together environment by environment', async () => {
    const { items, complete } = await look(
      completeReading([environment(1, [component('web')]), environment(2, [component('web')])]),
      completeReading([environment(1, [component('bucket')]), environment(3, [component('bucket')])]),
    );
    expect(complete).toBe(true);
    expect(items.map((one) => [one.identity.name, one.components.map((part) => part.name)])).toEqual([
      ['shop-1', ['web', 'bucket']],
      ['shop-2', ['web']],
      ['shop-3', ['bucket']],
    ]);
  });

  it.each([
    ['first', 0],
    ['last', 1],
  ])('carries the older name, also if the older one comes %s', async (_, older) => {
    const names = ['old', 'new'].map((name, index) => ({
      ...identity(1),
      name: environmentName(name),
      createdAt: `2026-01-0${index + 1}T09:00:00.000Z`,
    }));
    const readings = (older === 0 ? names : names.toReversed()).map((one) =>
      completeReading([environment(1, [], { identity: one })]),
    );
    expect((await look(...readings)).items[0]?.identity.name).toBe('old');
  });

  it.each<readonly [string, Reading<ObservedEnvironment> | Error, object]>([
    ['says so', incompleteReading([environment(2, [])], fault), { code: 'provider.unreachable' }],
    ['breaks its contract and throws', new Error('down'), { code: 'internal', message: 'Error: down' }],
  ])('is incomplete when one provider %s, and the rest still counts', async (_, broken, expected) => {
    const reading = await look(completeReading([environment(1, [component('web')])]), broken);
    expect(reading.complete).toBe(false);
    expect(reading.items.map((one) => one.identity.name)).toContain('shop-1');
    expect(reading.faults).toMatchObject([expected]);
  });

  it('is incomplete when the only provider throws', async () => {
    expect(await look(new Error('down'))).toMatchObject({ items: [], complete: false, faults: [{ code: 'internal' }] });
  });

  it('is incomplete for one environment when one provider could not read its share of it', async () => {
    const { items, complete } = await look(
      completeReading([environment(1, [component('web')]), environment(2, [])]),
      completeReading([environment(1, [], { complete: false })]),
    );
    expect(complete).toBe(true);
    expect(items.map((one) => one.complete)).toEqual([false, true]);
  });

  it('is limited to what was asked for', async () => {
    const infrastructure = createFakeInfrastructure();
    const provider = new FakeProvider(infrastructure, { now: () => 0 });
    for (const number of [1, 2])
      infrastructure.environments.set(identity(number).id, { identity: identity(number), slots: new Map() });
    const other = identity(3, { project: projectId('blog') });
    infrastructure.environments.set(other.id, { identity: other, slots: new Map() });
    const names = async (scope: Parameters<Provider['list']>[0]): Promise<readonly string[]> =>
      (await observe([provider], scope, signal)).items.map((one) => one.identity.name);
    expect(await names({ all: true })).toEqual(['shop-1', 'shop-2', 'shop-3']);
    expect(await names({ project: projectId('shop') })).toEqual(['shop-1', 'shop-2']);
    expect(await names({ environment: identity(2).id })).toEqual(['shop-2']);
  });
});

describe('two looks at one environment', () => {
  const before = environment(1, [component('web'), component('api')]);
  const after = (changes: Partial<ObservedComponent>, more: Partial<ObservedEnvironment> = {}): ObservedEnvironment =>
    environment(1, [component('web', changes), component('api')], more);

  it.each<readonly [string, ObservedEnvironment | undefined, ObservedEnvironment | undefined]>([
    ['nothing changed', before, structuredClone(before)],
    ['only its appetite changed', before, after({ usage: { cpuSeconds: 5, memoryBytes: 1 } })],
    ['nothing was there and nothing is', undefined, undefined],
  ])('have the same mark when %s', (_, a, b) => {
    expect(b?.mark).toBe(a?.mark);
  });

  it.each<readonly [string, ObservedEnvironment | undefined]>([
    ['it is gone', undefined],
    ['a component is gone', environment(1, [component('web')])],
    ['a component is another one', environment(1, [component('web'), component('mail')])],
    ['part of it could not be read', after({}, { complete: false })],
    ['a version took over', after({ current: { ...version, revision: revision('2'.repeat(16)) } })],
    ['its health changed', after({ current: { ...version, health: 'failing' } })],
    ['the reason for its health changed', after({ current: { ...version, message: 'it exited with 1' } })],
    ['a version is on its way', after({ next: version })],
    ['its version is gone', after({ current: null })],
    ['a version retires', after({ retiring: true })],
    ['an output changed', after({ outputs: { url: 'http://127.0.0.1:2' } })],
    ['an output is gone', after({ outputs: {} })],
    ['an output is new', after({ outputs: { url: 'http://127.0.0.1:1', port: '1' } })],
    ['an output has another name', after({ outputs: { uri: 'http://127.0.0.1:1' } })],
  ])('have different marks when %s', (_, changed) => {
    expect(changed?.mark).not.toBe(before.mark);
  });
});
