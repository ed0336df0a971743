import {
  type Action,
  commitSha,
  componentName,
  EphError,
  environmentId,
  environmentName,
  type Identity,
  projectId,
  providerName,
  type ResolvedComponent,
  revision,
} from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { type ActionResult, apply } from './apply.ts';
import { createFakeInfrastructure, FakeProvider, type FakeProviderOptions } from './provider.fake.ts';

const identity: Identity = {
  id: environmentId('0'.repeat(16)),
  name: environmentName('shop-calm-bay-1234'),
  project: projectId('shop'),
  source: { kind: 'branch', name: 'preview/a' },
  createdAt: '2026-01-05T09:00:00.000Z',
};

const component = (name: string, version = 1): ResolvedComponent => ({
  name: componentName(name),
  provider: providerName('process'),
  commit: commitSha(String(version).padStart(40, '0')),
  artifact: 'tree',
  entry: false,
  dependsOn: [],
  values: {},
  revision: revision(String(version).padStart(16, '0')),
});

const create = (name: string, provider = 'process'): Action => ({
  type: 'create',
  component: componentName(name),
  provider: providerName(provider),
  revision: component(name).revision,
  reason: `${name} does not exist yet`,
});
const destroy = (name: string, ...after: string[]): Action => ({
  type: 'destroy',
  component: componentName(name),
  provider: providerName('process'),
  reason: 'gone',
  ...(after.length > 0 && {
    after: after.map((one) => ({ component: componentName(one), provider: providerName('process') })),
  }),
});
const wait = (name: string): Action => ({
  type: 'wait',
  component: componentName(name),
  code: 'reference.waiting',
  reason: 'api is not ready yet',
});

/** A provider over an infrastructure, and a record of the order in which effects began and took hold. */
const setUp = (disturb?: (step: string) => Promise<void> | undefined) => {
  const infrastructure = createFakeInfrastructure();
  const steps: string[] = [];
  const options: FakeProviderOptions = {
    now: () => 0,
    disturb: (operation, moment) => {
      steps.push(`${operation} ${moment}`);
      return disturb?.(`${operation} ${moment}`) ?? Promise.resolve();
    },
  };
  const provider = new FakeProvider(infrastructure, options);
  const abort = new AbortController();
  const run = (...actions: Action[]): Promise<readonly ActionResult[]> =>
    apply(
      {
        identity,
        actions,
        components: ['web', 'api', 'mail'].map((name) => component(name)),
        providers: new Map([[provider.name, provider]]),
      },
      abort.signal,
    );
  const existing = (): readonly string[] => [...(infrastructure.environments.get(identity.id)?.slots.keys() ?? [])];
  return { run, existing, steps, abort };
};

const states = (results: readonly ActionResult[]): readonly string[] =>
  results.map(
    (result) => `${result.action.type} ${result.action.component}: ${result.state === 'done' ? 'done' : result.failure.code}`,
  );

describe('a plan made real', () => {
  it('creates and removes what it says', async () => {
    const { run, existing } = setUp();
    expect(states(await run(create('web'), create('api')))).toEqual(['create web: done', 'create api: done']);
    expect(existing()).toEqual(['web', 'api']);
    expect(states(await run(destroy('web')))).toEqual(['destroy web: done']);
    expect(existing()).toEqual(['api']);
  });

  it('does nothing about what waits', async () => {
    const { run, existing, steps } = setUp();
    expect(await run(wait('web'))).toEqual([]);
    expect(existing()).toEqual([]);
    expect(steps).toEqual([]);
  });

  it('knows a component by provider and name: one that moves is on both', async () => {
    const revisions = new Map<string, string>();
    const providers = ['here', 'there'].map((name): FakeProvider => {
      const ensure = (_: Identity, wanted: ResolvedComponent): Promise<void> => {
        revisions.set(name, wanted.revision);
        return Promise.resolve();
      };
      return Object.assign(new FakeProvider(createFakeInfrastructure(), { name, now: () => 0 }), { ensure });
    });
    const components = providers.map(({ name }, index) => ({ ...component('web', index + 1), provider: name }));
    const actions = [create('web', 'there'), create('web', 'here')];
    const byName = new Map(providers.map((provider) => [provider.name, provider]));
    const results = await apply({ identity, actions, components, providers: byName }, new AbortController().signal);
    expect(results.map(({ state }) => state)).toEqual(['done', 'done']);
    expect(revisions.get('here')).toBe(component('web', 1).revision);
    expect(revisions.get('there')).toBe(component('web', 2).revision);
  });

  it('may be repeated', async () => {
    const { run, existing } = setUp();
    await run(create('web'));
    expect(states(await run(create('web'), destroy('mail')))).toEqual(['create web: done', 'destroy mail: done']);
    expect(existing()).toEqual(['web']);
  });

  it('makes components side by side', async () => {
    const gate = Promise.withResolvers<void>();
    let begun = 0;
    const { run, existing } = setUp((step) => {
      if (step !== 'ensure before') return undefined;
      begun += 1;
      if (begun === 3) gate.resolve();
      return gate.promise;
    });
    await run(create('web'), create('api'), create('mail'));
    expect(existing()).toHaveLength(3);
  });

  it('removes components side by side, after everything else', async () => {
    const gate = Promise.withResolvers<void>();
    let begun = 0;
    const { run, existing, steps } = setUp((step) => {
      if (step !== 'remove before') return undefined;
      begun += 1;
      if (begun === 2) gate.resolve();
      return gate.promise;
    });
    await run(create('web'), create('api'));
    steps.length = 0;
    await run(destroy('web'), create('mail'), destroy('api'));
    expect(existing()).toEqual(['mail']);
    expect(steps.indexOf('remove before')).toBeGreaterThan(steps.indexOf('ensure after'));
  });

  it('removes what others use after them', async () => {
    const { run, steps } = setUp();
    await run(create('web'), create('api'));
    steps.length = 0;
    expect(states(await run(destroy('web'), destroy('api', 'web')))).toEqual(['destroy web: done', 'destroy api: done']);
    expect(steps.filter((step) => !step.endsWith('during'))).toEqual([
      'remove before',
      'remove after',
      'remove before',
      'remove after',
    ]);
  });

  it('waits for no removal that is not in the plan', async () => {
    const { run, existing } = setUp();
    await run(create('api'));
    expect(states(await run(destroy('api', 'web')))).toEqual(['destroy api: done']);
    expect(existing()).toEqual([]);
  });
});

describe('a failure', () => {
  it('of one component is its own', async () => {
    let first = true;
    const { run, existing } = setUp((step) => {
      if (step !== 'ensure before' || !first) return undefined;
      first = false;
      return Promise.reject(new EphError('port.unavailable', 'no port is free'));
    });
    expect(states(await run(create('web'), create('api')))).toEqual(['create web: port.unavailable', 'create api: done']);
    expect(existing()).toEqual(['api']);
  });

  it('keeps its sentence and how long to wait', async () => {
    const { run } = setUp(() => Promise.reject(new EphError('provider.unreachable', 'try later', { retryAfterMs: 5000 })));
    expect(await run(create('web'))).toMatchObject([
      {
        state: 'failed',
        failure: { code: 'provider.unreachable', message: 'try later', disposition: 'retry', retryAfterMs: 5000 },
      },
    ]);
  });

  const failFirstRemoval = (error: EphError) => {
    let isFirst = true;
    return (step: string): Promise<void> | undefined => {
      if (step !== 'remove before' || !isFirst) return undefined;
      isFirst = false;
      return Promise.reject(error);
    };
  };

  it('of a removal keeps what the component needs, for as long as that takes, and nothing else', async () => {
    const { run, existing } = setUp(failFirstRemoval(new EphError('provider.unreachable', 'not now')));
    await run(create('web'), create('api'), create('mail'));
    const results = await run(destroy('web'), destroy('api', 'web'), destroy('mail'));
    expect(states(results)).toEqual(['destroy web: provider.unreachable', 'destroy mail: done']);
    expect(existing()).toEqual(['web', 'api']);
  });

  it('of a removal that takes time keeps what the component needs, too, however far behind it', async () => {
    const { run, existing } = setUp(failFirstRemoval(new EphError('component.removing', 'it waits for its volume')));
    await run(create('web'), create('api'), create('mail'));
    expect(await run(destroy('web'), destroy('api', 'web'), destroy('mail', 'api'))).toMatchObject([
      { state: 'failed', failure: { code: 'component.removing', disposition: 'wait' } },
    ]);
    expect(existing()).toEqual(['web', 'api', 'mail']);
  });

  it('after the effect took hold is a failure, and the effect stays', async () => {
    const { run, existing } = setUp((step) =>
      step === 'ensure after' ? Promise.reject(new Error('connection lost')) : undefined,
    );
    expect(states(await run(create('web')))).toEqual(['create web: internal']);
    expect(existing()).toEqual(['web']);
  });

  it.each<readonly [string, Action, string, string]>([
    ['a provider that is not here', create('web', 'kubernetes'), 'provider.unknown', 'there is no provider kubernetes here'],
    ['a component that was not resolved', create('cache'), 'internal', 'the plan names cache on process, which was not resolved'],
  ])('is what comes of %s', async (_, action, code, message) => {
    expect(await setUp().run(action)).toMatchObject([{ state: 'failed', failure: { code, message } }]);
  });
});

describe('a plan that is superseded', () => {
  it('is not begun', async () => {
    const { run, existing, abort } = setUp();
    abort.abort();
    expect(states(await run(create('web'), destroy('api')))).toEqual([
      'create web: plan.superseded',
      'destroy api: plan.superseded',
    ]);
    expect(existing()).toEqual([]);
  });

  it('stops where it is, as something to do again and not as an error', async () => {
    const gate = Promise.withResolvers<void>();
    const { run, existing, abort } = setUp((step) => (step === 'ensure before' ? gate.promise : undefined));
    const running = run(create('web'));
    abort.abort();
    gate.resolve();
    expect(await running).toMatchObject([{ state: 'failed', failure: { code: 'plan.superseded', disposition: 'wait' } }]);
    expect(existing()).toEqual([]);
  });

  it('removes no further component', async () => {
    const { run, existing, abort } = setUp((step) => {
      if (step === 'remove after') abort.abort();
      return undefined;
    });
    await run(create('web'), create('api'));
    expect(states(await run(destroy('web'), destroy('api', 'web')))).toEqual([
      'destroy web: done',
      'destroy api: plan.superseded',
    ]);
    expect(existing()).toEqual(['api']);
  });
});
