import { describe, expect, it } from 'vitest';
import type { KubeObject } from './object.ts';
import { computeReadiness } from './readiness.ts';

const object = (
  apiVersion: string,
  kind: string,
  parts: { readonly spec?: object; readonly status?: object; readonly metadata?: object } = {},
): KubeObject => ({ apiVersion, kind, ...parts, metadata: { name: 'web', generation: 2, ...parts.metadata } });

const condition = (type: string, status: string, more: object = {}): object => ({ type, status, ...more });
const seen = { observedGeneration: 2 };

const deployment = (status: object, spec: object = { replicas: 2 }): KubeObject =>
  object('apps/v1', 'Deployment', { spec, status: { ...seen, ...status } });
const quota =
  'pods "web-1" is forbidden: exceeded quota: small, requested: limits.cpu=1, used: limits.cpu=2, limited: limits.cpu=2';

describe('how far an object is', () => {
  it.each<[string, KubeObject, string, RegExp | string]>([
    ['a new Deployment', object('apps/v1', 'Deployment'), 'progressing', /not seen it yet/],
    [
      'a changed Deployment',
      object('apps/v1', 'Deployment', {
        status: { observedGeneration: 1, updatedReplicas: 1, availableReplicas: 1, replicas: 1 },
      }),
      'progressing',
      /not seen its last change/,
    ],
    ['a rollout', deployment({ replicas: 3, updatedReplicas: 1 }), 'progressing', '1 of 2 pods are of the new version.'],
    ['old pods', deployment({ replicas: 3, updatedReplicas: 2 }), 'progressing', '1 pod of the version before is still there.'],
    ['new pods', deployment({ replicas: 2, updatedReplicas: 2, availableReplicas: 1 }), 'progressing', '1 of 2 pods are ready.'],
    ['a Deployment', deployment({ replicas: 2, updatedReplicas: 2, availableReplicas: 2 }), 'ready', '2 of 2 pods are ready.'],
    ['an asleep Deployment', deployment({}, { replicas: 0 }), 'ready', 'It is scaled to zero.'],
    [
      'a rollout that takes too long',
      deployment({ conditions: [condition('Progressing', 'False', { reason: 'ProgressDeadlineExceeded' })] }),
      'failed',
      /no progress for too long\.$/,
    ],
    [
      'a full quota',
      deployment({ conditions: [condition('ReplicaFailure', 'True', { reason: 'FailedCreate', message: quota })] }),
      'failed',
      'Its pods cannot be created because quota small is used up: they need limits.cpu=1, used is limits.cpu=2 of limits.cpu=2.',
    ],
    [
      'a ReplicaSet that may not create pods',
      object('apps/v1', 'ReplicaSet', {
        status: { ...seen, conditions: [condition('ReplicaFailure', 'True', { message: 'no' })] },
      }),
      'failed',
      'Its pods cannot be created: no.',
    ],
    ['a ReplicaSet', object('apps/v1', 'ReplicaSet', { status: { ...seen, availableReplicas: 1 } }), 'ready', /1 of 1 pod is/],
    [
      'a StatefulSet amid an update',
      object('apps/v1', 'StatefulSet', {
        spec: { replicas: 3 },
        status: { ...seen, readyReplicas: 3, updatedReplicas: 1, currentRevision: 'a', updateRevision: 'b' },
      }),
      'progressing',
      '1 of 3 pods are of the new version.',
    ],
    [
      'a StatefulSet with a partition',
      object('apps/v1', 'StatefulSet', {
        spec: { replicas: 3, updateStrategy: { rollingUpdate: { partition: 2 } } },
        status: { ...seen, readyReplicas: 3, updatedReplicas: 1, currentRevision: 'a', updateRevision: 'b' },
      }),
      'ready',
      /3 of 3/,
    ],
    ['a new StatefulSet', object('apps/v1', 'StatefulSet'), 'progressing', /not seen it yet/],
    [
      'a DaemonSet',
      object('apps/v1', 'DaemonSet', {
        status: { ...seen, desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 2 },
      }),
      'ready',
      /2 of 2/,
    ],
    [
      'a DaemonSet amid an update',
      object('apps/v1', 'DaemonSet', {
        status: { ...seen, desiredNumberScheduled: 2, updatedNumberScheduled: 1, numberAvailable: 2 },
      }),
      'progressing',
      /1 of 2 pods are of the new/,
    ],
    ['a Job', object('batch/v1', 'Job', { status: { conditions: [condition('Complete', 'True')] } }), 'ready', 'It succeeded.'],
    ['a new Job', object('batch/v1', 'Job'), 'progressing', 'It has not begun.'],
    [
      'a running Job',
      object('batch/v1', 'Job', { spec: { completions: 3 }, status: { active: 1, succeeded: 1 } }),
      'progressing',
      /1 of 3/,
    ],
    [
      'a failed Job',
      object('batch/v1', 'Job', {
        status: { conditions: [condition('Failed', 'True', { message: 'Job has reached the specified backoff limit' })] },
      }),
      'failed',
      'It failed: Job has reached the specified backoff limit.',
    ],
    [
      'a suspended Job',
      object('batch/v1', 'Job', { status: { conditions: [condition('Suspended', 'True')] } }),
      'progressing',
      /suspended/,
    ],
    [
      'a Pod',
      object('v1', 'Pod', { status: { phase: 'Running', conditions: [condition('Ready', 'True')] } }),
      'ready',
      'It is ready.',
    ],
    [
      'a Pod that is not ready',
      object('v1', 'Pod', {
        status: {
          phase: 'Running',
          conditions: [condition('Ready', 'False', { message: 'containers with unready status: [web]' })],
        },
      }),
      'progressing',
      /unready status: \[web\]\.$/,
    ],
    ['a Pod without a node', object('v1', 'Pod', { status: { phase: 'Pending' } }), 'progressing', 'It has no node yet.'],
    ['a Pod that succeeded', object('v1', 'Pod', { status: { phase: 'Succeeded' } }), 'ready', 'It succeeded.'],
    [
      'a Pod that failed',
      object('v1', 'Pod', { status: { phase: 'Failed', reason: 'Evicted', message: 'disk' } }),
      'failed',
      'It failed: disk.',
    ],
    ['a claim', object('v1', 'PersistentVolumeClaim', { status: { phase: 'Bound' } }), 'ready', /has a volume/],
    [
      'a claim that waits',
      object('v1', 'PersistentVolumeClaim', { status: { phase: 'Pending' } }),
      'progressing',
      /no volume yet/,
    ],
    ['a lost claim', object('v1', 'PersistentVolumeClaim', { status: { phase: 'Lost' } }), 'failed', /lost/],
    ['a Service', object('v1', 'Service', { spec: { type: 'ClusterIP' } }), 'ready', 'It is there.'],
    [
      'a balancer without address',
      object('v1', 'Service', { spec: { type: 'LoadBalancer' }, status: { loadBalancer: {} } }),
      'progressing',
      /waits for an address/,
    ],
    [
      'a balancer',
      object('v1', 'Service', { spec: { type: 'LoadBalancer' }, status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } }),
      'ready',
      /address/,
    ],
    [
      'an autoscaler',
      object('autoscaling/v2', 'HorizontalPodAutoscaler', { status: { conditions: [condition('ScalingActive', 'True')] } }),
      'ready',
      /active/,
    ],
    [
      'an autoscaler without metrics',
      object('autoscaling/v2', 'HorizontalPodAutoscaler', {
        status: { conditions: [condition('ScalingActive', 'False', { message: 'no metrics' })] },
      }),
      'progressing',
      /no metrics\.$/,
    ],
    [
      'an autoscaler of nothing',
      object('autoscaling/v2', 'HorizontalPodAutoscaler', {
        status: { conditions: [condition('AbleToScale', 'False', { message: 'not found' })] },
      }),
      'failed',
      /not found\.$/,
    ],
    ['a definition', object('apiextensions.k8s.io/v1', 'CustomResourceDefinition'), 'progressing', /not served yet/],
    [
      'a served definition',
      object('apiextensions.k8s.io/v1', 'CustomResourceDefinition', {
        status: { conditions: [condition('Established', 'True')] },
      }),
      'ready',
      /served/,
    ],
    ['what says nothing', object('v1', 'ConfigMap'), 'ready', 'It is there.'],
    [
      'a custom resource that is ready',
      object('x.io/v1', 'Thing', { status: { conditions: [condition('Ready', 'True', { message: 'fine' })] } }),
      'ready',
      'fine.',
    ],
    [
      'one that is not',
      object('x.io/v1', 'Thing', { status: { conditions: [condition('Ready', 'Unknown', { reason: 'Waiting' })] } }),
      'progressing',
      'Waiting.',
    ],
    [
      'one that is available',
      object('x.io/v1', 'Thing', { status: { conditions: [condition('Available', 'True')] } }),
      'ready',
      'It is ready.',
    ],
    [
      'one that is stalled',
      object('x.io/v1', 'Thing', {
        status: { conditions: [condition('Stalled', 'True', { message: 'bad URL' }), condition('Ready', 'True')] },
      }),
      'failed',
      'bad URL.',
    ],
    [
      'one that is reconciled',
      object('x.io/v1', 'Thing', { status: { conditions: [condition('Reconciling', 'True'), condition('Ready', 'True')] } }),
      'progressing',
      /reconciled/,
    ],
    [
      'an outdated condition',
      object('x.io/v1', 'Thing', { status: { conditions: [condition('Ready', 'True', { observedGeneration: 1 })] } }),
      'progressing',
      /last change/,
    ],
    [
      'anything with finalizers that is deleted',
      object('v1', 'ConfigMap', { metadata: { deletionTimestamp: '2026-01-05T09:00:00Z', finalizers: ['x.io/wait'] } }),
      'removing',
      'It is being removed, and waits for x.io/wait.',
    ],
  ])('is known of %s', (_, one, state, reason) => {
    const found = computeReadiness(one);
    expect(found.state).toBe(state);
    expect(found.reason).toMatch(typeof reason === 'string' ? new RegExp(`^${RegExp.escape(reason)}$`) : reason);
  });

  it.each([
    [undefined],
    [null],
    ['text'],
    [{ conditions: 'none' }],
    [{ conditions: [7, { type: 'Ready' }] }],
    [{ replicas: 'many' }],
  ])('is never ready because of a status that makes no sense: %j', (status) => {
    for (const [apiVersion, kind] of [
      ['apps/v1', 'Deployment'],
      ['apps/v1', 'StatefulSet'],
      ['apps/v1', 'DaemonSet'],
      ['batch/v1', 'Job'],
      ['v1', 'Pod'],
    ] as const)
      expect(computeReadiness({ apiVersion, kind, metadata: { name: 'web' }, status }).state).toBe('progressing');
  });
});
