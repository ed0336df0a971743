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

/** What holds for every component of the cluster; JSON is YAML. */
export const clusterFile = (data: Readonly<Record<string, unknown>> = {}): Files => ({
  'test/env.yaml': document({ type: 'cluster' }, { environment: { name: 'test' }, ...data }),
});

/** What operators set for one project. */
export const projectFile = (repository: string, overrides: Readonly<Record<string, unknown>>, project = repository): Files => ({
  [`test/apps/${repository}/${project}/env.yaml`]: document({ type: 'project', repository, project }, { overrides }),
});

/** Every component of every project is greeted by the platform. */
export const greeting = (text: string): Readonly<Record<string, unknown>> => ({
  defaults: { Deployment: { env: { GREETING: text } } },
});
