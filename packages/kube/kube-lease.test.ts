import { setTimeout as sleep } from 'node:timers/promises';
import type { LeaseState } from '@eph/engine/history/lease';
import { describeLease } from '@eph/engine/history/lease.contract';
import { ManualClock } from '@eph/engine/time/clock.fake';
import { systemClock } from '@eph/engine/time/system-clock';
import { describe, expect, it, vi } from 'vitest';
import { cluster as clusterPart } from '../../test/parts/cluster.ts';
import { describeWith } from '../../test/parts/describe-with.ts';
import { never, openTestCluster } from './cluster-harness.fake.ts';
import { KubeLease } from './kube-lease.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const kind = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' };
const timing = { ttlMs: 3_000, deadlineMs: 2_000, retryMs: 200 };

describeWith(clusterPart, 'a lease in a cluster', () => {
  describe('as every lease', () => {
    describeLease(async () => {
      const { cluster, proxy, namespace, openAgain } = await openTestCluster();
      // The first request of a process takes longer than the deadline of this test.
      await cluster.client.discovery.find(kind, never);
      return {
        join: () => {
          const own = openAgain();
          const name = { namespace, name: 'eph' };
          const lease = new KubeLease({ client: own.client, name, clock: systemClock, random: Math.random, timing });
          return { lease, crash: async () => own[Symbol.asyncDispose]() };
        },
        fail: () => {
          proxy.fault = () => ({ type: 'reset' });
          return Promise.resolve(proxy.resetAll());
        },
        recover: () => {
          proxy.fault = () => undefined;
          return Promise.resolve();
        },
        wait: () => sleep(20),
        [Symbol.asyncDispose]: () => Promise.resolve(),
      };
    });
  });

  it('is readable for kubectl, and empty after a clean stop', async () => {
    const { cluster, namespace } = await openTestCluster();
    const name = { namespace, name: 'eph' };
    const abort = new AbortController();
    const states: LeaseState[] = [];
    const holding = new KubeLease({ client: cluster.client, name, clock: systemClock, random: Math.random }).hold(
      'one',
      (state) => states.push(state),
      abort.signal,
    );
    await expect.poll(() => states).toEqual([{ state: 'leading' }]);
    expect((await cluster.client.get(kind, name, never))?.['spec']).toMatchObject({
      holderIdentity: 'one',
      leaseDurationSeconds: 15,
      renewTime: expect.stringMatching(/^\d{4}-.*\.\d{6}Z$/),
    });
    abort.abort();
    await holding;
    expect((await cluster.client.get(kind, name, never))?.['spec']).not.toHaveProperty('holderIdentity', 'one');
  });

  it('is judged by the clock here, whatever the one who wrote it says of the time', async () => {
    const clock = new ManualClock();
    const { cluster, namespace } = await openTestCluster({ clock });
    const name = { namespace, name: 'eph' };
    const spec = { holderIdentity: 'other', leaseDurationSeconds: 15, renewTime: '2001-01-01T00:00:00.000000Z' };
    await cluster.create({ ...kind, metadata: name, spec }, never);
    const states: LeaseState[] = [];
    const abort = new AbortController();
    const holding = new KubeLease({ client: cluster.client, name, clock, random: () => 0 }).hold(
      'one',
      (state) => states.push(state),
      abort.signal,
    );
    await expect.poll(() => states).toEqual([{ state: 'standby', holder: 'other' }]);
    const began = clock.now();
    await expect
      .poll(() => {
        clock.advance(500);
        return states.length;
      })
      .toBe(2);
    expect(states[1]).toEqual({ state: 'leading' });
    expect(clock.now() - began).toBeGreaterThanOrEqual(15_000);
    abort.abort();
    await holding;
  });
});
