import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { componentName } from '@eph/contract';
import { expect, it, onTestFinished } from 'vitest';
import { coredns, startNameServer } from '../../../test/parts/coredns.ts';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { node } from '../../../test/parts/node.ts';
import { answering, putAnswer } from '../../../test/parts/node-image.ts';
import { findSharedNode } from '../../../test/parts/shared-node.ts';
import { KubernetesHarness, never } from './kubernetes-harness.fake.ts';
import { resolvedComponent, shopIdentity } from './resolved-component.fake.ts';

const [web, api] = [componentName('web'), componentName('api')];

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
      const find = async (name: string) =>
        (await provider.list({ environment: shopIdentity.id }, never)).items[0]?.components.find((one) => one.name === name);
      for (const name of [web, api]) {
        const wanted = resolvedComponent(name, {});
        const values = harness.values({ name, commit: wanted.commit, behaviour: 'gets ready' });
        await provider.ensure(shopIdentity, { ...wanted, values }, never);
      }
      for (const name of [web, api]) await harness.until(async () => (await find(name))?.current?.health === 'ready');
      const url = (await find(api))?.outputs['url'];
      expect(url).toBe(`http://api.${harness.owner}-${shopIdentity.name}.svc:80`);

      // A program without libraries that looks up names as others do, and prints what it reads.
      const command = ['kubectl', `--server=${url}`, '--request-timeout=2s', 'get', '--raw=/'];
      const read = async (): Promise<string> => {
        const session = await provider.exec(shopIdentity.id, web, { command, signal: never });
        session.errors.resume();
        const [answer] = await Promise.all([text(session.output), session.exited]);
        return answer;
      };
      let answer = '';
      // The node learns where a Service leads a moment after its pods are ready.
      await harness.until(async () => (answer = await read()) !== '');
      expect(answer).toBe('apples\n');
    });
  });
});
