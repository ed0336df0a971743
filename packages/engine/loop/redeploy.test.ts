import { EphError, type Event, type SourceRef } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { branch, EngineHarness, oneService, twoServices } from './engine-harness.fake.ts';
import type { EnvironmentRecord } from './record.ts';

const settle = 60;
const never = new AbortController().signal;

const start = async (spec = twoServices): Promise<EngineHarness> => {
  const harness = new EngineHarness().start();
  harness.push('preview/login', spec);
  await harness.live(settle);
  expect(harness.only().status?.phase).toBe('Ready');
  return harness;
};

const byLabel = (spec: string, more = ''): string =>
  spec.replace('process:', `triggers: [{ type: pr_label, labels: [preview]${more} }]\nprocess:`);

const startPullRequest = async (spec: string): Promise<{ readonly harness: EngineHarness; readonly ref: SourceRef }> => {
  const harness = new EngineHarness().start();
  harness.push('main', byLabel(spec));
  const commit = harness.push('work', byLabel(spec, ', wait_for_checks: [build]'));
  harness.repository.pullRequests.setCheck(commit, { name: 'build', state: 'success' });
  const ref = harness.repository.pullRequests.open({ head: 'work', labels: ['preview'] });
  await harness.live(settle);
  expect(harness.only().status?.phase).toBe('Ready');
  return { harness, ref };
};

const redeploy = (harness: EngineHarness, names?: readonly string[], { id }: Pick<EnvironmentRecord, 'id'> = harness.only()) =>
  harness.engine.redeploy(id, names, never);

const changes = (events: readonly Event[]): readonly string[] =>
  events.flatMap(({ type, message }) => (type.startsWith('component.') ? [message] : []));

const brief = (events: readonly Event[]): readonly string[] => changes(events).map((line) => line.replace(/:.*/, ''));

describe('a request to make components again', () => {
  it('removes and makes them one after the other, users first', async () => {
    const harness = await start();
    const { id, name } = harness.only();
    const before = harness.events.length;
    expect(await redeploy(harness)).toEqual(['api', 'web']);
    await harness.live(settle);
    expect(brief(harness.events.slice(before))).toEqual(['destroy web', 'create web', 'destroy api', 'create api']);
    expect(harness.only()).toMatchObject({ id, name, status: { phase: 'Ready' }, redeploy: undefined });
  });

  it('is about those that are named', async () => {
    const harness = await start();
    const before = harness.events.length;
    expect(await redeploy(harness, ['api'])).toEqual(['api']);
    await harness.live(settle);
    expect(changes(harness.events.slice(before))).toEqual([
      'destroy api: somebody asked to make it again',
      'create api: api does not exist yet',
    ]);
  });

  it('leaves what holds data alone unless it is named', async () => {
    const harness = new EngineHarness();
    harness.configured = [...harness.configured, { name: 'toy', type: 'toy' }];
    harness.start();
    harness.push('preview/login', `${oneService}extras: { db: { data: true }, cache: {} }\n`);
    await harness.live(settle);
    const before = harness.events.length;
    expect((await redeploy(harness)).toSorted()).toEqual(['cache', 'web']);
    await harness.live(settle);
    expect(brief(harness.events.slice(before)).filter((line) => line.startsWith('destroy'))).toEqual(
      expect.arrayContaining(['destroy web', 'destroy cache']),
    );
    expect(brief(harness.events.slice(before))).not.toContain('destroy db');
    expect(await redeploy(harness, ['db'])).toEqual(['db']);
    await harness.live(settle);
    expect(brief(harness.events).slice(-2)).toEqual(['destroy db', 'create db']);
  });

  it('is refused where all that there is holds data', async () => {
    const harness = new EngineHarness();
    harness.configured = [...harness.configured, { name: 'toy', type: 'toy' }];
    harness.behaviourOf = () => 'never ready';
    harness.start();
    const waiting = oneService.replace('run web', 'run web, env: { DB: outputs/db/url }');
    harness.push('preview/login', `${waiting}extras: { db: { data: true } }\n`);
    await harness.live(settle);
    await expect(redeploy(harness)).rejects.toThrow('all of it holds data; name what to make again');
    expect(await redeploy(harness, ['db'])).toEqual(['db']);
  });

  it('names a component that does not exist in its refusal', async () => {
    const harness = await start();
    await expect(redeploy(harness, ['db'])).rejects.toThrow(EphError);
    await expect(redeploy(harness, ['db'])).rejects.toThrow('has no component "db"; it has: api, web');
  });
});

/** The request is refused with this reason, and nothing is removed, not even later. */
const expectRefusal = async (harness: EngineHarness, because: string, record = harness.only()): Promise<void> => {
  const before = harness.running();
  const { remove } = harness.provider.calls;
  await expect(redeploy(harness, undefined, record)).rejects.toMatchObject({
    code: 'api.conflict',
    message: expect.stringContaining(because),
  });
  await harness.live(settle);
  expect(harness.running()).toEqual(before);
  expect(harness.provider.calls.remove).toBe(remove);
};

describe('what could not be made again is not removed', () => {
  it('while an environment goes', async () => {
    const harness = await start();
    const record = harness.only();
    harness.repository.delete(branch('preview/login'));
    await harness.live(settle);
    await expectRefusal(harness, 'nothing of it is removed', record);
  });

  it('while a label pauses it', async () => {
    const { harness, ref } = await startPullRequest(twoServices);
    harness.repository.pullRequests.label(ref, 'preview:pause');
    await harness.live(settle);
    await expectRefusal(harness, 'a label asks to leave it as it is');
  });

  it('while eph.yaml cannot be understood and the version before keeps serving', async () => {
    const harness = await start();
    harness.push('preview/login', 'version: [');
    await harness.live(settle);
    await expectRefusal(harness, 'eph.yaml');
  });

  it('where eph.yaml is gone', async () => {
    const harness = await start();
    harness.repository.push(branch('preview/login'), {});
    await harness.live(settle);
    await expectRefusal(harness, 'there is no eph.yaml');
  });

  it('where its checks have failed since', async () => {
    const { harness, ref } = await startPullRequest(oneService);
    const { commit } = harness.repository.pullRequests.find(ref);
    harness.repository.pullRequests.setCheck(commit, { name: 'build', state: 'failure' });
    await expectRefusal(harness, 'check build failed');
  });

  it('where there is room for fewer by now', async () => {
    const harness = await start(oneService);
    harness.push('preview/other');
    await harness.live(settle);
    harness.policy = { limits: { environments: { per_project: 1 } }, setBy: 'ephd.yaml', commit: null, placeOf: () => undefined };
    await harness.restart();
    await harness.live(settle);
    await expectRefusal(harness, 'environments.per_project', harness.record('preview/login'));
  });

  it('where it refers to an environment that is gone', async () => {
    const harness = await start(oneService);
    const { id, name } = harness.only();
    harness.ownerOf = (label) => (label === name ? id : undefined);
    harness.push('preview/user', oneService.replace('run web', `run web, env: { API: "${name}::outputs/web/url" }`));
    await harness.live(settle);
    expect(harness.record('preview/user').status?.phase).toBe('Ready');
    harness.repository.delete(branch('preview/login'));
    await harness.live(settle);
    await expectRefusal(harness, name, harness.record('preview/user'));
  });

  it('where its provider does not answer', async () => {
    const harness = await start();
    harness.away.add('process');
    await expectRefusal(harness, 'process does not answer');
  });

  it('once the request is under way: what is left of it waits', async () => {
    const { harness, ref } = await startPullRequest(twoServices);
    await redeploy(harness);
    await harness.engine.idle();
    harness.repository.pullRequests.label(ref, 'preview:pause');
    await harness.live(settle);
    const before = harness.events.length;
    expect(harness.only()).toMatchObject({
      status: { summary: 'a label asks to leave it as it is' },
      redeploy: { left: ['api'] },
    });
    harness.repository.pullRequests.unlabel(ref, 'preview:pause');
    await harness.live(settle);
    expect(brief(harness.events.slice(before)).slice(-2)).toEqual(['destroy api', 'create api']);
    expect(harness.only()).toMatchObject({ status: { phase: 'Ready' }, redeploy: undefined });
  });
});

describe('a request that is under way', () => {
  it('is not begun again by the same request', async () => {
    const harness = await start();
    const before = harness.events.length;
    await redeploy(harness);
    await harness.engine.idle();
    expect(harness.only().redeploy).toMatchObject({ left: ['api'], last: 'web' });
    for (const names of [undefined, ['web'], ['api']]) expect(await redeploy(harness, names)).toEqual(names ?? ['api', 'web']);
    await harness.live(settle);
    expect(brief(harness.events.slice(before))).toEqual(['destroy web', 'create web', 'destroy api', 'create api']);
    await redeploy(harness, ['web']);
    await harness.live(settle);
    expect(brief(harness.events.slice(before)).slice(4)).toEqual(['destroy web', 'create web']);
  });

  it('is not begun again while all that there was is being made', async () => {
    const harness = await start(oneService);
    const before = harness.events.length;
    await redeploy(harness);
    await harness.engine.idle();
    expect(await redeploy(harness)).toEqual(['web']);
    await harness.live(settle);
    expect(brief(harness.events.slice(before))).toEqual(['destroy web', 'create web']);
    expect(harness.only().redeploy).toBeUndefined();
  });

  it('takes what another request adds', async () => {
    const harness = await start();
    const before = harness.events.length;
    await redeploy(harness, ['web']);
    await harness.engine.idle();
    await redeploy(harness, ['api']);
    await harness.live(settle);
    expect(brief(harness.events.slice(before))).toEqual(['destroy web', 'create web', 'destroy api', 'create api']);
  });

  it('goes on with the commit that is pushed meanwhile', async () => {
    const harness = await start();
    await redeploy(harness);
    await harness.engine.idle();
    const commit = harness.push('preview/login', twoServices.replace('run api', 'run api --fast'));
    await harness.live(2 * settle);
    expect(harness.running()).toEqual({ 'preview/login/web': commit, 'preview/login/api': commit });
    expect(harness.only()).toMatchObject({ status: { phase: 'Ready' }, redeploy: undefined });
  });

  it('forgets a component that a push takes away', async () => {
    const harness = await start();
    await redeploy(harness);
    await harness.engine.idle();
    const commit = harness.push('preview/login', oneService);
    await harness.live(2 * settle);
    expect(harness.running()).toEqual({ 'preview/login/web': commit });
    expect(harness.only()).toMatchObject({ status: { phase: 'Ready' }, redeploy: undefined });
  });

  it.each(['before', 'during', 'after'] as const)('goes on after a removal that failed %s its effect', async (when) => {
    const harness = await start();
    let failures = 2;
    harness.providerOptions = {
      disturb: (operation, moment) => {
        if (operation !== 'remove' || moment !== when || failures === 0) return Promise.resolve();
        failures -= 1;
        return Promise.reject(new EphError('provider.unreachable', 'the provider does not answer'));
      },
    };
    await redeploy(harness);
    await harness.live(5 * settle);
    expect(failures).toBe(0);
    expect(Object.keys(harness.running()).toSorted()).toEqual(['preview/login/api', 'preview/login/web']);
    expect(harness.only()).toMatchObject({ status: { phase: 'Ready' }, redeploy: undefined });
  });

  it('does not keep a push from what is not removed, however often the removal fails', async () => {
    const harness = await start();
    harness.providerOptions = {
      disturb: (operation, moment) =>
        operation === 'remove' && moment === 'before'
          ? Promise.reject(new EphError('provider.unreachable', 'the provider does not answer'))
          : Promise.resolve(),
    };
    await redeploy(harness, ['web']);
    await harness.live(settle);
    expect(harness.only().status?.summary).toContain('the provider does not answer');
    const commit = harness.push('preview/login', twoServices.replace('run api', 'run api --fast'));
    await harness.live(settle);
    expect(harness.running()['preview/login/api']).toBe(commit);
  });

  it('waits for a removal that takes its time', async () => {
    const harness = await start();
    const before = harness.events.length;
    const endsAt = harness.clock.now() + 20_000;
    harness.providerOptions = {
      disturb: (operation, moment) =>
        operation === 'remove' && moment === 'during' && harness.clock.now() < endsAt
          ? Promise.reject(new EphError('component.removing', 'web is being removed: it waits for its volume'))
          : Promise.resolve(),
    };
    await redeploy(harness);
    await harness.live(5);
    expect(harness.only().actions).toContainEqual(expect.objectContaining({ type: 'wait', code: 'component.removing' }));
    await harness.live(3 * settle);
    expect(brief(harness.events.slice(before))).toEqual(['destroy web', 'create web', 'destroy api', 'create api']);
    expect(harness.only()).toMatchObject({ status: { phase: 'Ready' }, redeploy: undefined });
  });
});
