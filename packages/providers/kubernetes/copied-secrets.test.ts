import { type JsonMap, projectId, toFailure } from '@eph/contract';
import type { KubeObject } from '@eph/kube/object';
import { describe, expect, it } from 'vitest';
import { type CopyRule, copyPullSecrets, copySecrets, readPullSecrets } from './copied-secrets.ts';
import { prepareObjects } from './prepare-objects.ts';
import { factsOf, resolvedComponent } from './resolved-component.fake.ts';
import { parseKubernetesValues } from './values.ts';

const secret = (namespace: string, name: string, type = 'Opaque'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace, uid: 'u', labels: { team: 'a' }, annotations: { note: 'b' } },
  type,
  data: { KEY: 'aHVzaA==' },
});

const cluster = [
  secret('shared', 'app'),
  secret('other', 'app'),
  secret('shared', 'token', 'kubernetes.io/service-account-token'),
  secret('kube-system', 'admin'),
];

const anything: CopyRule = { namespace: 'shared', names: ['*'] };

const copyOf = async (
  copies: { readonly namespace?: string; readonly names: readonly string[] },
  rules: readonly CopyRule[],
  more: Parameters<typeof resolvedComponent>[2] = {},
) => {
  const component = resolvedComponent('namespace', { objects: [], copies: { ...copies } }, more);
  const values = parseKubernetesValues(component);
  const read: string[] = [];
  const made = await copySecrets(
    component,
    values.copies ?? { names: [] },
    rules,
    { project: projectId('shop') },
    (namespace, name) => {
      read.push(`${namespace}/${name}`);
      return Promise.resolve(cluster.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name));
    },
  );
  return { read, objects: prepareObjects(component, values, factsOf(), made).objects.map(({ object }) => object) };
};

const refusalOf = async (...args: Parameters<typeof copyOf>): Promise<string> => {
  const error = await copyOf(...args).then(
    ({ read }) => new Error(`nothing was refused; read ${read.join()}`),
    (thrown: unknown) => thrown,
  );
  const { code, message } = toFailure(error);
  return `${code}: ${message}`;
};

describe('a secret of another namespace', () => {
  it('is copied with its type and contents, and nothing else of it', async () => {
    const { objects } = await copyOf({ namespace: 'shared', names: ['app'] }, [{ namespace: 'shared', names: ['a*'] }]);
    expect(objects).toEqual([
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          name: 'app',
          namespace: 'eph-shop-1234',
          labels: {
            'eph.io/owner': 'main',
            'eph.io/environment': '0123456789abcdef',
            'eph.io/component': 'namespace',
          },
        },
        type: 'Opaque',
        data: { KEY: 'aHVzaA==' },
      },
    ]);
  });

  it('comes from the first namespace that has a rule for it, where the file names none', async () => {
    const rules = [{ namespace: 'third', names: ['b'] }, { namespace: 'other', names: ['app'] }, anything];
    expect((await copyOf({ names: ['app'] }, rules)).read).toEqual(['other/app']);
  });

  it.each<[string, readonly CopyRule[]]>([
    ['without a rule', []],
    ['of another name', [{ namespace: 'kube-system', names: ['app'] }]],
    ['of another namespace', [anything]],
    ['for another project', [{ namespace: 'kube-system', names: ['*'], projects: ['other-*'] }]],
  ])('is not even read %s, and the answer says what an operator would write', async (_, rules) => {
    expect(await refusalOf({ namespace: 'kube-system', names: ['admin'] }, rules)).toBe(
      'component.refused: Component namespace cannot be made in Kubernetes: secret admin of namespace kube-system may not be copied for project shop; an operator can allow it in the file of ephd with secrets: [{ namespace: kube-system, names: [admin], projects: [shop] }] at provider staging.',
    );
  });

  it('that is missing is looked for again', async () => {
    expect(await refusalOf({ namespace: 'shared', names: ['gone'] }, [anything])).toMatch(
      /^object\.missing: .+ namespace shared has none\.$/,
    );
  });

  it('that is the token of an account is refused', async () => {
    expect(await refusalOf({ namespace: 'shared', names: ['token'] }, [anything])).toMatch(
      /^component\.refused: .+ of type kubernetes\.io\/service-account-token, which cannot be copied/,
    );
  });

  it('is not copied for a fork', async () => {
    expect(await refusalOf({ namespace: 'shared', names: ['app'] }, [anything], { fromFork: true })).toMatch(
      /^component\.refused: .+ a pull request from a fork gets no copies of secrets/,
    );
  });
});

describe('a secret for images', () => {
  const shop = { project: projectId('shop') };
  const type = 'kubernetes.io/dockerconfigjson';
  const pull = { ...secret('shared', 'pull', type), data: { '.dockerconfigjson': btoa('{"auths":{}}') } };
  const read = (namespace: string, name: string) =>
    Promise.resolve([...cluster, pull].find(({ metadata }) => metadata.namespace === namespace && metadata.name === name));
  const copy = async (values: JsonMap, rules: readonly CopyRule[] = [anything], more = {}): Promise<readonly KubeObject[]> => {
    const component = resolvedComponent('namespace', { objects: [], imagePullSecrets: ['pull'], ...values }, more);
    return await copyPullSecrets(component, parseKubernetesValues(component), rules, shop, read);
  };

  it('is copied where the operator allows it, and else left to the environment', async () => {
    const { data } = pull;
    expect(await copy({})).toEqual([{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'pull' }, type, data }]);
    expect(await copy({}, [])).toEqual([]);
    expect(await copy({}, [{ ...anything, projects: ['blog'] }])).toEqual([]);
  });

  it('is not copied over one that the environment brings itself', async () => {
    expect(await copy({ secrets: { pull: { a: 'b' } } })).toEqual([]);
    expect(await copy({ copies: { names: ['pull'] } })).toEqual([]);
    const own = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'pull' } };
    expect(await copy({ objects: [own] })).toEqual([]);
  });

  it('is not copied for a fork, whose images may be public', async () => {
    expect(await copy({}, [anything], { fromFork: true })).toEqual([]);
  });

  it('of another type is refused, and one that is missing is looked for again', async () => {
    await expect(copy({ imagePullSecrets: ['app'] })).rejects.toMatchObject({
      code: 'component.refused',
      message: expect.stringContaining('secret app is for images, and not of type kubernetes.io/dockerconfigjson'),
    });
    await expect(copy({ imagePullSecrets: ['gone'] })).rejects.toMatchObject({ code: 'object.missing' });
  });

  it('is read for registries under the same rule, without what is not there or of another type', async () => {
    const names = ['app', 'pull', 'gone', 'pull'];
    expect(await readPullSecrets(names, [anything], shop.project, read)).toEqual(['{"auths":{}}']);
    expect(await readPullSecrets(names, [{ ...anything, projects: ['blog'] }], shop.project, read)).toEqual([]);
  });
});
