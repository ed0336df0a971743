import { componentName, environmentId } from '@eph/contract';
import { never, openTestCluster } from '@eph/kube/cluster-harness.fake';
import type { KubeObject } from '@eph/kube/object';
import { expect, it, onTestFinished } from 'vitest';
import { cluster as clusterPart } from '../../../test/parts/cluster.ts';
import { describeWith } from '../../../test/parts/describe-with.ts';
import type { ComponentPods } from './component-pods.ts';
import { readPodUsage } from './pod-usage.ts';

const environment = environmentId('00000000000000aa');
const [web, worker] = [componentName('web'), componentName('worker')];

/** The path of the metrics, served by the API server as if it were a kind like others: it has no metrics server. */
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'pods.metrics.k8s.io', annotations: { 'api-approved.kubernetes.io': 'unapproved, a test' } },
  spec: {
    group: 'metrics.k8s.io',
    names: { kind: 'PodMetrics', plural: 'pods' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1beta1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
} as const;

const metrics = (name: string, ...containers: readonly (readonly [cpu: string, memory: string])[]) => ({
  apiVersion: 'metrics.k8s.io/v1beta1',
  kind: 'PodMetrics',
  metadata: { name },
  containers: containers.map(([cpu, memory], index) => ({ name: `c${index}`, usage: { cpu, memory } })),
});

describeWith(clusterPart, 'what pods use', () => {
  it('is what the metrics server says, for each component, and nothing without one', async () => {
    const { cluster, access, namespace } = await openTestCluster();
    const pod = (name: string): KubeObject => ({ apiVersion: 'v1', kind: 'Pod', metadata: { namespace, name } });
    const listed = new Map([
      [web, [pod('web-1'), pod('web-2')]],
      [worker, [pod('worker-1')]],
    ]);
    const pods: ComponentPods = { podsOf: (_environment, component) => listed.get(component), listen: () => () => undefined };
    const read = () => readPodUsage(cluster, pods, environment, [web, worker, componentName('other')], never);
    expect(await read()).toEqual(new Map());
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    await access.api.send('POST', path, { body: definition });
    onTestFinished(() => access.api.send('DELETE', `${path}/${definition.metadata.name}`).then(() => undefined));
    const measured = [
      metrics('web-1', ['250m', '10Mi'], ['1234567n', '1Mi']),
      metrics('web-2', ['1', '5Mi']),
      metrics('stranger', ['9', '9Gi']),
    ];
    for (const body of measured)
      await expect
        .poll(
          () =>
            access.api
              .send('POST', `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods`, { body })
              .then(() => 'made', String),
          { timeout: 10_000 },
        )
        .toBe('made');
    expect(await read()).toEqual(new Map([[web, { cpuSeconds: null, cpuCores: 1.251234567, memoryBytes: 16 * 1024 * 1024 }]]));
  });
});
