import { type CommitSha, commitSha, isEphError, parseSpec, projectId, type Spec } from '@eph/contract';
import { expect, it, onTestFinished } from 'vitest';
import type { FakeWorkload } from './renderer.fake.ts';
import type { Renderer, Rendering } from './renderer.ts';

export interface RendererHarness extends AsyncDisposable {
  readonly renderer: Renderer;
  /** Makes a commit with the manifests of these workloads in the folder `k8s`. */
  commit(workloads: readonly FakeWorkload[]): Promise<CommitSha>;
  /** One whose manifests nobody can understand. */
  commitSpoiled(): Promise<CommitSha>;
}

const file = 'version: "1.0"\nname: shop\nkubernetes: { manifests: [./k8s] }\n';

const spec = (): Spec => {
  const parsed = parseSpec(new TextEncoder().encode(file));
  if (!parsed.ok) throw new Error('the file is not sound');
  return parsed.spec;
};

export const describeRenderer = (create: () => Promise<RendererHarness>): void => {
  const start = async () => {
    const harness = await create();
    onTestFinished(() => harness[Symbol.asyncDispose]());
    const { signal } = new AbortController();
    const render = (commit: CommitSha): Promise<Rendering> =>
      harness.renderer.render({ project: projectId('shop'), commit, section: 'kubernetes', spec: spec() }, signal);
    return { harness, render };
  };
  const componentsOf = (rendering: Rendering) => {
    if (rendering.state !== 'rendered') throw new Error(rendering.faults.map(({ message }) => message).join('\n'));
    return rendering.components;
  };

  it('makes a component of each workload, which needs the namespace', async () => {
    const { harness, render } = await start();
    const components = componentsOf(await render(await harness.commit([{ name: 'web' }, { name: 'api' }])));
    expect(components.map(({ name, kind, needs }) => [name, kind, needs])).toEqual([
      ['namespace', 'Namespace', []],
      ['web', 'Deployment', ['namespace']],
      ['api', 'Deployment', ['namespace']],
    ]);
  });

  it('takes the values of the developer from the manifest', async () => {
    const { harness, render } = await start();
    const commit = await harness.commit([{ name: 'web', image: 'nginx:1.28', replicas: 3, env: { A: 'b' } }]);
    const [, web] = componentsOf(await render(commit));
    expect(web?.values).toEqual({ image: 'nginx:1.28', replicas: 3, env: { A: 'b' } });
    expect(web?.objects.map(({ object, file: name }) => [object['kind'], name.split('/')[0]])).toEqual([['Deployment', 'k8s']]);
  });

  it('gives the same object for a commit each time, and another one for another commit', async () => {
    const { harness, render } = await start();
    const [first, second] = [await harness.commit([{ name: 'web' }]), await harness.commit([{ name: 'api' }])];
    const rendering = await render(first);
    expect(await render(first)).toBe(rendering);
    expect(componentsOf(await render(second)).at(-1)?.name).toBe('api');
  });

  it('refuses manifests that nobody can understand, with file and line', async () => {
    const { harness, render } = await start();
    const rendering = await render(await harness.commitSpoiled());
    expect(rendering).toMatchObject({ state: 'refused', faults: [{ code: 'spec.invalid' }] });
    expect(JSON.stringify(rendering)).toMatch(/k8s\/[a-z]+\.yaml:\d+/);
  });

  it('throws for a commit that is not there', async () => {
    const { render } = await start();
    const error = await render(commitSha('9'.repeat(40))).catch((thrown: unknown) => thrown);
    expect(isEphError(error) && error.code).toBe('source.commit_missing');
  });
};
