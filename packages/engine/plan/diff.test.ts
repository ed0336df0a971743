import {
  type Action,
  type ComponentName,
  type ComponentVersion,
  commitSha,
  componentName,
  environmentId,
  environmentName,
  type Health,
  type ObservedComponent,
  type ObservedEnvironment,
  type ProviderName,
  projectId,
  providerName,
  type ResolvedComponent,
  revision,
} from '@eph/contract';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planDestroy, planUpdate } from './diff.ts';

type Wanted = Parameters<typeof planUpdate>[0][number];

const now = Date.parse('2026-01-05T09:00:00Z');
const process = providerName('process');
const local = providerName('local');
const options = { now, retired: new Set<ProviderName>() };
const revisionOf = (version: number): ResolvedComponent['revision'] => revision(version.toString(16).padStart(16, '0'));

const want = (name: string, version: number, ...dependsOn: string[]): Wanted => ({
  state: 'resolved',
  component: {
    name: componentName(name),
    provider: process,
    commit: commitSha(String(version).padStart(40, '0')),
    artifact: 'tree',
    entry: false,
    dependsOn: dependsOn.map(componentName),
    values: {},
    revision: revisionOf(version),
  },
});

const waiting = (name: string, reason: string): Wanted => ({
  state: 'waiting',
  name: componentName(name),
  provider: process,
  code: 'reference.waiting',
  reason,
});

const at = (version: number, health: Health = 'ready', message = ''): ComponentVersion => ({
  revision: revisionOf(version),
  commit: commitSha(String(version).padStart(40, '0')),
  health,
  message,
  since: new Date(now - 60_000).toISOString(),
});

const see = (name: string, changes: Partial<ObservedComponent> = {}): ObservedComponent => ({
  name: componentName(name),
  provider: process,
  entry: false,
  dependsOn: [],
  current: at(1),
  next: null,
  retiring: false,
  upstream: null,
  outputs: {},
  ...changes,
});

const environment = (...components: ObservedComponent[]): ObservedEnvironment => ({
  identity: {
    id: environmentId('0'.repeat(16)),
    name: environmentName('shop-calm-bay-1234'),
    project: projectId('shop'),
    source: { kind: 'branch', name: 'preview/a' },
    createdAt: '2026-01-05T08:00:00.000Z',
  },
  components,
  held: false,
  complete: true,
  mark: '',
});

const plan = (wanted: readonly Wanted[], ...seen: ObservedComponent[]): readonly Action[] =>
  planUpdate(wanted, environment(...seen), options);

/** A plan as a person reads it. */
const read = (actions: readonly Action[]): readonly string[] =>
  actions.map((action) => `${action.type} ${action.component}: ${action.reason}`);

describe('one component', () => {
  it('is waited for otherwise when nothing is tried again', () => {
    const next = { ...at(2, 'failing', 'prepare failed'), stalled: true as const };
    expect(plan([want('web', 2)], see('web', { next }))).toMatchObject([{ type: 'wait', code: 'component.stalled' }]);
    expect(plan([want('web', 2)], see('web', { current: next }))).toMatchObject([{ type: 'wait', code: 'component.stalled' }]);
  });

  it('is updated with a word about the interruption, where it serves and there is one', () => {
    const wanted = want('web', 2);
    if (wanted.state !== 'resolved') throw new Error('it waits');
    const replaced: Wanted = { ...wanted, component: { ...wanted.component, interruption: 'its pods end first' } };
    const plain = 'update web: web runs another version than 0000000 asks for';
    expect(read(plan([replaced], see('web')))).toEqual([`${plain}; this interrupts it: its pods end first`]);
    expect(read(plan([replaced], see('web', { current: null, next: at(1, 'failing') })))).toEqual([plain]);
    expect(read(plan([replaced]))).toEqual(['create web: web does not exist yet']);
  });

  it.each<readonly [string, readonly ObservedComponent[], readonly string[]]>([
    ['is created when there is none', [], ['create web: web does not exist yet']],
    ['is created when only its place is left', [see('web', { current: null })], ['create web: web does not exist yet']],
    ['is left alone when it is as it should be', [see('web', { current: at(2) })], []],
    ['is updated when it runs something else', [see('web')], ['update web: web runs another version than 0000000 asks for']],
    ['is waited for while the wanted version starts', [see('web', { next: at(2, 'starting') })], ['wait web: web is starting']],
    [
      'is waited for, with the reason, while the wanted version does not get ready',
      [see('web', { next: at(2, 'failing', 'it exited with 1') })],
      ['wait web: web does not get ready: it exited with 1'],
    ],
    [
      'is updated past a version on its way that nobody wants any more',
      [see('web', { next: at(3, 'starting') })],
      ['update web: web runs another version than 0000000 asks for'],
    ],
    [
      'is told when the wanted version runs and another is on its way',
      [see('web', { current: at(2), next: at(3, 'starting') })],
      ['update web: web already runs what is wanted; a version on its way is not'],
    ],
    [
      'is waited for when the wanted version has broken down',
      [see('web', { current: at(2, 'failing', 'it does not answer') })],
      ['wait web: web is not ready: it does not answer'],
    ],
    [
      'loses the version before it, once nobody uses that',
      [see('web', { current: at(2), retiring: true })],
      ['update web: nobody uses the version of web before this one any more'],
    ],
  ])('%s', (_, seen, actions) => {
    expect(read(plan([want('web', 2)], ...seen))).toEqual(actions);
  });

  it('is told which revision to become, and by whom', () => {
    expect(planUpdate([want('web', 2)], undefined, options)).toEqual([
      { type: 'create', component: 'web', provider: 'process', revision: revisionOf(2), reason: 'web does not exist yet' },
    ]);
  });

  it('that waits itself says for what', () => {
    expect(plan([waiting('web', 'outputs/api/url: api is not ready yet')])).toEqual([
      { type: 'wait', component: 'web', code: 'reference.waiting', reason: 'outputs/api/url: api is not ready yet' },
    ]);
  });
});

describe('a version that lost its traffic', () => {
  const seen = (sinceMs: number): ObservedComponent =>
    see('web', { current: { ...at(2), since: new Date(now + sinceMs).toISOString() }, retiring: true });

  it.each([
    ['just now', 0],
    ['a second ago', -1000],
  ])('%s may finish its requests', (_, since) => {
    expect(plan([want('web', 2)], seen(since))).toEqual([
      {
        type: 'wait',
        component: 'web',
        code: 'component.draining',
        reason: 'the version of web before this one finishes its requests',
        until: new Date(now + since + 2000).toISOString(),
      },
    ]);
  });

  it.each([
    ['two seconds ago', -2000],
    ['an hour ago', -3_600_000],
    ['in the future, by a clock that was set back', 3_600_000],
  ])('%s is stopped', (_, since) => {
    expect(plan([want('web', 2)], seen(since))).toMatchObject([{ type: 'update', component: 'web' }]);
  });

  it.each<readonly [string, Wanted, ObservedComponent]>([
    ['does not run yet what is wanted', want('web', 2, 'api'), see('web')],
    ['is only starting', want('web', 2, 'api'), see('web', { next: at(2, 'starting') })],
    ['is about to be replaced by one that does not', want('web', 2), see('web', { dependsOn: [componentName('api')] })],
    ['waits, so that nobody knows what it will need', waiting('web', 'outputs/mail/url: mail is not ready yet'), see('web')],
  ])('stays while a component that needs it %s', (_, user, seenUser) => {
    const api = see('api', { current: at(2), retiring: true });
    expect(read(plan([want('api', 2), user], api, seenUser))).toContain(
      'wait api: the version of api before this one is still in use',
    );
  });

  it('stays until a component that is no longer in the file and uses it is gone', () => {
    const old = see('old', { dependsOn: [componentName('web')] });
    expect(read(plan([want('web', 2)], see('web', { current: at(2), retiring: true }), old))).toEqual([
      'wait web: the version of web before this one is still in use',
      'destroy old: old is no longer in eph.yaml',
    ]);
  });

  it('stays while it is used, and so does a version on its way that nobody wants: one call ends both', () => {
    const api = see('api', { current: at(2), next: at(3, 'starting'), retiring: true });
    expect(read(plan([want('api', 2), want('web', 2, 'api')], api, see('web')))).toContain(
      'wait api: the version of api before this one is still in use',
    );
  });
});

describe('a component that is no longer in the file', () => {
  it('is removed when all others are as they should be', () => {
    expect(read(plan([want('web', 1)], see('web'), see('old')))).toEqual(['destroy old: old is no longer in eph.yaml']);
  });

  it.each<readonly [string, Wanted, ObservedComponent]>([
    ['does not run yet what is wanted', want('web', 2), see('web')],
    ['is starting', want('web', 2), see('web', { next: at(2, 'starting') })],
    ['has broken down', want('web', 1), see('web', { current: at(1, 'failing', 'gone') })],
    ['waits', waiting('web', 'outputs/api/url: api is not ready yet'), see('web')],
  ])('stays while another one %s, which may still use it', (_, wish, seen) => {
    expect(plan([wish], seen, see('old')).filter((action) => action.type === 'destroy')).toEqual([]);
  });

  it('may finish its requests after another one took over', () => {
    const site = see('site', { current: { ...at(1), since: new Date(now - 500).toISOString() } });
    expect(read(plan([want('site', 1)], site, see('web')))).toEqual(['wait web: web on process finishes its requests']);
  });

  it('goes before what it needs itself', () => {
    const actions = plan([want('web', 1)], see('web'), see('db'), see('old', { dependsOn: [componentName('db')] }));
    expect(actions.map((action) => action.component)).toEqual(['old', 'db']);
  });
});

describe('a component that moved to another provider', () => {
  const moved = (version: number): Wanted => {
    const wanted = want('web', version);
    return wanted.state === 'resolved' ? { ...wanted, component: { ...wanted.component, provider: local } } : wanted;
  };
  const there = (changes: Partial<ObservedComponent>): ObservedComponent => see('web', { provider: local, ...changes });

  it('is created there and stays here until it is ready', () => {
    expect(read(plan([moved(2)], see('web')))).toEqual(['create web: web does not exist yet']);
    expect(read(plan([moved(2)], see('web'), there({ current: null, next: at(2, 'starting') })))).toEqual([
      'wait web: web is starting',
    ]);
  });

  it('is removed here once it is ready there, and by the provider that has it', () => {
    expect(plan([moved(2)], see('web'), there({ current: at(2) }))).toEqual([
      { type: 'destroy', component: 'web', provider: process, reason: 'web has moved to another provider' },
    ]);
  });

  it('stays here while another component may still use it', () => {
    const user = see('site', { dependsOn: [componentName('web')] });
    const actions = plan([moved(2), want('site', 2, 'web')], see('web'), there({ current: at(2) }), user);
    expect(read(actions)).toEqual(['update site: site runs another version than 0000000 asks for']);
  });

  it('is removed there when it moved back before it was ready', () => {
    expect(plan([want('web', 1)], see('web'), there({ current: null, next: at(2, 'starting') }))).toMatchObject([
      { type: 'destroy', component: 'web', provider: local },
    ]);
  });

  it('is kept where the old provider is no longer configured, until an operator releases it', () => {
    const seen = environment(see('web'), there({ current: at(2) }));
    expect(planUpdate([moved(2)], seen, { now, retired: new Set([process]) })).toMatchObject([
      { type: 'wait', code: 'plan.held', component: 'web' },
    ]);
  });
});

/** Any world: what is wanted, and what is there, related or not. */
const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
const needs = fc.uniqueArray(name, { maxLength: 3 });
const version = fc.integer({ min: 1, max: 3 });
const wish = fc.oneof(
  fc.tuple(name, version, needs).map(([one, number, others]) => want(one, number, ...others)),
  name.map((one) => waiting(one, 'something')),
);
const nameOf = (wanted: Wanted): ComponentName => (wanted.state === 'resolved' ? wanted.component.name : wanted.name);
const wishes = fc.uniqueArray(wish, { selector: nameOf });
const health = fc.constantFrom<Health>('starting', 'ready', 'failing');
const sight = fc.record({
  name: name.map(componentName),
  dependsOn: needs.map((names) => names.map(componentName)),
  current: fc.option(fc.tuple(version, health).map(([number, state]) => at(number, state))),
  next: fc.option(fc.tuple(version, health).map(([number, state]) => at(number, state))),
  retiring: fc.boolean(),
});
const sights = fc.uniqueArray(
  sight.map((changes) => see(changes.name, changes)),
  { selector: (one) => one.name },
);
const shuffledTwice = <T>(items: fc.Arbitrary<T[]>): fc.Arbitrary<[T[], T[]]> =>
  items.chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })));

describe('any plan', () => {
  it('is the same for the same world, in whatever order it is told', () => {
    const sorted = (actions: readonly Action[]): readonly string[] => actions.map((action) => JSON.stringify(action)).toSorted();
    fc.assert(
      fc.property(shuffledTwice(wishes), shuffledTwice(sights), ([wanted, wantedAgain], [seen, seenAgain]) => {
        expect(plan(wanted, ...seen)).toEqual(plan(wanted, ...seen));
        expect(sorted(plan(wantedAgain, ...seenAgain))).toEqual(sorted(plan(wanted, ...seen)));
      }),
    );
  });

  it('says one thing at most about each component', () => {
    fc.assert(
      fc.property(wishes, sights, (wanted, seen) => {
        const names = plan(wanted, ...seen).map((action) => action.component);
        expect(names).toEqual([...new Set(names)]);
      }),
    );
  });

  it('removes nothing that is wanted, and nothing at all while anything is unsettled', () => {
    fc.assert(
      fc.property(wishes, sights, (wanted, seen) => {
        const actions = plan(wanted, ...seen);
        const destroyed = actions.flatMap((action) => (action.type === 'destroy' ? [action.component] : []));
        expect(destroyed.filter((one) => wanted.some((other) => nameOf(other) === one))).toEqual([]);
        const unsettled = actions.some(
          (action) => action.type === 'create' || (action.type === 'wait' && action.code !== 'component.draining'),
        );
        expect(unsettled && destroyed.length > 0).toBe(false);
      }),
    );
  });

  it('is empty when the world is what is wanted', () => {
    const resolved = wishes.map((all) => all.filter((one) => one.state === 'resolved'));
    fc.assert(
      fc.property(resolved, (wanted) => {
        const seen = wanted.map(({ component }) => see(component.name, { current: { ...at(1), revision: component.revision } }));
        expect(plan(wanted, ...seen)).toEqual([]);
      }),
    );
  });
});

describe('the removal of an environment', () => {
  /** Components that use only later ones, as Eph makes them. */
  const sound = fc
    .array(fc.array(fc.nat(), { maxLength: 3 }), { maxLength: 25 })
    .map((uses) =>
      uses.map((targets, index) =>
        see(`c${index}`, {
          dependsOn: targets.map((target) => componentName(`c${target % (index + 1)}`)).filter((one) => one !== `c${index}`),
        }),
      ),
    )
    .chain((all) => fc.shuffledSubarray(all, { minLength: all.length }));

  it('takes users before what they use, and everything once', () => {
    fc.assert(
      fc.property(sound, (components) => {
        const order = planDestroy(environment(...components), 'the branch is gone').map((action) => action.component);
        expect(order).toHaveLength(components.length);
        expect(new Set(order)).toEqual(new Set(components.map((one) => one.name)));
        const place = (one: ComponentName): number => order.indexOf(one);
        const early = components.filter((one) => one.dependsOn.some((used) => place(used) < place(one.name)));
        expect(early).toEqual([]);
      }),
    );
  });

  it('says of each component which others have to go before it: all that use it, and they alone', () => {
    fc.assert(
      fc.property(sound, (components) => {
        for (const action of planDestroy(environment(...components), 'the branch is gone')) {
          const users = components.filter((one) => one.dependsOn.some((used) => used === action.component));
          const after = action.type === 'destroy' ? (action.after ?? []).map(({ component }) => component) : [];
          expect(after).toEqual(users.map((one) => one.name).toSorted());
        }
      }),
    );
  });

  it('takes everything once even when what is observed is damaged', () => {
    fc.assert(
      fc.property(sights, (components) => {
        const actions = planDestroy(environment(...components), 'the branch is gone');
        expect(actions).toHaveLength(components.length);
        expect(new Set(actions.map((action) => action.component))).toEqual(new Set(components.map((one) => one.name)));
        expect(actions.every((action) => action.type === 'destroy' && action.reason === 'the branch is gone')).toBe(true);
        const places = actions.map((action) => action.component);
        const late = actions.filter(
          (action, index) =>
            action.type === 'destroy' && action.after?.some(({ component }) => places.indexOf(component) >= index),
        );
        expect(late).toEqual([]);
      }),
    );
  });

  it('takes users first on each provider where two copies need each other in opposite directions', () => {
    const needs = (other: string): Partial<ObservedComponent> => ({ dependsOn: [componentName(other)] });
    const seen = environment(
      see('api', needs('web')),
      see('web'),
      see('api', { provider: local }),
      see('web', { provider: local, ...needs('api') }),
    );
    const order = planDestroy(seen, 'the branch is gone').map((one) =>
      one.type === 'wait' ? '' : `${one.provider}/${one.component}`,
    );
    expect(order.indexOf('process/api')).toBeLessThan(order.indexOf('process/web'));
    expect(order.indexOf('local/web')).toBeLessThan(order.indexOf('local/api'));
  });

  it('waits for both copies of a user, and never in a circle', () => {
    const needs = (other: string): Partial<ObservedComponent> => ({ dependsOn: [componentName(other)] });
    const actions = planDestroy(
      environment(see('api', needs('web')), see('api', { provider: local, ...needs('web') }), see('web', { provider: local })),
      'the branch is gone',
    );
    expect(actions.map((action) => ('after' in action ? action.after : []))).toEqual([
      [],
      [],
      [
        { component: 'api', provider: local },
        { component: 'api', provider: process },
      ],
    ]);
  });

  it('of nothing is nothing', () => {
    expect(planDestroy(environment(), 'the branch is gone')).toEqual([]);
  });
});
