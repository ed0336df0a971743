import { afterAll, beforeAll, describe } from 'vitest';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { openssl } from '../../../test/parts/openssl.ts';
import { registry } from '../../../test/parts/registry.ts';
import { skopeo } from '../../../test/parts/skopeo.ts';
import { describeRegistry } from '../../engine/images/registry.contract.ts';
import { RealRegistry, type RegistryMode } from './registry-harness.fake.ts';

const modes: readonly RegistryMode[] = ['open', 'password', 'token', 'TLS'];

describeWith(registry, 'a real registry', () => {
  describeWith(skopeo, 'with images', () => {
    describeWith(openssl, 'and certificates', () => {
      describe.each(modes)('%s', (mode) => {
        let real: RealRegistry;
        beforeAll(async () => {
          real = await RealRegistry.start(mode);
        });
        afterAll(() => real[Symbol.asyncDispose]());

        describeRegistry(() => Promise.resolve(real.connect()));
      });
    });
  });
});
