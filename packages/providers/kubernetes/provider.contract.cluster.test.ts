import { describeProvider } from '@eph/engine/provider/provider.contract';
import { afterAll, beforeAll } from 'vitest';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { node } from '../../../test/parts/node.ts';
import type { NodeAccess } from '../../../test/parts/node-server.ts';
import { findSharedNode } from '../../../test/parts/shared-node.ts';
import { KubernetesHarness } from './kubernetes-harness.fake.ts';

describeWith(node, 'the kubernetes provider', () => {
  let server: NodeAccess;
  let image: string;

  beforeAll(async () => {
    server = await findSharedNode();
    image = await server.loadAnswer('registry.example.com/provider', '1', 'apples');
  });

  afterAll(() => server.cluster.api.close());

  describeProvider(() => Promise.resolve(new KubernetesHarness(server.cluster, image)), {
    updatesInPlace: true,
    unmeasured: 'this cluster has no metrics server',
  });
});
