import type { Files } from './sample-repository.ts';

type ClusterObject = Readonly<Record<string, unknown>> & {
  readonly kind: string;
  readonly metadata: { readonly name: string };
};

/** Of which the pods run the version. */
const workloadKinds = ['Deployment', 'StatefulSet', 'Job'] as const;

export interface ClusterAppOptions {
  /** With a digest, which every workload runs. */
  readonly image: string;
  /** Given to every pod as `VERSION`: two versions are never the same revision. */
  readonly version: string;
}

/** What a branch can ask for: the objects of its manifests. */
export const clusterShapes = {
  page: ({ image, version }: ClusterAppOptions): readonly ClusterObject[] => [
    workload('Deployment', 'web', image, version),
    service('web'),
    settings('page', version),
  ],
  pair: ({ image, version }: ClusterAppOptions): readonly ClusterObject[] => [
    workload('Deployment', 'web', image, version),
    service('web'),
    workload('Deployment', 'api', image, version),
    service('api'),
    settings('page', version),
    settings('extra', version),
  ],
  data: ({ image, version }: ClusterAppOptions): readonly ClusterObject[] => [
    workload('StatefulSet', 'web', image, version),
    service('web'),
    settings('page', version),
  ],
  task: ({ image, version }: ClusterAppOptions): readonly ClusterObject[] => [
    workload('Deployment', 'web', image, version),
    service('web'),
    workload('Job', 'task', image, version),
    settings('page', version),
  ],
} as const;

export type ClusterShape = keyof typeof clusterShapes;

/** All the files of a commit. */
export const clusterApp = (objects: readonly ClusterObject[]): Files => ({
  'eph.yaml': JSON.stringify({
    version: '1.0',
    name: 'shop',
    kubernetes: { manifests: ['k8s.yaml'], entry: { service: 'web' } },
  }),
  'k8s.yaml': objects.map((one) => JSON.stringify(one)).join('\n---\n'),
});

export const isVersioned = ({ kind }: Pick<ClusterObject, 'kind'>): boolean => workloadKinds.some((one) => one === kind);

const workload = (kind: (typeof workloadKinds)[number], name: string, image: string, version: string): ClusterObject => {
  const labels = { app: name };
  const containers = [{ name, image, env: [{ name: 'VERSION', value: version }] }];
  const spec = kind === 'Job' ? { restartPolicy: 'Never', containers } : { containers };
  const template = { metadata: { labels }, spec };
  const selected = { replicas: 1, selector: { matchLabels: labels }, template };
  return {
    apiVersion: kind === 'Job' ? 'batch/v1' : 'apps/v1',
    kind,
    metadata: { name },
    spec: { Deployment: selected, StatefulSet: { ...selected, serviceName: name }, Job: { template } }[kind],
  };
};

const service = (name: string): ClusterObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }] },
});

const settings = (name: string, version: string): ClusterObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data: { version },
});
