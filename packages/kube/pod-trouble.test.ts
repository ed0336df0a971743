import { describe, expect, it } from 'vitest';
import type { KubeObject } from './object.ts';
import { findPodTrouble } from './pod-trouble.ts';

const pod = (status: object): KubeObject => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web-1' }, status });
const container = (more: object): KubeObject =>
  pod({ phase: 'Pending', containerStatuses: [{ name: 'web', image: 'shop:7', restartCount: 0, ...more }] });
const waiting = (reason: string, message = '', more: object = {}): KubeObject =>
  container({ state: { waiting: { reason, message } }, ...more });

describe('the trouble of a pod', () => {
  it.each<[string, KubeObject, string, string, boolean]>([
    [
      'an image that is not there',
      waiting(
        'ImagePullBackOff',
        'Back-off pulling image "shop:7": ErrImagePull: rpc error: code = NotFound desc = failed to pull: shop:7: not found',
      ),
      'image',
      'The image shop:7 of web cannot be pulled: it does not exist in the registry.',
      true,
    ],
    [
      'an image that nobody may read',
      waiting(
        'ErrImagePull',
        'pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed'.replace(
          'does not exist or ',
          '',
        ),
      ),
      'image',
      'The image shop:7 of web cannot be pulled: the registry does not let the cluster read it. It may need a pull secret.',
      true,
    ],
    [
      'a registry that is away',
      waiting('ErrImagePull', 'dial tcp: i/o timeout'),
      'image',
      'The image shop:7 of web cannot be pulled: dial tcp: i/o timeout.',
      false,
    ],
    [
      'a name of no image',
      waiting('InvalidImageName'),
      'image',
      'The image shop:7 of web cannot be pulled: it is no name of an image.',
      true,
    ],
    [
      'a crash loop',
      waiting('CrashLoopBackOff', 'back-off 10s', {
        restartCount: 3,
        lastState: { terminated: { exitCode: 1, reason: 'Error' } },
      }),
      'crash',
      'web ended with exit code 1, 3 times so far, and is started again later.',
      false,
    ],
    [
      'a command that ends',
      waiting('CrashLoopBackOff', '', { restartCount: 1, lastState: { terminated: { exitCode: 0, reason: 'Completed' } } }),
      'crash',
      'web ended with exit code 0 although it should go on, once so far, and is started again later.',
      false,
    ],
    [
      'too little memory',
      waiting('CrashLoopBackOff', '', { restartCount: 2, lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } } }),
      'memory',
      'web used more memory than its limit and was killed, 2 times so far, and is started again later.',
      false,
    ],
    [
      'an end',
      container({ state: { terminated: { exitCode: 3, reason: 'Error' } } }),
      'crash',
      'web ended with exit code 3.',
      false,
    ],
    [
      'a start after an end',
      container({
        restartCount: 1,
        started: true,
        ready: false,
        state: { running: {} },
        lastState: { terminated: { exitCode: 3, reason: 'Error' } },
      }),
      'crash',
      'web ended with exit code 3, once so far, and was started again.',
      false,
    ],
    [
      'a missing secret',
      waiting('CreateContainerConfigError', 'secret "keys" not found'),
      'configuration',
      'web cannot be created: secret "keys" not found.',
      true,
    ],
    [
      'a command that is not there',
      container({ state: { terminated: { exitCode: 128, reason: 'StartError', message: 'exec: "run": not found' } } }),
      'configuration',
      'web cannot be started: exec: "run": not found.',
      true,
    ],
    [
      'a full cluster',
      pod({
        phase: 'Pending',
        conditions: [
          {
            type: 'PodScheduled',
            status: 'False',
            reason: 'Unschedulable',
            message: '0/3 nodes are available: 3 Insufficient cpu.',
          },
        ],
      }),
      'unschedulable',
      'No node can run the pod: 0/3 nodes are available: 3 Insufficient cpu.',
      false,
    ],
    [
      'an eviction',
      pod({ phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' }),
      'evicted',
      'The node evicted the pod: The node was low on resource: memory.',
      false,
    ],
    [
      'a deadline',
      pod({ phase: 'Failed', reason: 'DeadlineExceeded' }),
      'deadline',
      'The pod ran longer than its deadline allows.',
      true,
    ],
    [
      'a start that takes too long',
      container({ state: { running: {} }, started: false, restartCount: 2 }),
      'probe',
      'web was restarted 2 times and has not passed its startup probe.',
      false,
    ],
    [
      'an init container',
      pod({
        initContainerStatuses: [{ name: 'migrate', image: 'shop:7', restartCount: 0, state: { terminated: { exitCode: 2 } } }],
        containerStatuses: [{ name: 'web', state: { waiting: { reason: 'PodInitializing' } } }],
      }),
      'crash',
      'migrate ended with exit code 2.',
      false,
    ],
  ])('is said in plain words: %s', (_, one, kind, sentence, isLasting) => {
    expect(findPodTrouble(one)).toEqual({ kind, sentence, isLasting });
  });

  it.each([
    ['runs', container({ state: { running: {} }, started: true, restartCount: 4 })],
    ['is being created', waiting('ContainerCreating')],
    ['succeeded', pod({ phase: 'Succeeded', containerStatuses: [{ name: 'web', state: { terminated: { exitCode: 0 } } }] })],
    ['says nothing', pod({})],
    ['makes no sense', pod({ containerStatuses: 'many', conditions: 7 })],
  ])('is none if it %s', (_, one) => {
    expect(findPodTrouble(one)).toBeUndefined();
  });
});
