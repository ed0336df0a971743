import { type RequestAnswer, silentLog, toFailure } from '@eph/contract';
import { isTimeLabel, keepLabel, pauseLabel, timeLabel } from '@eph/engine/desired/labels';
import { EngineHarness, shop } from '@eph/engine/loop/engine-harness.fake';
import { describe, expect, it, onTestFinished } from 'vitest';
import { EnvironmentRequests, type LabelChange } from './environment-requests.ts';

const hourMs = 3_600_000;

interface Setup {
  readonly labels: readonly string[];
  /** Since they were set. */
  readonly hours?: number;
  readonly trigger?: string;
  /** `environment.ttl` of its file. */
  readonly ttl?: string;
  /** What the policy of the platform allows. */
  readonly maxHours?: number;
}

const start = async ({ labels, hours = 1, trigger = '{ type: pr_label, labels: [preview] }', ttl, maxHours }: Setup) => {
  const harness = new EngineHarness();
  const limits = maxHours === undefined ? {} : { max_ttl: maxHours * 3600 };
  harness.policy = { limits, setBy: 'ephd.yaml', commit: null, placeOf: () => undefined };
  const environment = ttl === undefined ? '' : `environment: { ttl: ${ttl} }\n`;
  harness.push('main');
  harness.push(
    'work',
    `version: "1.0"\nname: shop\ntriggers: [${trigger}]\n${environment}process: { services: { web: { command: run } } }\n`,
  );
  const { pullRequests } = harness.repository;
  const ref = pullRequests.open({ head: 'work', labels });
  const began = harness.clock.now();
  harness.start();
  onTestFinished(() => harness.engine.close());
  await harness.live(60);
  harness.clock.jump(hours * hourMs);
  const requests = new EnvironmentRequests({
    projects: new Map([[shop, { forge: harness.forge }]]),
    consider: (source, signal) => harness.engine.consider(source, signal),
    considerLifetime: (source, signal) => harness.engine.considerLifetime(source, signal),
    wake: () => undefined,
    now: () => harness.clock.now(),
    log: silentLog,
  });
  const ask = async (change: Omit<LabelChange, 'instead'>): Promise<RequestAnswer | string> => {
    const { signal } = new AbortController();
    const answer = requests.changeLabels({ project: shop, ref }, { ...change, instead: '' }, signal);
    return await answer.catch((error: unknown) => toFailure(error).message);
  };
  return {
    pin: () => ask({ type: 'lifetime', add: keepLabel }),
    unpin: () => ask({ type: 'lifetime', removes: (label) => label === keepLabel }),
    extend: (time: string) => ask({ type: 'lifetime', add: timeLabel(time), removes: isTimeLabel }),
    pause: () => ask({ type: 'pause', add: pauseLabel }),
    labels: () => pullRequests.find(ref).pull.labels,
    /** So many hours after its labels were set. */
    after: (hours: number) => new Date(began + hours * hourMs).toISOString(),
  };
};

describe('a label about how long an environment lives', () => {
  it('is answered with the end that follows from it', async () => {
    const { pin, unpin, extend, after } = await start({ labels: ['preview'], ttl: '24h' });
    expect(await extend('72h')).toMatchObject({
      changes: [{ label: 'preview:72h' }],
      because: expect.stringMatching(/; it expires 3d after the label preview was set$/),
      expiresAt: after(72),
    });
    expect(await extend('72h')).toMatchObject({ changes: [], expiresAt: after(72) });
    expect(await pin()).toMatchObject({ because: expect.stringMatching(/; it does not expire$/), expiresAt: null });
    expect(await unpin()).toMatchObject({ changes: [{ label: 'preview:keep' }], expiresAt: after(72) });
  });

  it('may be cut by the policy of the platform, which the answer says', async () => {
    const { extend, pin, labels, after } = await start({ labels: ['preview'], ttl: '12h', maxHours: 24 });
    expect(await extend('72h')).toMatchObject({
      because: expect.stringContaining(
        '1d after the label preview was set, which is as long as the policy of the platform allows',
      ),
      expiresAt: after(24),
    });
    expect(await extend('96h')).toContain('it already lives as long as the policy of the platform allows, 1d');
    expect(await pin()).toContain('it already lives as long as the policy of the platform allows, 1d');
    expect(labels()).toEqual(['preview', 'preview:72h']);
  });

  it.each([
    ['{ type: auto }', []],
    ['{ type: pr_label, labels: [preview] }, { type: auto }', ['bug']],
  ])('is not written where no label asks for the environment: %s, %s', async (trigger, labels) => {
    const started = await start({ labels, trigger, ttl: '24h' });
    for (const answer of [await started.pin(), await started.extend('72h')])
      expect(answer).toContain('would have no effect on pull request 1: no label asks for its environment');
    expect(started.labels()).toEqual(labels);
    expect(await started.unpin()).toMatchObject({ changes: [], expiresAt: null });
  });

  it('is not written with a time where the environment is kept', async () => {
    const { extend, labels } = await start({ labels: ['preview', 'preview:keep'] });
    expect(await extend('72h')).toContain('preview:keep keeps it; take that off first');
    expect(labels()).toEqual(['preview', 'preview:keep']);
  });

  it('is not written where that time is over', async () => {
    const { extend, labels, after } = await start({ labels: ['preview'], hours: 3, ttl: '24h' });
    expect(await extend('2h')).toContain('it would expire at once, 2h after the label preview was set');
    expect(labels()).toEqual(['preview']);
    expect(await extend('4h')).toMatchObject({ expiresAt: after(4) });
  });
});

describe('a label that pauses an environment', () => {
  it('is written whatever says how long it lives', async () => {
    const { pause } = await start({ labels: ['preview', 'preview:keep'], maxHours: 24 });
    const answer = await pause();
    expect(answer).toMatchObject({ changes: [{ label: 'preview:pause' }] });
    expect(answer).not.toHaveProperty('expiresAt');
  });
});

it('no label is written where there is no environment', async () => {
  const { pause, pin, labels } = await start({ labels: [] });
  for (const answer of [await pause(), await pin()]) expect(answer).toContain('it gets no environment: ');
  expect(labels()).toEqual([]);
});
