import {
  commitSha,
  componentName,
  environmentId,
  environmentName,
  type Identity,
  type JsonMap,
  projectId,
  type ResolvedComponent,
  revision,
} from '@eph/contract';

export const shop: Identity = {
  id: environmentId('00000000000000aa'),
  name: environmentName('shop-serene-ocean-4207'),
  project: projectId('shop'),
  source: { kind: 'branch', name: 'preview/x' },
  createdAt: '2026-01-05T09:00:00.000Z',
};
export const blog: Identity = { ...shop, id: environmentId('00000000000000bb'), name: environmentName('blog-silent-river-1173') };
export const web = componentName('web');
export const image = 'registry.example.com/web@sha256:'.padEnd(96, 'a');

export const workload = (
  kind: string,
  apiVersion: string,
  name: string,
  more: JsonMap = {},
  container: JsonMap = {},
): JsonMap => ({
  apiVersion,
  kind,
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { terminationGracePeriodSeconds: 0, containers: [{ name, image, ...container }] },
    },
    ...more,
  },
});
export const deployment = (name: string, container: JsonMap = {}): JsonMap =>
  workload('Deployment', 'apps/v1', name, {}, container);
export const job = (name: string, container: JsonMap = {}): JsonMap => {
  const { spec, ...rest } = workload('Job', 'batch/v1', name, {}, container) as { spec: JsonMap };
  const { selector: _, template, ...others } = spec as { selector: unknown; template: { spec: JsonMap } };
  return {
    ...rest,
    spec: { ...others, template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } } },
  };
};
export const settings = (name: string, data: JsonMap = { mode: 'bright' }): JsonMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});
export const service = (name: string): JsonMap => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }] },
});

export const version = (
  number: number,
  objects: readonly JsonMap[],
  more: Partial<ResolvedComponent> = {},
): ResolvedComponent => {
  const digits = String(number).padStart(40, '0');
  return {
    name: web,
    provider: 'kubernetes' as ResolvedComponent['provider'],
    commit: commitSha(digits),
    artifact: null,
    entry: false,
    dependsOn: [],
    values: { objects },
    revision: revision(digits),
    ...more,
  };
};
