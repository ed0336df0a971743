import type { Files } from './sample-repository.ts';

const document = (labels: Readonly<Record<string, string>>, data: unknown): string =>
  JSON.stringify(
    {
      apiVersion: 'apiextensions.crossplane.io/v1beta1',
      kind: 'EnvironmentConfig',
      metadata: {
        name: 'any',
        labels: Object.fromEntries(Object.entries(labels).map(([key, value]) => [`eph.io/${key}`, value])),
      },
      data,
    },
    undefined,
    2,
  );

/** Configuration of the whole cluster, as JSON, which is YAML. */
export const clusterFile = (data: Readonly<Record<string, unknown>> = {}): Files => ({
  'test/env.yaml': document({ type: 'cluster' }, { environment: { name: 'test' }, ...data }),
});

/** Overrides of the operator for one project. */
export const projectFile = (repository: string, overrides: Readonly<Record<string, unknown>>, project = repository): Files => ({
  [`test/apps/${repository}/${project}/env.yaml`]: document({ type: 'project', repository, project }, { overrides }),
});

/** A default that sets `GREETING` for every component of every project. */
export const greeting = (text: string): Readonly<Record<string, unknown>> => ({
  defaults: { Deployment: { env: { GREETING: text } } },
});
