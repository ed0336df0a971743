import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeWith } from '../parts/describe-with.ts';
import { makeCertificate, openssl } from '../parts/openssl.ts';
import { registryUser } from '../parts/registry.ts';
import { startTokenServer } from '../parts/token-server.ts';
import { EphdHarness } from './ephd-harness.ts';
import { appWith, describeImages, untilReason, why } from './image-app.ts';
import { ImageRegistry, startWithRegistry } from './image-registry.ts';

describeImages('images in a registry that not everybody may read', () => {
  it('need its credentials, and are refused without', { timeout: 180_000 }, async () => {
    await using images = await ImageRegistry.start({ login: { type: 'password' } });
    await using harness = await EphdHarness.create();
    const login = (password: string) => ({
      registrySettings: { username: registryUser.name, password: { from: 'REGISTRY_PASSWORD' } },
      env: { REGISTRY_PASSWORD: password },
    });
    const ephd = await startWithRegistry(harness, images, login('wrong-password-4711'));
    const reference = await images.publish('acme/shop', 'v1');
    const commit = await harness.repository.push('preview/a', appWith({ repository: images.repository('acme/shop'), tag: 'v1' }));
    const refused = await untilReason(harness, 'preview/a', 'RegistryRefused');
    expect(refused.phase).toBe('Failed');
    expect(await why(harness, refused)).toMatch(/^ {2}Failed: image app of web: .*credentials .*[^.]\.$/m);
    expect(JSON.stringify(refused)).not.toContain('wrong-password-4711');
    await ephd.stop();
    await startWithRegistry(harness, images, login(registryUser.password));
    const { name } = await harness.untilReady('preview/a', commit, 60);
    expect((await harness.visit(name)).body).toBe(reference);
  });

  it('are found with the credentials of a Docker configuration file', { timeout: 120_000 }, async () => {
    await using images = await ImageRegistry.start({ login: { type: 'password' } });
    await using harness = await EphdHarness.create();
    const file = join(harness.folder, 'docker.json');
    const auth = Buffer.from(`${registryUser.name}:${registryUser.password}`).toString('base64');
    await writeFile(file, JSON.stringify({ auths: { [images.host]: { auth } } }));
    await startWithRegistry(harness, images, { settings: { registry_credentials: file } });
    await expectFound(harness, images);
  });

  describeWith(openssl, 'with certificates', () => {
    it('are found with tokens', { timeout: 120_000 }, async () => {
      await using harness = await EphdHarness.create();
      const folder = join(harness.folder, 'tokens');
      await mkdir(folder);
      using tokens = await startTokenServer(folder);
      await using images = await ImageRegistry.start({ login: tokens.login });
      await startWithRegistry(harness, images, {
        registrySettings: { username: registryUser.name, password: { from: 'REGISTRY_PASSWORD' } },
        env: { REGISTRY_PASSWORD: registryUser.password },
      });
      await expectFound(harness, images);
      expect(tokens.requests).toContainEqual({ user: registryUser.name, scopes: ['repository:acme/shop:pull'] });
    });

    it('are found over TLS where its certificate is known, and refused where it is not', { timeout: 120_000 }, async () => {
      await using harness = await EphdHarness.create();
      makeCertificate(harness.folder, 'tls');
      const [certificate, key] = [join(harness.folder, 'tls.pem'), join(harness.folder, 'tls.key')];
      await using images = await ImageRegistry.start({ tls: { certificate, key } });
      const ephd = await startWithRegistry(harness, images, { registrySettings: { plain_http: false } });
      await harness.repository.push('preview/a', appWith({ repository: images.repository('acme/shop'), tag: 'v1' }));
      const unknown = await harness.until('preview/a', 'unknown', ({ summary }) => summary.includes('certificate'), 60);
      expect(await why(harness, unknown)).toContain('certificate');
      await ephd.stop();
      await startWithRegistry(harness, images, { registrySettings: { plain_http: false, ca: certificate } });
      await expectFound(harness, images);
    });
  });
});

const expectFound = async (harness: EphdHarness, images: ImageRegistry): Promise<void> => {
  const reference = await images.publish('acme/shop', 'v1');
  const app = appWith({ repository: images.repository('acme/shop'), tag: 'v1' }, { found: 'found' });
  const { name } = await harness.untilReady('preview/a', await harness.repository.push('preview/a', app), 60);
  expect((await harness.visit(name)).body).toBe(reference);
};
