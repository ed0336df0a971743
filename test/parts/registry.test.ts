import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { describeWith } from './describe-with.ts';
import { OciLayout } from './oci-layout.ts';
import { processesIn } from './processes-in.ts';
import { type RegistryOptions, registry, registryUser } from './registry.ts';
import { copyToRegistry, deleteFromRegistry, skopeo } from './skopeo.ts';

const start = async (options: RegistryOptions = {}) => {
  const running = await registry.start(options);
  const folder = mkdtempSync(join(tmpdir(), 'eph-layout-'));
  onTestFinished(async () => {
    await running.stop();
    rmSync(folder, { recursive: true });
  });
  const layout = new OciLayout(folder);
  const tags = async (): Promise<unknown> => await (await fetch(`${running.url}/v2/shop/tags/list`)).json();
  return { running, layout, tags };
};

describeWith(registry, 'registry', () => {
  it('stops without leaving a process or a folder', async () => {
    const { running } = await start();
    expect((await fetch(`${running.url}/v2/`)).status).toBe(200);
    expect(processesIn(running.folder)).not.toEqual([]);
    await running.stop();
    await running.stop();
    expect(processesIn(running.folder)).toEqual([]);
    expect(existsSync(running.folder)).toBe(false);
  });

  it('asks for the password where it is told to', async () => {
    const { running } = await start({ login: { type: 'password' } });
    expect((await fetch(`${running.url}/v2/`)).status).toBe(401);
    const authorization = `Basic ${btoa(`${registryUser.name}:${registryUser.password}`)}`;
    expect((await fetch(`${running.url}/v2/`, { headers: { authorization } })).status).toBe(200);
  });

  describeWith(skopeo, 'with skopeo', () => {
    it('has what is copied to it, under the same digest, also after a halt', async () => {
      const { running, layout, tags } = await start();
      const digest = layout.addIndex('v1', [{ labels: { a: 'b' } }, { platform: 'linux/arm64/v8' }]);
      await copyToRegistry({ folder: layout.folder, tag: 'v1' }, `${running.host}/shop:v1`);
      await running.halt();
      await expect(tags()).rejects.toThrow('fetch failed');
      await running.resume();
      expect(await tags()).toEqual({ name: 'shop', tags: ['v1'] });
      const { headers } = await fetch(`${running.url}/v2/shop/manifests/v1`, {
        headers: { accept: 'application/vnd.oci.image.index.v1+json' },
      });
      expect(headers.get('docker-content-digest')).toBe(digest);
    });

    it('deletes an image', async () => {
      const { running, layout } = await start({ login: { type: 'password' } });
      layout.addImage('v1', {});
      await copyToRegistry({ folder: layout.folder, tag: 'v1' }, `${running.host}/shop:v1`, { login: registryUser });
      await deleteFromRegistry(`${running.host}/shop:v1`, registryUser);
      await expect(deleteFromRegistry(`${running.host}/shop:v1`, registryUser)).rejects.toThrow(/Image may not exist/);
    });
  });
});
