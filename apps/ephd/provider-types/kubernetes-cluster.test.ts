import type { ClusterLocation } from '@eph/kube/connection';
import { describe, expect, it } from 'vitest';
import { type ClusterSettings, locateCluster } from './kubernetes-cluster.ts';

const inPod = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443', HOME: '/home/eph' };
const outside = { HOME: '/home/eph' };

describe('a cluster is', () => {
  it.each<readonly [string, ClusterSettings, Readonly<Record<string, string>>, ClusterLocation]>([
    ['where the file says', { kubeconfig: '/etc/us', context: 'us' }, inPod, { kubeconfig: '/etc/us', context: 'us' }],
    ['the one that runs ephd', {}, inPod, { inCluster: { host: '10.0.0.1', port: '443' } }],
    ['in the kubeconfig of the user', {}, outside, { kubeconfig: '/home/eph/.kube/config', context: undefined }],
    ['in KUBECONFIG', {}, { ...outside, KUBECONFIG: '/a' }, { kubeconfig: '/a', context: undefined }],
    ['in KUBECONFIG, whose list has one', {}, { ...outside, KUBECONFIG: ':/a:' }, { kubeconfig: '/a', context: undefined }],
    ['a context of a kubeconfig', { context: 'us' }, inPod, { kubeconfig: '/home/eph/.kube/config', context: 'us' }],
  ])('%s', (_, settings, variables, expected) => {
    expect(locateCluster(settings, variables)).toEqual(expected);
  });

  it('not guessed where KUBECONFIG names several files', () => {
    expect(() => locateCluster({}, { ...outside, KUBECONFIG: '/a:/b' })).toThrow(/KUBECONFIG names several files/);
  });
});
