import { projectId } from '@eph/contract';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { describeWith } from '../../../test/parts/describe-with.ts';
import { openssl } from '../../../test/parts/openssl.ts';
import { registry } from '../../../test/parts/registry.ts';
import { skopeo } from '../../../test/parts/skopeo.ts';
import { ManualClock } from '../../engine/time/clock.fake.ts';
import { createTestRegistry, plain, RealRegistry, type RegistryMode } from './registry-harness.fake.ts';

const { signal } = new AbortController();
const project = projectId('shop');

describeWith(registry, 'a real registry', () => {
  describeWith(skopeo, 'with images', () => {
    describeWith(openssl, 'and certificates', () => {
      const startOnce = (mode: RegistryMode): (() => RealRegistry) => {
        let real: RealRegistry;
        beforeAll(async () => {
          real = await RealRegistry.start(mode);
        });
        afterAll(() => real[Symbol.asyncDispose]());
        return () => real;
      };

      const publish = async (real: RealRegistry) => {
        const harness = real.connect();
        onTestFinished(() => harness[Symbol.asyncDispose]());
        const digest = await harness.publish('v1', { labels: { a: 'b' } });
        return { harness, digest, image: { project, repository: harness.repository, reference: 'v1' } };
      };

      describe('with a password', () => {
        const real = startOnce('password');

        it.each([
          ['none', {}, /it needs credentials, and ephd has none for/],
          [
            'a wrong one',
            { username: 'eph', password: { value: 'wrong' } },
            /the credentials that ephd has for .* may not read it/,
          ],
        ])('is not shown with %s', async (_, login, sentence) => {
          const { image } = await publish(real());
          const adapter = createTestRegistry({ registries: new Map([[real().server.host, { ...plain, ...login }]]) });
          onTestFinished(() => adapter[Symbol.asyncDispose]());
          await expect(adapter.find(image, signal)).rejects.toMatchObject({
            code: 'registry.refused',
            message: expect.stringMatching(sentence),
          });
        });
      });

      describe('with tokens', () => {
        const real = startOnce('token');

        it('gets one token for a repository, and another when it expires', async () => {
          const clock = new ManualClock();
          const { image, digest } = await publish(real());
          const adapter = createTestRegistry({ registries: new Map([[real().server.host, real().settings]]), clock });
          onTestFinished(() => adapter[Symbol.asyncDispose]());
          const requests = () => real().tokens?.requests ?? [];
          const before = requests().length;
          for (let time = 0; time < 5; time += 1) expect(await adapter.find(image, signal)).toEqual({ state: 'found', digest });
          const scope = `repository:${image.repository.replace(/^[^/]*\//, '')}:pull`;
          expect(requests().slice(before)).toEqual([{ user: 'eph', scopes: [scope] }]);
          clock.advance(60_000);
          await adapter.find(image, signal);
          expect(requests()).toHaveLength(before + 2);
        });

        it('is read without credentials where that is allowed', async () => {
          const { image, digest } = await publish(real());
          const adapter = createTestRegistry({ registries: new Map([[real().server.host, plain]]) });
          onTestFinished(() => adapter[Symbol.asyncDispose]());
          expect(await adapter.find(image, signal)).toEqual({ state: 'found', digest });
          expect(real().tokens?.requests.at(-1)?.user).toBeUndefined();
        });
      });

      describe('that is open', () => {
        const real = startOnce('open');

        it('has images in the media types of Docker', async () => {
          const { harness, image } = await publish(real());
          const digest = await real().publishForDocker(harness.repository, 'docker', { labels: { c: 'd' } });
          const found = await harness.registry.find({ ...image, reference: 'docker' }, signal);
          expect(found).toEqual({ state: 'found', digest });
          expect(await harness.registry.inspect({ ...image, reference: digest }, 'linux/amd64', signal)).toMatchObject({
            state: 'found',
            labels: { c: 'd' },
          });
        });

        it('is back after it was stopped', async () => {
          const { harness, image, digest } = await publish(real());
          await harness.disconnect();
          await expect(harness.registry.find(image, signal)).rejects.toMatchObject({
            code: 'registry.unreachable',
            message: `${real().server.host} could not be reached (ECONNREFUSED).`,
          });
          await harness.reconnect();
          expect(await harness.registry.find(image, signal)).toEqual({ state: 'found', digest });
        });
      });
    });
  });
});
