import { commitSha, type Plan, parseSpec, type Source, type SourceRef } from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { branch, EngineHarness, oneService, twoServices } from './engine-harness.fake.ts';

const settle = 60;
const never = new AbortController().signal;

const labelled = (services: string, label = 'preview'): string =>
  services.replace('process:', `triggers: [{ type: pr_label, labels: [${label}] }]\nprocess:`);

/** A pull request from `work`, and what would be done about it with some changes. Asking never does anything. */
const start = async (labels: readonly string[] = []) => {
  const harness = new EngineHarness().start();
  harness.push('main', labelled(oneService));
  harness.push('work', labelled(oneService));
  const ref: SourceRef = harness.repository.pullRequests.open({ head: 'work', labels });
  await harness.live(settle);
  const plan = async (change: (source: Source) => Partial<Source> = () => ({}), file?: string): Promise<Plan> => {
    const answer = await harness.forge.source(ref);
    const source = answer.state === 'present' ? answer.source : expect.fail(`${ref.name} is ${answer.state}`);
    const parsed = file === undefined ? undefined : parseSpec(new TextEncoder().encode(file), 'eph.yaml');
    const [events, calls] = [harness.events.length, { ...harness.provider.calls }];
    const plan = await harness.engine.planSource({ ...source, ...change(source) }, parsed, () => true, never);
    const { list: _, ...effects } = harness.provider.calls;
    expect([harness.events.length, effects]).toEqual([events, { ensure: calls.ensure, remove: calls.remove, hold: calls.hold }]);
    return plan;
  };
  return { harness, ref, plan };
};

const withLabels =
  (...labels: readonly string[]) =>
  ({ pull }: Source): Partial<Source> =>
    pull === undefined ? {} : { pull: { ...pull, labels } };

describe('the plan for a pull request', () => {
  it('is what a label would do that nobody has set yet', async () => {
    const { plan } = await start();
    expect(await plan()).toMatchObject({ wanted: false, actions: [] });
    expect(await plan(withLabels('preview'))).toMatchObject({ wanted: true, actions: [{ type: 'create', component: 'web' }] });
    expect(await plan(withLabels('preview', 'preview:pause'))).toMatchObject({
      wanted: true,
      actions: [{ type: 'wait', code: 'plan.paused' }],
    });
    expect(await plan(withLabels('other'))).toMatchObject({ wanted: false, actions: [] });
  });

  it('is what would go without a label', async () => {
    const { plan } = await start(['preview']);
    expect(await plan()).toMatchObject({ wanted: true, actions: [] });
    expect(await plan(withLabels())).toMatchObject({ wanted: false, actions: [{ type: 'destroy', component: 'web' }] });
  });

  it('is what another commit would do', async () => {
    const { harness, plan } = await start(['preview']);
    const commit = harness.push('elsewhere', labelled(twoServices));
    expect((await plan(() => ({ commit }))).actions).toMatchObject([
      { type: 'create', component: 'api' },
      { type: 'wait', component: 'web', code: 'reference.waiting' },
    ]);
    const unlabelled = harness.push('elsewhere', labelled(oneService, 'demo'));
    expect(await plan(() => ({ commit: unlabelled }))).toMatchObject({ wanted: false, actions: [{ type: 'destroy' }] });
  });

  it('is what another file would do', async () => {
    const { plan } = await start(['preview']);
    expect(await plan(undefined, labelled(oneService, 'demo'))).toMatchObject({ wanted: false });
    expect(await plan(undefined, labelled(oneService).replace('command:', 'comand:'))).toMatchObject({
      wanted: true,
      actions: [{ type: 'wait', code: 'spec.invalid', reason: expect.stringContaining('comand') }],
    });
  });
});

describe('a plan that is not known', () => {
  it('says so of a commit that does not exist', async () => {
    const { plan } = await start(['preview']);
    expect(await plan(() => ({ commit: commitSha('0'.repeat(40)) }))).toMatchObject({
      wanted: null,
      because: expect.stringContaining('eph.yaml'),
      actions: [{ type: 'wait' }],
    });
  });

  it('says so of a file whose triggers cannot be understood', async () => {
    const { plan } = await start(['preview']);
    expect(await plan(undefined, 'version: 2')).toMatchObject({
      wanted: null,
      because: expect.stringContaining('eph.yaml:1:'),
      actions: [{ type: 'wait', code: 'spec.invalid' }],
    });
  });

  it('says so where the forge does not answer', async () => {
    const { harness, plan } = await start(['preview']);
    const commit = harness.push('elsewhere', labelled(oneService));
    harness.forgeOptions = {
      disturb: (operation) => (operation === 'readFile' ? Promise.reject(new Error('the forge hangs')) : Promise.resolve()),
    };
    expect(await plan(() => ({ commit }))).toMatchObject({ wanted: null, because: expect.stringContaining('could not be read') });
  });

  it('says what could not be read of what would go', async () => {
    const { harness, plan } = await start(['preview']);
    harness.away.add('process');
    expect(await plan(withLabels())).toMatchObject({
      wanted: false,
      actions: [{ type: 'wait', code: 'provider.unreachable', reason: 'process does not answer' }],
    });
  });

  it('says so in the plan of everything', async () => {
    const harness = new EngineHarness().start();
    harness.push('preview/login', oneService);
    await harness.live(settle);
    harness.forgeOptions = {
      disturb: (operation) => (operation === 'readFile' ? Promise.reject(new Error('the forge hangs')) : Promise.resolve()),
    };
    harness.repository.push(branch('preview/login'), { 'eph.yaml': twoServices });
    const { plans } = await harness.engine.plan(() => true, never);
    expect(plans).toMatchObject([{ wanted: null, actions: [{ type: 'wait' }] }]);
  });
});
