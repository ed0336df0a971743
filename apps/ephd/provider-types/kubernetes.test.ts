import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { providerName, silentLog } from '@eph/contract';
import { noObserver } from '@eph/kube/observer';
import { expect, it, onTestFinished } from 'vitest';
import { cluster } from '../../../test/parts/cluster.ts';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { findSharedCluster } from '../../../test/parts/shared-cluster.ts';
import { kubernetes } from './kubernetes.ts';
import type { ProviderContext } from './provider-type.ts';

const never = new AbortController().signal;

describeWith(cluster, 'a cluster of the file of ephd', () => {
  const setUp = async () => {
    const folder = mkdtempSync(join(tmpdir(), 'eph-cluster-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const access = await findSharedCluster();
    onTestFinished(() => access.api.close());
    const owner = `t${randomBytes(4).toString('hex')}`;
    const create = (isRetired: boolean, settings: Readonly<Record<string, unknown>> = {}) => {
      const parsed = kubernetes.schema.parse({ type: 'kubernetes', kubeconfig: access.kubeconfig, owner, ...settings });
      const context: ProviderContext = {
        name: providerName('staging'),
        folder,
        isRetired,
        variables: {},
        exportTree: () => Promise.reject(new Error('nothing is exported')),
        secretOf: () => undefined,
        urlOf: ({ name }) => `http://${name}.test`,
        observer: noObserver,
        log: silentLog,
      };
      const provider = parsed.create(context);
      onTestFinished(() => provider[Symbol.asyncDispose]());
      return provider;
    };
    return { folder, owner, access, create };
  };

  it('is read as soon as it is there', async () => {
    const { create } = await setUp();
    expect(await create(false).list({ all: true }, never)).toMatchObject({ items: [], complete: true });
  });

  it('is remembered in the data folder, with its settings', async () => {
    const { folder, owner, access, create } = await setUp();
    expect(kubernetes.readRetired(folder)).toBeUndefined();
    create(false, { pod_security: 'restricted' });
    const settings = kubernetes.readRetired(folder);
    expect(settings).toMatchObject({ kubeconfig: access.kubeconfig, owner, pod_security: 'restricted' });
    expect(kubernetes.schema.parse(settings)).toMatchObject({ type: 'kubernetes' });
  });

  it('is not exchanged for another one under the same name', async () => {
    const { create } = await setUp();
    create(false);
    create(false, { pod_security: 'restricted' });
    expect(() => create(false, { owner: 'another' })).toThrow(/Give what is new a name of its own/);
  });

  it('that is no longer in the file is forgotten when it holds nothing', async () => {
    const { folder, create } = await setUp();
    create(false);
    create(true);
    await expect.poll(() => existsSync(join(folder, 'settings.json')), { timeout: 15_000 }).toBe(false);
  });

  it('that is no longer in the file is not forgotten while it holds something, or cannot be read', async () => {
    const { folder, owner, access, create } = await setUp();
    const identity = {
      id: 'a'.repeat(16),
      name: 'shop-calm-bay-1234',
      project: 'shop',
      source: { kind: 'branch', name: 'preview/a' },
      createdAt: '2026-01-05T09:00:00.000Z',
    };
    const labels = { 'eph.io/owner': owner, 'eph.io/environment': identity.id };
    const metadata = { name: `${owner}-left`, labels, annotations: { 'eph.io/identity': JSON.stringify(identity) } };
    await access.api.send('POST', '/api/v1/namespaces', { body: { metadata } });
    create(false);
    const { items } = await create(true).list({ all: true }, never);
    expect(items.map((one) => one.identity.name)).toEqual([identity.name]);
    expect(existsSync(join(folder, 'settings.json'))).toBe(true);
    await access.api.send('DELETE', `/api/v1/namespaces/${owner}-left`);
    const away = await access.writeKubeconfig(`${owner}-away`, { type: 'token', token: 'x' }, { server: 'https://127.0.0.1:1' });
    expect(await create(true, { kubeconfig: away }).list({ all: true }, never)).toMatchObject({ complete: false });
    expect(existsSync(join(folder, 'settings.json'))).toBe(true);
  });
});
