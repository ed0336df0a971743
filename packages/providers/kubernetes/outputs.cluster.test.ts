import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  commitSha,
  componentName,
  environmentId,
  environmentName,
  type Identity,
  projectId,
  type ResolvedComponent,
  revision,
} from '@eph/contract';
import { expect, it, onTestFinished } from 'vitest';
import { coredns, startNameServer } from '../../../test/parts/coredns.ts';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { node } from '../../../test/parts/node.ts';
import { answering, putAnswer } from '../../../test/parts/node-image.ts';
import { findSharedNode } from '../../../test/parts/shared-node.ts';
import { KubernetesHarness, never } from './kubernetes-harness.fake.ts';

const shop: Identity = {
  id: environmentId('00000000000000cc'),
  name: environmentName('shop-serene-ocean-4207'),
  project: projectId('shop'),
  source: { kind: 'branch', name: 'preview/x' },
  createdAt: '2026-01-05T09:00:00.000Z',
};
const commit = commitSha('a'.repeat(40));

describeWith(node, 'what a component publishes', () => {
  describeWith(coredns, 'with a name server', () => {
    it('leads pods of other components to it', async () => {
      const server = await findSharedNode();
      await startNameServer(server);
      const image = await server.loadImage('registry.example.com/outputs', '1', answering('apples'), async (files) => {
        await putAnswer(files);
        await copyFile(server.cluster.address.kubectl, join(files, 'bin', 'kubectl'));
      });
      const harness = new KubernetesHarness(server.cluster, image);
      onTestFinished(async () => {
        await harness[Symbol.asyncDispose]();
        await server.cluster.api.close();
      });
      const provider = harness.provider();
      const names = ['web', 'api'].map(componentName);
      for (const name of names) {
        const values = harness.values({ name, commit, behaviour: 'gets ready' });
        await provider.ensure(shop, describeComponent(name, values), never);
      }
      const find = async (name: string) =>
        (await provider.list({ environment: shop.id }, never)).items[0]?.components.find((one) => one.name === name);
      for (const name of names) await harness.until(async () => (await find(name))?.current?.health === 'ready');
      const url = (await find('api'))?.outputs['url'];
      expect(url).toBe(`http://api.${harness.owner}-${shop.name}.svc:80`);

      // Of what a static program can do, it looks up names and prints what it reads.
      const command = ['kubectl', `--server=${url}`, 'get', '--raw=/'];
      const session = await provider.exec(shop.id, componentName('web'), { command, signal: never });
      expect(await Promise.all([text(session.output), text(session.errors), session.exited])).toEqual(['apples\n', '', 0]);
    });
  });
});

const describeComponent = (name: ResolvedComponent['name'], values: ResolvedComponent['values']): ResolvedComponent => ({
  name,
  provider: 'kubernetes' as ResolvedComponent['provider'],
  commit,
  artifact: null,
  entry: false,
  dependsOn: [],
  values,
  revision: revision('1'.repeat(40)),
});
