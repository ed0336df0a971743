import { type EnvironmentView, environmentDetailSchema } from '@eph/contract';
import { expect, it } from 'vitest';
import { FaultProxy } from '../forge-chaos/fault-proxy.ts';
import { describeWith } from '../parts/describe-with.ts';
import { GithubEmulator } from '../parts/github/github-emulator.ts';
import { registry, registryUser } from '../parts/registry.ts';
import { skopeo } from '../parts/skopeo.ts';
import { EphdHarness } from './ephd-harness.ts';
import { eventually } from './eventually.ts';
import { ImageRegistry, startWithRegistry } from './image-registry.ts';
import { textsOf } from './labelled-app.ts';
import { reservePort } from './reserved-ports.ts';
import { runEph } from './run-eph.ts';
import { run, spec } from './sample-app.ts';
import type { Files } from './sample-repository.ts';

/** Answers with the image that it was given. */
const program = `
  import { createServer } from 'node:http';
  createServer((_, response) => response.end(process.env.EPH_IMAGE ?? 'none')).listen(Number(process.env.PORT), '127.0.0.1');
`;

/** A service that needs an image, and one beside it that needs none. */
const appWith = (
  entry: Readonly<Record<string, unknown>>,
  more: Files = {},
  rest: Readonly<Record<string, unknown>> = {},
): Files => ({
  'image.mjs': program,
  'answer.mjs': program,
  'eph.yaml': spec(
    {
      web: { command: [process.execPath, 'image.mjs'], image: 'app', entry: true, ready: { http: '/' } },
      side: { command: run('answer.mjs'), ready: { http: '/' } },
    },
    { environment: { images: [{ name: 'app', ...entry }] }, ...rest },
  ),
  ...more,
});

const reasonOf = ({ conditions }: EnvironmentView): string | undefined =>
  conditions.find(({ type }) => type === 'ImagesResolved')?.reason;

const untilReason = (harness: EphdHarness, ref: string, reason: string): Promise<EnvironmentView> =>
  harness.until(ref, reason, (one) => reasonOf(one) === reason, 60);

const imageOf = async (harness: EphdHarness, { id }: EnvironmentView): Promise<unknown> => {
  const { components } = await harness.read(`/api/v1/environments/${id}`, environmentDetailSchema);
  return components.find(({ name }) => name === 'web')?.current?.images?.['app'];
};

const byTemplate = { tag_template: '{commit_sha:0:7}' };

/** A second suite inside: both programs are needed. */
const describeImages = (title: string, suite: () => void): void =>
  describeWith(registry, title, () => describeWith(skopeo, 'pushed by skopeo', suite));

describeImages('images in a real registry', () => {
  it('that come late are waited for, by their component alone, and run by their digest', { timeout: 120_000 }, async () => {
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
    const why = await runEph(harness, ['why', waiting.name]);
    expect(why.out).toContain(`web waits for image app for commit ${commit.slice(0, 7)}: there is no`);
    expect(why.out.trimEnd().split('\n').length).toBeLessThan(24);
    const reference = await images.publish('acme/shop', commit.slice(0, 7));
    const ready = await harness.untilReady('preview/a', commit, 60);
    expect((await harness.visit(ready.name)).body).toBe(reference);
    expect(await imageOf(harness, ready)).toMatchObject({ reference, tag: commit.slice(0, 7), commit });
    expect((await runEph(harness, ['status', ready.name])).out).toContain(`app ${commit.slice(0, 7)}`);
    await harness.untilReported(commit, 'Ready');
  });

  it('that are replaced change what runs only where the file follows the tag', { timeout: 120_000 }, async () => {
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

  it('that are deleted, or whose registry is away, stop nothing that runs, also after a restart', {
    timeout: 180_000,
  }, async () => {
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
    expect((await runEph(harness, ['why', name])).out).toContain(images.host);
    await images.resume();
    const next = await images.publish('acme/shop', second.slice(0, 7));
    await harness.untilReady('preview/a', second, 120);
    expect((await harness.visit(name)).body).toBe(next);
  });

  it('are found by a note, by a scan and by the fall-back, and given up when nothing helps', { timeout: 180_000 }, async () => {
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
    await images.publish('acme/shop', 'build-1', { content: 'older', created: new Date(Date.now() - 60_000).toISOString() });
    const scanned = await images.publish('acme/shop', 'build-0', { content: 'newer' });
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
    const lost = await untilReason(harness, 'preview/never', 'ImageNotFound');
    expect((await runEph(harness, ['why', lost.name])).out).toContain('The build may have failed');
    for (const ref of ['latest', 'never']) {
      const commit = commits.get(ref) ?? '';
      const right = await images.publish('acme/shop', commit.slice(0, 7), { content: ref });
      const { name } = await harness.untilReady(`preview/${ref}`, commit, 60);
      await eventually('the right image runs', async () => (await harness.visit(name)).body === right, 60);
    }
  });

  it('are held against age, labels, platform and the commit', { timeout: 180_000 }, async () => {
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

  it('need the credentials of the registry, and are refused without', { timeout: 180_000 }, async () => {
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
    expect(JSON.stringify(refused)).not.toContain('wrong-password-4711');
    await ephd.stop();
    await startWithRegistry(harness, images, login(registryUser.password));
    const { name } = await harness.untilReady('preview/a', commit, 60);
    expect((await harness.visit(name)).body).toBe(reference);
  });

  it('from registries that policy or nobody allows are never asked for', { timeout: 120_000 }, async () => {
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

  it('are found at once when the registry announces a push', { timeout: 120_000 }, async () => {
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

  it('are named by a check that the trigger waits for, and by a comment', { timeout: 180_000 }, async () => {
    await using images = await ImageRegistry.start();
    await using github = await GithubEmulator.start();
    await using harness = await EphdHarness.create();
    github.createUser('alice');
    const source = github.createRepository('alice/shop', { files: { 'README.md': 'a shop' }, by: 'alice' });
    const triggers = [
      { type: 'pr_label', labels: ['preview'], wait_for_checks: ['build'] },
      { type: 'pr_comment', patterns: ['/deploy'] },
    ];
    await startWithRegistry(harness, images, {
      settings: {
        forges: { work: { type: 'github', url: github.url, token: { from: 'TOKEN' } } },
        projects: [{ name: 'shop', trusted: true, forge: 'work', location: 'alice/shop' }],
      },
      env: { TOKEN: github.createToken({ by: 'alice' }) },
    });
    const wake = () => harness.api('/hooks/git', { method: 'POST' });
    const entry = { repository: images.repository('acme/shop'), fallback_behavior: 'wait' };
    const commit = source.push('work', textsOf(appWith(entry, {}, { triggers })), { by: 'alice' });
    const pull = source.openPullRequest({ head: 'work', base: 'main', title: 'Work', by: 'alice' });
    const checked = await images.publish('acme/shop', 'checked');
    pull.label('preview', { by: 'alice' });
    await wake();
    const ref = String(pull.number);
    await harness.until(ref, 'waits for its check', ({ summary }) => summary.includes('check build has not succeeded yet'));
    source.setStatus(commit, 'success', {
      context: 'build',
      description: `eph-image: ${images.repository('acme/shop')}:checked`,
    });
    await wake();
    const { name } = await harness.untilReady(ref, commit, 60);
    expect((await harness.visit(name)).body).toBe(checked);

    const chosen = await images.publish('acme/other', 'chosen');
    pull.unlabel('preview', { by: 'alice' });
    pull.comment(`/deploy --image=app=${images.repository('acme/other')}:chosen`, { by: 'alice' });
    await wake();
    await eventually('the image of the comment runs', async () => (await harness.visit(name)).body === chosen, 60);
  });
});
