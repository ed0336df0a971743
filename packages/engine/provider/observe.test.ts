import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
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
import { ManualClock } from '../time/clock.fake.ts';
import { type Observation, Observer } from './observe.ts';
import { createFakeInfrastructure, FakeProvider } from './provider.fake.ts';
import type { Provider, Scope } from './provider.ts';

const { signal } = new AbortController();

const observe = (providers: readonly Provider[], scope: Scope): Promise<Observation> =>
  new Observer(providers, () => () => undefined).observe(scope, signal);

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
  upstream: 'http://127.0.0.1:1',
  outputs: { url: 'http://127.0.0.1:1' },
  ...changes,
});

const environment = (
  number: number,
  components: readonly ObservedComponent[],
  changes: Partial<ObservedEnvironment> = {},
): ObservedEnvironment =>
  observedEnvironment({ identity: identity(number), components, held: false, complete: true, ...changes });

type Answer = Reading<ObservedEnvironment> | Error;

/** Providers called a, b, … that give these answers whenever they are asked. */
const read = (...answers: readonly Answer[]): Promise<Observation> => {
  const providers = answers.map((answer, index): Provider => {
    const provider = new FakeProvider(createFakeInfrastructure(), { name: String.fromCharCode(97 + index), now: () => 0 });
    const list = () => (answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer));
    return Object.assign(provider, { list });
  });
  return observe(providers, { all: true });
};

const namesOf = ({ items }: Observation): readonly string[] => items.map(({ identity }) => identity.name);

const fault = failure('provider.unreachable', 'no answer');

describe('what all providers hold', () => {
  it('is nothing, completely, without providers', async () => {
    expect(await read()).toEqual({ items: [], incomplete: new Map() });
  });

  it('is what the only provider lists, without a copy', async () => {
    const items = [environment(1, [component('web')])];
    expect((await read(completeReading(items))).items).toBe(items);
    expect((await read(completeReading([]), completeReading(items), completeReading([]))).items).toBe(items);
  });

  it('is joined environment by environment, components in the order of the providers', async () => {
    const { items, incomplete } = await read(
      completeReading([environment(1, [component('web')]), environment(2, [component('web')])]),
      completeReading([environment(3, [component('bucket')]), environment(1, [component('bucket')])]),
      completeReading([environment(1, [component('queue')])]),
    );
    expect(incomplete.size).toBe(0);
    expect(items.map((one) => [one.identity.name, one.components.map((part) => part.name)])).toEqual([
      ['shop-1', ['web', 'bucket', 'queue']],
      ['shop-2', ['web']],
      ['shop-3', ['bucket']],
    ]);
  });

  it('has a component twice that two providers hold', async () => {
    const [a, b] = [component('web'), component('web', { provider: providerName('b') })];
    const { items } = await read(completeReading([environment(1, [a])]), completeReading([environment(1, [b])]));
    expect(items.map(({ components }) => components)).toEqual([[a, b]]);
  });

  it.each([
    ['the older one', '2026-01-01', 'zebra', '2026-01-02', 'apple', 'zebra'],
    ['of two of one age the first in the alphabet', '2026-01-01', 'zebra', '2026-01-01', 'apple', 'apple'],
  ])('has one identity: %s, whoever lists it first', async (_, dayA, nameA, dayB, nameB, expected) => {
    const answers = [
      { createdAt: `${dayA}T09:00:00.000Z`, name: environmentName(nameA) },
      { createdAt: `${dayB}T09:00:00.000Z`, name: environmentName(nameB) },
    ].map((changes) => completeReading([environment(1, [], { identity: identity(1, changes) })]));
    expect(namesOf(await read(...answers))).toEqual([expected]);
    expect(namesOf(await read(...answers.toReversed()))).toEqual([expected]);
  });

  it('is held if any provider holds it', async () => {
    const held = completeReading([environment(1, [], { held: true })]);
    const free = completeReading([environment(1, [])]);
    expect((await read(free, held)).items).toMatchObject([{ held: true }]);
    expect((await read(held, free)).items).toMatchObject([{ held: true }]);
    expect((await read(free, free)).items).toMatchObject([{ held: false }]);
  });

  it('has a mark that changes with the mark of any provider', async () => {
    const answer = (name: string) => completeReading([environment(1, [component(name)])]);
    const markOf = async (...answers: Answer[]) => (await read(...answers)).items[0]?.mark;
    const before = await markOf(answer('web'), answer('api'));
    expect(await markOf(answer('web'), answer('api'))).toBe(before);
    expect(await markOf(answer('web'), answer('mail'))).not.toBe(before);
    expect(await markOf(answer('mail'), answer('api'))).not.toBe(before);
    expect(await markOf(answer('web'))).not.toBe(before);
  });

  it.each<readonly [string, Answer, object]>([
    ['could not read everything', incompleteReading([environment(2, [])], fault), { code: 'provider.unreachable' }],
    ['has several reasons', incompleteReading([], fault, fault, fault), { message: 'no answer (and 2 more)' }],
    ['gives no reason', incompleteReading([]), { code: 'provider.incomplete' }],
    ['breaks its contract and rejects', new Error('down'), { code: 'internal', message: 'Error: down' }],
  ])('names the provider that %s, and has what the others list', async (_, broken, expected) => {
    const observed = await read(completeReading([environment(1, [component('web')])]), broken);
    expect(namesOf(observed)).toContain('shop-1');
    expect([...observed.incomplete]).toEqual([['b', expect.objectContaining(expected)]]);
    expect([...(await read(broken)).incomplete.keys()]).toEqual(['a']);
  });

  it('names a provider that throws at once', async () => {
    const thrower = Object.assign(new FakeProvider(createFakeInfrastructure(), { now: () => 0 }), {
      list: () => {
        throw new Error('down');
      },
    });
    expect([...(await observe([thrower], { all: true })).incomplete.keys()]).toEqual(['process']);
  });

  it('is incomplete for one environment when one provider could not read its share of it', async () => {
    const { items, incomplete } = await read(
      completeReading([environment(1, [component('web')]), environment(2, [])]),
      completeReading([environment(1, [], { complete: false })]),
    );
    expect(incomplete.size).toBe(0);
    expect(items.map((one) => one.complete)).toEqual([false, true]);
  });

  it('is limited to what was asked for', async () => {
    const infrastructure = createFakeInfrastructure();
    const provider = new FakeProvider(infrastructure, { now: () => 0 });
    for (const number of [1, 2])
      infrastructure.environments.set(identity(number).id, { identity: identity(number), slots: new Map(), held: false });
    const other = identity(3, { project: projectId('blog') });
    infrastructure.environments.set(other.id, { identity: other, slots: new Map(), held: false });
    const names = async (scope: Parameters<Provider['list']>[0]): Promise<readonly string[]> =>
      (await observe([provider], scope)).items.map((one) => one.identity.name);
    expect(await names({ all: true })).toEqual(['shop-1', 'shop-2', 'shop-3']);
    expect(await names({ project: projectId('shop') })).toEqual(['shop-1', 'shop-2']);
    expect(await names({ environment: identity(2).id })).toEqual(['shop-2']);
  });
});

describe('a hold', () => {
  it('counts if one provider shows it, and is known to be missing on another', async () => {
    const shown = async (...held: boolean[]) => {
      const readings = held.map((one) => completeReading([environment(1, [component('web')], { held: one })]));
      const { items } = await read(...readings);
      return { held: items[0]?.held, partlyHeld: items[0]?.partlyHeld };
    };
    expect(await shown(true)).toEqual({ held: true });
    expect(await shown(true, true)).toEqual({ held: true });
    expect(await shown(false, true)).toEqual({ held: true, partlyHeld: true });
    expect(await shown(false, true, true)).toEqual({ held: true, partlyHeld: true });
    expect(await shown(false, false)).toEqual({ held: false });
  });
});

describe('a provider that does not answer', () => {
  it('is incomplete after a while, is not waited for again, and is read again once it has answered', async () => {
    const clock = new ManualClock();
    const answers: ((reading: Reading<ObservedEnvironment>) => void)[] = [];
    const slow = new FakeProvider(createFakeInfrastructure(), { name: 'slow', now: () => 0 });
    slow.list = () => new Promise((resolve) => void answers.push(resolve));
    const quick = new FakeProvider(createFakeInfrastructure(), { name: 'quick', now: () => 0 });
    const observer = new Observer([quick, slow], (ms, callback) => clock.after(ms, callback));
    const first = observer.observe({ all: true }, signal);
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    clock.advance(60_000);
    expect([...(await first).incomplete.keys()]).toEqual(['slow']);
    expect([...(await observer.observe({ environment: identity(1).id }, signal)).incomplete.keys()]).toEqual(['slow']);
    expect(answers).toHaveLength(1);
    expect([...(await observer.observe({ all: true }, signal)).incomplete.keys()]).toEqual(['slow']);
    expect(answers).toHaveLength(2);
    answers[1]?.(completeReading([]));
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    const again = observer.observe({ all: true }, signal);
    expect(answers).toHaveLength(3);
    answers[2]?.(completeReading([environment(1, [component('web')])]));
    expect(await again).toMatchObject({ items: [{ identity: identity(1) }], incomplete: new Map() });
  });

  it('can see that its answer is no longer needed whenever it looks', async () => {
    const clock = new ManualClock();
    const signals: AbortSignal[] = [];
    const slow = new FakeProvider(createFakeInfrastructure(), { name: 'slow', now: () => 0 });
    const list: Provider['list'] = (_, listing) => {
      signals.push(listing);
      return new Promise(() => {});
    };
    const provider: Provider = Object.assign(slow, { list });
    const observing = new Observer([provider], (ms, callback) => clock.after(ms, callback)).observe({ all: true }, signal);
    clock.advance(60_000);
    await observing;
    await collectGarbage();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  it('can see that the run that asked was superseded', async () => {
    const run = new AbortController();
    const given = Promise.withResolvers<AbortSignal>();
    const slow = new FakeProvider(createFakeInfrastructure(), { name: 'slow', now: () => 0 });
    const list: Provider['list'] = (_, listing) => {
      given.resolve(listing);
      return new Promise((_resolve, reject) => listing.addEventListener('abort', () => reject(new Error('aborted'))));
    };
    const provider: Provider = Object.assign(slow, { list });
    const observing = new Observer([provider], () => () => undefined).observe({ all: true }, run.signal);
    run.abort(new Error('superseded'));
    await expect(observing).rejects.toThrow('superseded');
    expect((await given.promise).aborted).toBe(true);
  });
});

const collectGarbage = async (): Promise<void> => {
  setFlagsFromString('--expose-gc');
  for (let round = 0; round < 2; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    runInNewContext('gc()');
  }
};

describe('two readings of one environment', () => {
  const before = environment(1, [component('web'), component('api')]);
  const after = (changes: Partial<ObservedComponent>, more: Partial<ObservedEnvironment> = {}): ObservedEnvironment =>
    environment(1, [component('web', changes), component('api')], more);

  it.each<readonly [string, ObservedEnvironment | undefined, ObservedEnvironment | undefined]>([
    ['nothing changed', before, structuredClone(before)],
    ['only its parts were asked for', before, after({ parts: [{ instance: 'a', image: null, restarts: 1, message: '' }] })],
    ['nothing was there and nothing is', undefined, undefined],
  ])('have the same mark when %s', (_, a, b) => {
    expect(b?.mark).toBe(a?.mark);
  });

  it.each<readonly [string, ObservedEnvironment | undefined]>([
    ['it is gone', undefined],
    ['a component is gone', environment(1, [component('web')])],
    ['a component is another one', environment(1, [component('web'), component('mail')])],
    ['it is held', after({}, { held: true })],
    ['it is reached elsewhere', after({ upstream: 'http://127.0.0.1:2' })],
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
