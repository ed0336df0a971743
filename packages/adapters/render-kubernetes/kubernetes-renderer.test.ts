import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { type CommitSha, parseSpec, projectId } from '@eph/contract';
import type { Rendering } from '@eph/engine/render/renderer';
import { describeRenderer } from '@eph/engine/render/renderer.contract';
import type { FakeWorkload } from '@eph/engine/render/renderer.fake';
import { systemClock } from '@eph/engine/time/system-clock';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cluster } from '../../../test/parts/cluster.ts';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { controlPlane, locateKubernetesProgram } from '../../../test/parts/kubernetes-programs.ts';
import { createGitForge } from '../forge-git/git-forge.ts';
import { type FileContent, Origin } from '../forge-git/origin.fake.ts';
import { createKubernetesRenderer, type KubernetesRendererOptions } from './kubernetes-renderer.ts';

type Files = { readonly [path: string]: FileContent };

const project = projectId('shop');
const { signal } = new AbortController();

const printDeployment = (name: string, { image = 'nginx:1.27', replicas, env = {} }: Omit<FakeWorkload, 'name'> = {}): string =>
  JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      ...(replicas !== undefined && { replicas }),
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name, image, env: Object.entries(env).map(([key, value]) => ({ name: key, value })) }] },
      },
    },
  });

const start = async (changes: Partial<KubernetesRendererOptions> = {}) => {
  const origin = await Origin.create();
  const forge = createGitForge({ project, location: origin.path, folder: join(origin.folder, 'data') });
  const create = () =>
    createKubernetesRenderer({
      folder: join(origin.folder, 'render'),
      searchPath: '',
      exportTree: (_, commit, folder, aborted) => forge.exportTree(commit, folder, aborted),
      clock: systemClock,
      ...changes,
    });
  const renderer = create();
  const push = (files: Files) => origin.push({ kind: 'branch', name: 'main' }, files);
  const render = (commit: CommitSha, section: string, by = renderer): Promise<Rendering> => {
    const text = `{ version: "1.0", name: shop, kubernetes: ${section} }`;
    const parsed = parseSpec(new TextEncoder().encode(text));
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults));
    return by.render({ project, commit, section: 'kubernetes', spec: parsed.spec }, signal);
  };
  const dispose = async () => {
    await renderer[Symbol.asyncDispose]();
    await forge[Symbol.asyncDispose]();
    await origin[Symbol.asyncDispose]();
  };
  return { origin, renderer, create, push, render, dispose };
};

const begin = async (changes: Partial<KubernetesRendererOptions> = {}) => {
  const started = await start(changes);
  onTestFinished(() => started.dispose());
  const renderFiles = async (files: Files, section: string) => await started.render(await started.push(files), section);
  return { ...started, renderFiles };
};

const componentsOf = (rendering: Rendering) => {
  if (rendering.state !== 'rendered') throw new Error(rendering.faults.map(({ message }) => message).join('\n'));
  return rendering.components;
};
const namesOf = (rendering: Rendering) => componentsOf(rendering).map(({ name }) => name);
const faultOf = (rendering: Rendering): string => (rendering.state === 'refused' ? (rendering.faults[0]?.message ?? '') : 'none');

describe('manifests', () => {
  describeRenderer(async () => {
    const { renderer, push, dispose } = await start();
    return {
      renderer,
      commit: (workloads) =>
        push(
          Object.fromEntries(
            workloads.map(({ name, ...workload }, index) => [`k8s/${index}-${name}.yaml`, printDeployment(name, workload)]),
          ),
        ),
      commitSpoiled: () => push({ 'k8s/web.yaml': 'apiVersion: v1\nmetadata: {}\n' }),
      [Symbol.asyncDispose]: dispose,
    };
  });

  it('are files and folders in the order of the file, and one that comes again replaces the earlier', async () => {
    const { renderFiles } = await begin();
    const files = {
      'base/web.yaml': printDeployment('web', { image: 'web:1' }),
      'base/deep/api.yml': printDeployment('api'),
      'base/README.md': 'no manifest',
      'overlay.json': printDeployment('web', { image: 'web:2' }),
    };
    const components = componentsOf(await renderFiles(files, '{ manifests: [base, ./overlay.json] }'));
    expect(components.map(({ name, values, objects }) => [name, values['image'], objects[0]?.file])).toEqual([
      ['namespace', undefined, undefined],
      ['api', 'nginx:1.27', 'base/deep/api.yml'],
      ['web', 'web:2', 'overlay.json'],
    ]);
  });

  it('are not rendered again after a restart', async () => {
    const { push, render, create } = await begin();
    const commit = await push({ 'k8s/web.yaml': printDeployment('web') });
    const first = await render(commit, '{ manifests: [k8s] }');
    await using again = create();
    expect(await render(commit, '{ manifests: [k8s] }', again)).toEqual(first);
    expect(again.renders).toBe(0);
    expect(namesOf(await render(commit, '{ manifests: [k8s], context: other }', again))).toEqual(['namespace', 'web']);
    expect(again.renders).toBe(1);
  });

  it('are rendered once for all who ask at the same time, and leave nothing behind but the answer', async () => {
    const { origin, push, render, renderer } = await begin();
    const commit = await push({ 'k8s/web.yaml': printDeployment('web') });
    const all = await Promise.all(Array.from({ length: 10 }, () => render(commit, '{ manifests: [k8s] }')));
    expect(new Set(all).size).toBe(1);
    expect(renderer.renders).toBe(1);
    expect(await readdir(join(origin.folder, 'render'))).toEqual(['rendered']);
  });

  it('lose what only a server may write, and what would outlive them', async () => {
    const { renderFiles } = await begin();
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', uid: 'u', finalizers: ['x/y'] }, status: {} };
    const rendering = await renderFiles({ 'a.json': JSON.stringify(object) }, '{ manifests: [a.json] }');
    expect(componentsOf(rendering)[0]?.objects[0]?.object).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a' },
    });
    expect(rendering).toMatchObject({
      notices: expect.arrayContaining(['a.json: metadata.finalizers of ConfigMap/a is left out: Eph removes what it made']),
    });
  });

  it.each<readonly [string, Files, string, RegExp]>([
    ['that are not there', { a: '' }, '[k8s]', /^k8s: is not in the repository at this commit$/],
    ['that are empty', { 'k8s/a.yaml': '# nothing' }, '[k8s]', /hold no object$/],
    ['in a folder without any', { 'k8s/a.txt': '' }, '[k8s]', /^k8s: holds no file that ends in/],
    ['that are no text', { 'k8s/a.yaml': Uint8Array.of(0xff) }, '[k8s]', /^k8s\/a\.yaml: is not valid UTF-8/],
    ['that are too large', { 'k8s/a.yaml': 'a'.repeat(5_000_000) }, '[k8s]', /at most 4194304 are read$/],
  ])('%s are refused', async (_, files, manifests, message) => {
    const { renderFiles } = await begin();
    expect(faultOf(await renderFiles(files, `{ manifests: ${manifests} }`))).toMatch(message);
  });

  it('are not read through links that leave the repository', async () => {
    const { renderFiles } = await begin();
    const error = await renderFiles({ 'k8s/a.yaml': { link: '/etc/passwd' } }, '{ manifests: [k8s] }').catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: 'checkout.refused' });
  });

  it('need no program, and others name the one that is missing', async () => {
    const { renderFiles } = await begin();
    const kustomized = await renderFiles({ a: '' }, '{ manifests: [{ kustomization: k8s }] }').catch((thrown: unknown) => thrown);
    expect(kustomized).toMatchObject({
      code: 'feature.unavailable',
      message: expect.stringContaining('neither kustomize nor kubectl'),
    });
    const chart = await renderFiles({ a: '' }, '{ manifests: [{ chart: k8s }] }').catch((thrown: unknown) => thrown);
    expect(chart).toMatchObject({ code: 'feature.unavailable', message: expect.stringContaining('helm') });
  });
});

describe('a program', () => {
  /** Stands for kustomize. */
  const withProgram = async (script: string, changes: Partial<KubernetesRendererOptions> = {}) => {
    const folder = join(await beginFolder(), 'bin');
    await mkdir(folder);
    await writeFile(join(folder, 'kustomize'), `#!/bin/sh\n${script}\n`);
    await chmod(join(folder, 'kustomize'), 0o755);
    const { renderFiles } = await begin({ searchPath: folder, ...changes });
    return await renderFiles({ 'k/kustomization.yaml': '{}' }, '{ manifests: [{ kustomization: k }] }').catch(
      (thrown: unknown) => thrown,
    );
  };
  const beginFolder = async () => {
    const origin = await Origin.create();
    onTestFinished(() => origin[Symbol.asyncDispose]());
    return origin.folder;
  };
  const limits = { timeoutMs: 30_000, outputBytes: 100_000, memoryBytes: 2 ** 31 };

  it('finds no other program, no variable and no network of ephd', async () => {
    const script = 'echo "PATH=$PATH HOME=$HOME PROXY=$https_proxy" "$(/usr/bin/env | /usr/bin/wc -l)" >&2; exit 1';
    const rendering = await withProgram(script);
    expect(faultOf(rendering as Rendering)).toMatch(/PATH= HOME=(\/tmp|home)\S* PROXY=http:\/\/127\.0\.0\.1:1 \d+$/);
  });

  it('that goes on is ended, and tried again later', async () => {
    const rendering = await withProgram('/bin/sleep 60 & wait', { limits: { ...limits, timeoutMs: 300 } });
    expect(rendering).toMatchObject({ code: 'spec.unreadable', disposition: 'retry' });
  });

  it('that never stops writing is ended', async () => {
    const rendering = await withProgram('while :; do echo 0123456789; done', { limits });
    expect(faultOf(rendering as Rendering)).toMatch(/^k: cannot be rendered: it gives more than/);
  });
});

describeWith(cluster, 'with the real programs', () => {
  const [kubectl, helm] = [controlPlane.kubectl, controlPlane.helm].map((one) => dirname(locateKubernetesProgram(one)));
  const searchPath = [kubectl, helm, '/usr/bin'].join(delimiter);
  const beginReal = () => begin({ searchPath });

  describe('a kustomization', () => {
    const overlay = {
      'k8s/base/kustomization.yaml': 'resources: [web.yaml]',
      'k8s/base/web.yaml': printDeployment('web', { image: 'web:1' }),
      'k8s/preview/kustomization.yaml': 'resources: [../base]\nnamePrefix: pre-\nimages: [{ name: web, newTag: "2" }]',
    };

    it('is built', async () => {
      const { renderFiles } = await beginReal();
      const [, web] = componentsOf(await renderFiles(overlay, '{ manifests: [{ kustomization: k8s/preview }] }'));
      expect(web).toMatchObject({ name: 'pre-web', values: { image: 'web:2' }, objects: [{ file: 'k8s/preview', line: null }] });
    });

    it('is built with the patches of the file', async () => {
      const { renderFiles } = await beginReal();
      const patch = JSON.stringify('- { op: add, path: /spec/replicas, value: 4 }');
      const section = `{ manifests: [{ kustomization: k8s/preview, patches: [{ target: { kind: Deployment }, patch: ${patch} }] }] }`;
      expect(componentsOf(await renderFiles(overlay, section))[1]?.values['replicas']).toBe(4);
    });

    it.each([
      ['an address', 'resources: ["https://example.com/a.yaml"]', /which is fetched.*`kustomize localize k k-local`/],
      ['a repository', 'resources: [github.com/acme/base?ref=v1]', /which is fetched/],
      ['a repository over SSH', 'bases: ["git@example.com:acme/base.git"]', /which is fetched/],
      ['a folder outside', 'resources: [../../../../../etc]', /outside of the repository/],
      ['an absolute path', 'components: [/etc]', /outside of the repository/],
      ['a file that is not there', 'resources: [b.yaml]', /not in the repository at this commit/],
      ['a folder without a kustomization', 'resources: [empty]', /^k\/empty: has no kustomization\.yaml$/],
      ['itself', 'resources: [.]', /cannot be rendered: .*cycle/],
      [
        'a file of another folder',
        'configMapGenerator: [{ name: a, files: [../secret] }]',
        /cannot be rendered: .*not in or below/,
      ],
      ['a chart', 'helmCharts: [{ name: a }]', /cannot be rendered: .*enable-helm/],
      ['a chart from elsewhere', 'helmCharts: [{ name: a, repo: "https://example.com" }]', /which is fetched/],
      ['a file from elsewhere', 'configMapGenerator: [{ name: a, files: ["k=http://127.0.0.1:1/a"] }]', /which is fetched/],
      ['a plug-in', 'transformers: [plugin.yaml]', /cannot be rendered/],
    ])('with %s is refused', async (_, text, message) => {
      const { renderFiles } = await beginReal();
      const files = {
        'k/kustomization.yaml': text,
        'k/empty/a.txt': '',
        secret: 'text',
        'k/plugin.yaml':
          '{ apiVersion: a.com/v1, kind: P, metadata: { name: p, annotations: { config.kubernetes.io/function: "exec: { path: /bin/true }" } } }',
      };
      expect(faultOf(await renderFiles(files, '{ manifests: [{ kustomization: k }] }'))).toMatch(message);
    });
  });

  describe('a program', () => {
    const listenForRequests = async () => {
      let asked = 0;
      const server = createServer((_, response) => {
        asked += 1;
        response.end('replicas: 9');
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      onTestFinished(() => void server.close());
      return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/a`, asked: () => asked };
    };
    const section = '{ manifests: [{ kustomization: k }] }';

    it.each(['bwrap', 'unshare'])('confined by %s reaches no server of this machine', async (confining) => {
      const { address, asked } = await listenForRequests();
      const bin = await mkdtemp(join(tmpdir(), 'eph-render-'));
      onTestFinished(() => rm(bin, { recursive: true, force: true }));
      await symlink(`/usr/bin/${confining}`, join(bin, confining));
      const { renderFiles } = await begin({ searchPath: [kubectl, bin].join(delimiter) });
      const generator = `{ apiVersion: builtin, kind: ConfigMapGenerator, metadata: { name: a }, files: ["${address}"] }`;
      const files = { 'k/kustomization.yaml': 'generators: [a.yaml]', 'k/a.yaml': generator };
      expect(faultOf(await renderFiles(files, section))).toMatch(/cannot be rendered/);
      expect(asked()).toBe(0);
    });

    it('that nothing confines is not given an address', async () => {
      const { address, asked } = await listenForRequests();
      const { renderFiles } = await begin({ searchPath: kubectl ?? '' });
      const files = { 'k/kustomization.yaml': `openapi: { path: "${address}" }` };
      expect(faultOf(await renderFiles(files, section))).toMatch(/which is fetched/);
      expect(asked()).toBe(0);
    });
  });

  describe('a chart', () => {
    const chart = (templates: Files, more = ''): Files => ({
      'charts/web/Chart.yaml': `apiVersion: v2\nname: web\nversion: 1.0.0\n${more}`,
      'charts/web/values.yaml': 'replicas: 1\nimage: web:1\n',
      ...Object.fromEntries(Object.entries(templates).map(([name, text]) => [`charts/web/templates/${name}`, text])),
    });
    const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: { name: "{{ .Release.Name }}-web", namespace: "{{ .Release.Namespace }}" }
spec:
  replicas: {{ .Values.replicas }}
  template:
    spec: { containers: [{ name: web, image: "{{ .Values.image }}", env: [{ name: HOST, value: "db.{{ .Release.Namespace }}.svc" }] }] }
`;
    const section = (more = ''): string => `{ manifests: [{ chart: charts/web${more} }] }`;

    it('is rendered with its values, those of files and those of the section', async () => {
      const { renderFiles } = await beginReal();
      const files = { ...chart({ 'web.yaml': deployment }), 'preview.yaml': 'replicas: 2\nimage: web:2\n' };
      const rendering = await renderFiles(files, section(', value_files: [preview.yaml], values: { replicas: 3 }'));
      expect(componentsOf(rendering)[1]).toMatchObject({
        name: 'shop-web',
        values: { replicas: 3, image: 'web:2', env: { HOST: 'db.eph-environment-namespace.svc' } },
        objects: [{ file: 'charts/web/templates/web.yaml', line: null, object: { metadata: { name: 'shop-web' } } }],
      });
    });

    it('that makes values anew each time is the same each time, apart from these', async () => {
      const secret = `apiVersion: v1
kind: Secret
metadata: { name: s, annotations: { at: "{{ now | unixEpoch }}" } }
stringData: { password: "{{ randAlphaNum 20 }}", user: me }
---
{{ $ca := genCA "web" 365 }}
apiVersion: v1
kind: Secret
metadata: { name: ca }
data: { ca.crt: {{ $ca.Cert | b64enc }} }
`;
      const env = deployment.replace('value: "db', 'value: "{{ randAlphaNum 5 }}.db');
      const files = chart({ 'secret.yaml': secret, 'web.yaml': env });
      const { push, render } = await beginReal();
      const [first, second] = [
        componentsOf(await render(await push(files), section())),
        componentsOf(await render(await push(files), section())),
      ];
      const [namespace, web] = first;
      expect(namespace?.objects.map(({ generated }) => Object.keys(generated ?? {}))).toEqual([
        ['/metadata/annotations/at', '/stringData/password'],
        ['/data/ca.crt'],
      ]);
      expect(web?.values['env']).toMatchObject({ HOST: { generated: expect.stringMatching(/\.svc$/) } });
      const objectsOf = (components: typeof first) => components.map(({ objects }) => objects.map(({ object }) => object));
      expect(objectsOf(second)).toEqual(objectsOf(first));
      expect(second[0]?.objects[0]?.generated).not.toEqual(namespace?.objects[0]?.generated);
    });

    it('may have its dependencies beside it', async () => {
      const { renderFiles } = await beginReal();
      const files = {
        ...chart(
          { 'web.yaml': deployment },
          'dependencies: [{ name: db, version: 1.0.0, repository: "https://charts.example" }]',
        ),
        'charts/web/charts/db/Chart.yaml': 'apiVersion: v2\nname: db\nversion: 1.0.0\n',
        'charts/web/charts/db/templates/db.yaml': printDeployment('db'),
      };
      const components = componentsOf(await renderFiles(files, section()));
      expect(components.map(({ name, objects }) => [name, objects[0]?.file])).toEqual([
        ['namespace', undefined],
        ['db', 'charts/web/charts/db/templates/db.yaml'],
        ['shop-web', 'charts/web/templates/web.yaml'],
      ]);
    });

    it.each<readonly [string, Files, RegExp]>([
      [
        'without its dependencies',
        chart({}, 'dependencies: [{ name: redis, version: 1.0.0, repository: "https://charts.example" }]'),
        /needs chart redis 1\.0\.0, which is not in charts\/web\/charts; .*`helm dependency build charts\/web`/,
      ],
      ['that is none', { 'charts/web/a': '' }, /^charts\/web\/Chart\.yaml: is not in the repository/],
      ['with a mistake', chart({ 'a.yaml': '{{ .Values.a.b.c }}' }), /^charts\/web: cannot be rendered: .*nil pointer/],
      ['that fails', chart({ 'a.yaml': '{{ fail "no way" }}' }), /cannot be rendered: .*no way/],
      [
        'that calls itself',
        chart({ 'a.yaml': '{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}' }),
        /cannot be rendered/,
      ],
      [
        'with names of its own each time',
        chart({ 'a.yaml': printDeployment('web-{{ randAlphaNum 8 | lower }}') }),
        /another name in every rendering/,
      ],
      ['with a wrong template', chart({ 'a.yaml': 'kind: {{' }), /cannot be rendered/],
      [
        'with an object that is none',
        chart({ 'a.yaml': 'a: b' }),
        /^charts\/web\/templates\/a\.yaml: apiVersion nothing is none/,
      ],
      ['that needs all memory', chart({ 'a.yaml': '{{ range until 1000000000 }}a{{ end }}' }), /cannot be rendered/],
    ])('%s is refused', async (_, files, message) => {
      const { renderFiles } = await beginReal();
      expect(faultOf(await renderFiles(files, section()))).toMatch(message);
    });

    it('sees no cluster, and nothing outside of itself', async () => {
      const { renderFiles } = await beginReal();
      const probe = `apiVersion: v1
kind: ConfigMap
metadata: { name: a }
data:
  lookup: "{{ lookup "v1" "Namespace" "" "" }}"
  file: "{{ .Files.Get "../../secret" }}"
  passwd: "{{ .Files.Get "/etc/passwd" }}"
  env: "{{ getHostByName "localhost" }}"
`;
      const rendering = await renderFiles({ ...chart({ 'a.yaml': probe }), secret: 'hidden' }, section());
      const { data } = (componentsOf(rendering)[0]?.objects[0]?.object ?? {}) as { data?: Record<string, string> };
      expect(data).toMatchObject({ lookup: 'map[]', file: '', passwd: '' });
    });
  });
});
