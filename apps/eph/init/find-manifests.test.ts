import { describe, expect, it } from 'vitest';
import { findDeployments } from './find-manifests.ts';
import { type Files, listingOf } from './folder.fake.ts';

const find = (files: Files) => findDeployments(listingOf(files));
const deployment = 'apiVersion: apps/v1\nkind: Deployment\n';

describe('Compose files', () => {
  it.each<[readonly string[], readonly string[]]>([
    [['compose.yaml'], ['compose.yaml']],
    [['docker-compose.yml', 'compose.yaml'], ['compose.yaml']],
    [
      ['docker-compose.yml', 'docker-compose.prod.yml', 'docker-compose.preview.yml'],
      ['docker-compose.yml', 'docker-compose.preview.yml'],
    ],
    [['docker-compose-dev.yml'], ['docker-compose-dev.yml']],
    [['deploy/compose.yml', 'deploy/other/compose.yml'], ['deploy/compose.yml']],
    [['composer.yaml', 'my-compose.yaml'], []],
  ])('of %j are %j', async (files, expected) => {
    expect((await find(Object.fromEntries(files.map((file) => [file, ''])))).composeFiles).toStrictEqual(expected);
  });
});

describe('manifests', () => {
  it('are kustomizations, those for previews first and bases last', async () => {
    const { manifests } = await find({
      'k8s/base/kustomization.yaml': '',
      'k8s/overlays/production/kustomization.yml': '',
      'k8s/overlays/preview/Kustomization': '',
      'k8s/overlays/staging/kustomization.yaml': '',
      'k8s/base/deployment.yaml': deployment,
    });
    expect(manifests).toStrictEqual([
      { kind: 'kustomization', path: 'k8s/overlays/preview' },
      { kind: 'kustomization', path: 'k8s/overlays/staging' },
      { kind: 'kustomization', path: 'k8s/overlays/production' },
      { kind: 'kustomization', path: 'k8s/base' },
    ]);
  });

  it('are charts, without the charts in them', async () => {
    const { manifests } = await find({
      'chart/Chart.yaml': '',
      'chart/charts/db/Chart.yaml': '',
      'chart/deploy/a.yaml': deployment,
    });
    expect(manifests).toStrictEqual([{ kind: 'chart', path: 'chart' }]);
  });

  it('are folders with workloads', async () => {
    const { manifests, dockerfiles } = await find({
      'k8s/web.yaml': deployment,
      'k8s/service.yaml': 'kind: Service\n',
      'deploy/ci.yaml': 'kind: Pipeline\n',
      'docs/web.yaml': deployment,
      'a/deploy/set.yml': '---\nkind: "StatefulSet"\n',
      Dockerfile: '',
      'api/Dockerfile.dev': '',
    });
    expect(manifests).toStrictEqual([
      { kind: 'manifests', path: 'k8s' },
      { kind: 'manifests', path: 'a/deploy' },
    ]);
    expect(dockerfiles).toStrictEqual(['Dockerfile', 'api/Dockerfile.dev']);
  });
});
