import { describe, expect, it } from 'vitest';
import type { JsonMap } from '../layers.ts';
import { findExclusiveClaim, interruptionOf } from './interruption.ts';

const claim = (name: string, ...accessModes: string[]): JsonMap => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name },
  spec: { accessModes },
});

const mounts = (claimName: string): JsonMap => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    template: {
      spec: {
        volumes: [
          { name: 'tmp', emptyDir: {} },
          { name: 'data', persistentVolumeClaim: { claimName } },
        ],
      },
    },
  },
});

describe('an update', () => {
  it.each<readonly [string, JsonMap, readonly JsonMap[], RegExp]>([
    ['a StatefulSet', { kind: 'StatefulSet' }, [], /^each pod of a StatefulSet ends/],
    ['a ReplicaSet', { kind: 'ReplicaSet' }, [], /^a ReplicaSet cannot be changed/],
    ['a DaemonSet', { kind: 'DaemonSet' }, [], /^the pod of a machine ends/],
    ['a Job', { kind: 'Job' }, [], /^a Job cannot be changed/],
    ['a Pod', { kind: 'Pod' }, [], /^a Pod cannot be changed/],
    ['strategy Recreate', { kind: 'Deployment', spec: { strategy: { type: 'Recreate' } } }, [], /strategy Recreate/],
    ['a claim for one pod', mounts('data'), [claim('data', 'ReadWriteOncePod')], /claim data is for one pod/],
    ['a claim for one machine', mounts('data'), [claim('other'), claim('data', 'ReadWriteOnce')], /claim data is for one pod/],
  ])('interrupts what has %s', (_, workload, claims, expected) => {
    expect(interruptionOf(workload, claims)).toMatch(expected);
  });

  it.each<readonly [string, JsonMap, readonly JsonMap[]]>([
    ['a Deployment', { kind: 'Deployment' }, []],
    ['a Deployment with a claim that pods share', mounts('data'), [claim('data', 'ReadWriteOnce', 'ReadWriteMany')]],
    ['a Deployment beside a claim of another', mounts('data'), [claim('other', 'ReadWriteOnce')]],
    ['a Deployment with a claim that is not of this environment', mounts('data'), []],
    [
      'a DaemonSet that starts pods first',
      { kind: 'DaemonSet', spec: { updateStrategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } } } },
      [],
    ],
    ['a CronJob', { kind: 'CronJob' }, []],
  ])('lets %s serve', (_, workload, claims) => {
    expect(interruptionOf(workload, claims)).toBeUndefined();
  });

  it('is asked about nonsense without harm', () => {
    const broken: JsonMap = {
      kind: 'Deployment',
      spec: { template: { spec: { volumes: ['x', null, { persistentVolumeClaim: 7 }] } } },
    };
    expect(findExclusiveClaim(broken, [{ kind: 'PersistentVolumeClaim', spec: 'x' }])).toBeUndefined();
  });
});
