import { it } from 'vitest';
import { FaultProxy } from '../forge-chaos/fault-proxy.ts';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { appWith, byTemplate, describeImages, imageOf, untilReason, why } from './image-app.ts';
import { ImageRegistry, startWithRegistry } from './image-registry.ts';
import { reservePort } from './reserved-ports.ts';
import { runEph } from './run-eph.ts';

describeImages('images in a real registry', () => {
  it.concurrent('that come late are waited for, by their component alone, and run by their digest', { timeout: 120_000 }, async ({
    expect,
  }) => {
    await using images = await ImageRegistry.start();
    await using harness = await EphdHarness.create();
    await startWithRegistry(harness, images);
    const repository = images.repository('acme/shop');
    const commit = await harness.repository.push('preview/a', appWith({ repository, ...byTemplate }));
    const waiting = await untilReason(harness, 'preview/a', 'WaitingForImage');
    await eventually('the other service runs', async () => {
      const { components } = await harness.environment(waiting.id);
      return components.length === 1 && components[0]?.name === 'side' && components[0].current?.health === 'ready';
    });
    expect(await why(harness, waiting)).toMatch(
      new RegExp(`It waits until .* UTC: web waits for image app for commit ${commit.slice(0, 7)}: there is no`),
    );
    const reference = await images.publish('acme/shop', commit.slice(0, 7));
    const ready = await harness.untilReady('preview/a', commit, 60);
    expect((await harness.visit(ready.name)).body).toBe(reference);
    expect(await imageOf(harness, ready)).toMatchObject({ reference, tag: commit.slice(0, 7), commit });
    expect((await runEph(harness, ['status', ready.name])).out).toContain(`app ${commit.slice(0, 7)}`);
    expect(await why(harness, ready)).toContain(`Images: app is ${repository}:${commit.slice(0, 7)} (sha256:`);
    await harness.untilReported(commit, 'Ready');
  });

  it.concurrent('that are replaced change what runs only where the file follows the tag', { timeout: 120_000 }, async ({
    expect,
  }) => {
    await using images = await ImageRegistry.start();
    await using harness = await EphdHarness.create();
    await startWithRegistry(harness, images);
    const repository = images.repository('acme/shop');
    const first = await images.publish('acme/shop', 'v1', { content: 'one' });
    const stays = await harness.repository.push('preview/stays', appWith({ repository, tag: 'v1' }));
    const follows = await harness.repository.push('preview/follows', appWith({ repository, tag: 'v1', follow_tag: true }));
    const [one, two] = [await harness.untilReady('preview/stays', stays), await harness.untilReady('preview/follows', follows)];
    const second = await images.publish('acme/shop', 'v1', { content: 'two' });
    await eventually('the new image runs', async () => (await harness.visit(two.name)).body === second, 60);
    expect((await harness.visit(one.name)).body).toBe(first);
  });

  it.concurrent('that are deleted, or whose registry is away, stop nothing that runs, also after a restart', {
    timeout: 180_000,
  }, async ({ expect }) => {
    await using images = await ImageRegistry.start();
    await using harness = await EphdHarness.create();
    const ephd = await startWithRegistry(harness, images);
    const repository = images.repository('acme/shop');
    const push = () => harness.repository.push('preview/a', appWith({ repository, ...byTemplate }));
    const first = await push();
    const reference = await images.publish('acme/shop', first.slice(0, 7));
    const { name } = await harness.untilReady('preview/a', first, 60);
    const pids = harness.services().map(({ pid }) => pid);
    await images.delete('acme/shop', first.slice(0, 7));
    await images.halt();
    await ephd.kill();
    await startWithRegistry(harness, images);
    await harness.untilReady('preview/a', first, 60);
    expect((await harness.visit(name)).body).toBe(reference);
    expect(harness.services().map(({ pid }) => pid)).toEqual(pids);

    const second = await push();
    const away = await untilReason(harness, 'preview/a', 'RegistryUnreachable');
    expect(away).toMatchObject({ phase: 'Degraded', summary: expect.stringContaining(images.host) });
    expect((await harness.visit(name)).body).toBe(reference);
    expect(await why(harness, away)).toContain(images.host);
    await images.resume();
    const next = await images.publish('acme/shop', second.slice(0, 7));
    await harness.untilReady('preview/a', second, 120);
    expect((await harness.visit(name)).body).toBe(next);
  });

  it.concurrent('are found by a note, by a scan and by the fall-back, and given up when nothing helps', {
    timeout: 180_000,
  }, async ({ expect }) => {
    await using images = await ImageRegistry.start();
    await using harness = await EphdHarness.create();
    await startWithRegistry(harness, images, {
      settings: { images: { fresh_for: '1s', fallback_after: '3s', give_up_after: '6s' } },
    });
    const repository = images.repository('acme/shop');
    const entries = {
      note: { tag_source: 'git_note', fallback_behavior: 'wait' },
      plain: { tag_source: 'git_note', fallback_behavior: 'wait' },
      scan: { tag_pattern: 'build-*', fallback_behavior: 'wait' },
      latest: { ...byTemplate, fallback_tag: 'latest' },
      never: byTemplate,
    };
    const commits = new Map<string, string>();
    for (const [name, entry] of Object.entries(entries))
      commits.set(name, await harness.repository.push(`preview/${name}`, appWith({ repository, ...entry }, { [name]: name })));
    const noted = await images.publish('acme/shop', 'noted');
    const asCi = ['-c', 'user.name=ci', '-c', 'user.email=ci@example.com', 'notes'];
    const note = ['--ref=eph-images', 'add', '-m', `eph-images: app=${repository}:noted`, commits.get('note') ?? ''];
    await harness.repository.git([...asCi, ...note]);
    await harness.repository.git([...asCi, 'add', '-m', `eph-image: ${noted}`, commits.get('plain') ?? '']);
    const scanned = await images.publish('acme/shop', 'build-0', { content: 'newer' });
    await images.publish('acme/shop', 'build-1', { content: 'older', created: new Date(Date.now() - 60_000).toISOString() });
    const latest = await images.publish('acme/shop', 'latest');
    for (const [ref, reference] of [
      ['note', noted],
      ['plain', noted],
      ['scan', scanned],
    ] as const) {
      const { name } = await harness.untilReady(`preview/${ref}`, commits.get(ref) ?? '', 60);
      expect((await harness.visit(name)).body, ref).toBe(reference);
    }
    const fallback = await untilReason(harness, 'preview/latest', 'UsingFallbackImage');
    await eventually('the fall-back answers', async () => (await harness.visit(fallback.name)).body === latest, 60);
    expect((await harness.environment(fallback.id)).phase).toBe('Degraded');
    expect(await why(harness, fallback)).toContain(`Degraded: web runs the fall-back ${repository}:latest (sha256:`);
    const lost = await untilReason(harness, 'preview/never', 'ImageNotFound');
    expect(await why(harness, lost)).toContain('The build may have failed');
    for (const ref of ['latest', 'never']) {
      const commit = commits.get(ref) ?? '';
      const right = await images.publish('acme/shop', commit.slice(0, 7), { content: ref });
      const { name } = await harness.untilReady(`preview/${ref}`, commit, 60);
      await eventually('the right image runs', async () => (await harness.visit(name)).body === right, 60);
    }
  });

  it.concurrent('are held against age, labels, platform and the commit', { timeout: 180_000 }, async ({ expect }) => {
    await using images = await ImageRegistry.start();
    await using harness = await EphdHarness.create();
    await startWithRegistry(harness, images);
    const old = new Date(Date.now() - 3 * 86_400_000).toISOString();
    await images.publish('acme/old', 'v1', { created: old });
    await images.publish('acme/labels', 'v1', { labels: { team: 'other' } });
    await images.publishIndex('acme/platform', 'v1', ['linux/arm64']);
    await images.publish('acme/moving', 'pr-7', { labels: { 'eph.io/commit': 'another' } });
    const entries = {
      old: { tag: 'v1', max_age: '1d' },
      labels: { tag: 'v1', required_labels: ['team=shop'] },
      platform: { tag: 'v1', platform: 'linux/amd64' },
      moving: { tag_template: 'pr-7' },
    };
    const objections = {
      old: 'is older than 1d',
      labels: 'has another label team than shop',
      platform: 'has no image for linux/amd64',
      moving: 'was built from another commit',
    };
    const pushed: [string, string][] = [];
    for (const [name, entry] of Object.entries(entries))
      pushed.push([
        name,
        await harness.repository.push(`preview/${name}`, appWith({ repository: images.repository(`acme/${name}`), ...entry })),
      ]);
    for (const [name, objection] of Object.entries(objections))
      expect((await untilReason(harness, `preview/${name}`, 'WaitingForImage')).summary, name).toContain(objection);
    await images.publish('acme/old', 'v1');
    await images.publish('acme/labels', 'v1', { labels: { team: 'shop' } });
    await images.publishIndex('acme/platform', 'v1', ['linux/arm64', 'linux/amd64']);
    const moving = new Map(pushed).get('moving') ?? '';
    await images.publish('acme/moving', 'pr-7', { labels: { 'eph.io/commit': moving } });
    for (const [name, commit] of pushed) await harness.untilReady(`preview/${name}`, commit, 60);
  });

  it.concurrent('from registries that policy or nobody allows are never asked for', { timeout: 120_000 }, async ({ expect }) => {
    await using images = await ImageRegistry.start();
    await using proxy = await FaultProxy.start(Number(images.host.split(':')[1]), 1);
    await using harness = await EphdHarness.create();
    const { host } = new URL(proxy.url);
    await startWithRegistry(harness, images, {
      settings: { registries: { [host]: { plain_http: true } }, policy: { registries: ['ghcr.io/acme', images.host] } },
    });
    await images.publish('acme/shop', 'v1');
    const asked = { repository: images.repository('acme/shop'), tag: 'v1' };
    await harness.repository.push('preview/private', appWith(asked));
    await harness.repository.push('preview/forbidden', appWith({ repository: `${host}/acme/shop`, tag: 'v1' }));
    const refused = await untilReason(harness, 'preview/private', 'RegistryRefused');
    expect(refused.summary).toContain('registries');
    const forbidden = await harness.until('preview/forbidden', 'refused', ({ phase }) => phase === 'Failed');
    expect(forbidden.summary).toContain('the limit registries is');
    expect(proxy.requests).toBe(0);
  });

  it.concurrent('are found at once when the registry announces a push', { timeout: 120_000 }, async ({ expect }) => {
    await using images = await ImageRegistry.start();
    await using harness = await EphdHarness.create();
    const port = await reservePort();
    await startWithRegistry(harness, images, {
      registrySettings: { webhook_secret: { from: 'HOOK' } },
      settings: { webhooks: { port }, images: { fresh_for: '1h' } },
      env: { HOOK: 'a secret of the registry' },
    });
    const commit = await harness.repository.push(
      'preview/a',
      appWith({ repository: images.repository('acme/shop'), ...byTemplate }),
    );
    await untilReason(harness, 'preview/a', 'WaitingForImage');
    await images.publish('acme/shop', commit.slice(0, 7));
    const events = [{ action: 'push', target: { repository: 'acme/shop', tag: commit.slice(0, 7) } }];
    const answer = await fetch(`http://127.0.0.1:${port}/webhooks/registry`, {
      method: 'POST',
      headers: {
        authorization: 'Bearer a secret of the registry',
        'content-type': 'application/vnd.docker.distribution.events.v1+json',
      },
      body: JSON.stringify({ events }),
    });
    expect([answer.status, await answer.json()]).toEqual([202, { pushed: [images.repository('acme/shop')] }]);
    await harness.untilReady('preview/a', commit, 60);
  });
});
