import { it } from 'vitest';
import { EphdHarness } from './ephd-harness.ts';
import { appWith, byTemplate, describeImages, imageApp, imageService, imagesCondition, untilReason, why } from './image-app.ts';
import { ImageRegistry, startWithRegistry } from './image-registry.ts';
import { clusterFile, projectFile } from './platform-files.ts';
import { SampleRepository } from './sample-repository.ts';

describeImages('an image in a real registry', () => {
  it.concurrent('is the right one by its label, its age or its name, and a reference needs no entry', {
    timeout: 240_000,
  }, async ({ expect }) => {
    await using images = await ImageRegistry.start();
    await using harness = await EphdHarness.create();
    await startWithRegistry(harness, images, {
      settings: { policy: { registries: [images.host] }, images: { fresh_for: '1s', fallback_after: '2s', give_up_after: '4s' } },
    });
    const wait = { fallback_behavior: 'wait' };
    const moving = { tag_template: 'pr-7', ...wait };
    const entries = {
      revision: moving,
      young: moving,
      many: { tag_pattern: 'b-*', ...wait },
      note: { tag_source: 'git_note', ...wait },
    };
    const revision = { 'org.opencontainers.image.revision': 'another' };
    await images.publish('acme/revision', 'pr-7', { labels: revision });
    // The commits of the sample repository are made later in that year.
    await images.publish('acme/young', 'pr-7', { created: '2023-01-01T00:00:00Z' });
    const first = await images.publish('acme/all', 'first');
    images.tag(
      'acme/many',
      Array.from({ length: 101 }, (_, index) => `b-${index}`),
    );
    const commits = new Map<string, string>();
    for (const [name, entry] of Object.entries(entries)) {
      const app = appWith({ repository: images.repository(`acme/${name}`), ...entry }, { [name]: name });
      commits.set(name, await harness.repository.push(`preview/${name}`, app));
    }
    const commitOf = (name: string): string => commits.get(name) ?? '';
    const asCi = ['-c', 'user.name=ci', '-c', 'user.email=ci@example.com', 'notes', '--ref=eph-images', 'add', '-m'];
    await harness.repository.git([...asCi, 'eph-image: evil.example/acme/note:1', commitOf('note')]);

    const objections = {
      revision: 'pr-7 was built from another commit',
      young: 'pr-7 is older than the commit',
      many: '101 tags of .* match b-\\*, and 0 of them name the commit; a tag_pattern that matches at most 100 is needed',
      note: 'names evil.example/acme/note:1, and policy does not allow images from there',
    };
    for (const [name, objection] of Object.entries(objections))
      expect(await why(harness, await untilReason(harness, `preview/${name}`, 'WaitingForImage')), name).toMatch(
        new RegExp(objection),
      );

    const right = {
      revision: await images.publish('acme/revision', 'pr-7', {
        labels: { 'org.opencontainers.image.revision': commitOf('revision') },
      }),
      young: await images.publish('acme/young', 'pr-7'),
      many: first.replace('acme/all', 'acme/many'),
    };
    images.tag('acme/many', [`b-${commitOf('many').slice(0, 7)}`]);
    for (const [name, reference] of Object.entries(right)) {
      const environment = await harness.untilReady(`preview/${name}`, commitOf(name), 60);
      expect((await harness.visit(environment.name)).body, name).toBe(reference);
    }

    for (const reference of [images.repository('acme/all:first'), first]) {
      const commit = await harness.repository.push('preview/reference', imageApp(imageService(reference)));
      const environment = await harness.untilReady('preview/reference', commit, 60);
      expect((await harness.visit(environment.name)).body).toBe(first);
    }
  });

  it.concurrent('that never comes fails an environment in which nothing else runs, and a fall-back outlives ephd', {
    timeout: 240_000,
  }, async ({ expect }) => {
    await using images = await ImageRegistry.start();
    await using harness = await EphdHarness.create();
    const settings = { images: { fresh_for: '1s', fallback_after: '2s', give_up_after: '4s' } };
    const ephd = await startWithRegistry(harness, images, { settings });
    const repository = images.repository('acme/shop');
    const latest = await images.publish('acme/shop', 'latest');
    const push = (ref: string, entry: Readonly<Record<string, unknown>>) =>
      harness.repository.push(
        `preview/${ref}`,
        imageApp(imageService('app'), { environment: { images: [{ name: 'app', repository, ...entry }] } }, { [ref]: ref }),
      );
    const commit = await push('never', byTemplate);
    await push('latest', { ...byTemplate, fallback_tag: 'latest' });
    const lost = await untilReason(harness, 'preview/never', 'ImageNotFound');
    expect(lost.phase).toBe('Failed');
    expect(await why(harness, lost)).toContain('web has no image app');
    const fallback = await harness.until('preview/latest', 'serves', ({ phase }) => phase === 'Degraded', 60);
    expect((await harness.visit(fallback.name)).body).toBe(latest);
    const pids = harness.services().map(({ pid }) => pid);

    await images.halt();
    await ephd.kill();
    await startWithRegistry(harness, images, {
      settings: { images: { ...settings.images, fallback_after: '1h', give_up_after: '2h' } },
    });
    expect((await untilReason(harness, 'preview/latest', 'UsingFallbackImage')).phase).toBe('Degraded');
    expect((await harness.visit(fallback.name)).body).toBe(latest);
    expect(harness.services().map(({ pid }) => pid)).toEqual(pids);
    await images.resume();
    await images.publish('acme/shop', commit.slice(0, 7));
    await harness.untilReady('preview/never', commit, 60);
  });

  it.concurrent('may be named by the configuration of the platform, which is blamed for a name that means nothing', {
    timeout: 180_000,
  }, async ({ expect }) => {
    await using images = await ImageRegistry.start();
    await using harness = await EphdHarness.create();
    const platform = await SampleRepository.create(harness.folder, 'platform');
    const reference = await images.publish('acme/shop', 'v1');
    await images.publish('acme/other', 'v2');
    const defaults = clusterFile({ defaults: { Deployment: { image: images.repository('acme/shop:v1') } } });
    await platform.push('main', defaults);
    await startWithRegistry(harness, images, { settings: { configuration: { repository: platform.path, environment: 'test' } } });
    const { web } = imageService('unused');
    const { image: _, ...service } = web ?? {};
    const commit = await harness.repository.push('preview/a', imageApp({ web: service }));
    const environment = await harness.untilReady('preview/a', commit, 60);
    expect((await harness.visit(environment.name)).body).toBe(reference);

    await platform.push('main', { ...defaults, ...projectFile('shop', { web: { image: images.repository('acme/other:v2') } }) });
    const other = images.repository('acme/other:v2');
    const changed = (one: Parameters<typeof imagesCondition>[0]) => imagesCondition(one)?.message.includes(other) === true;
    await harness.until('preview/a', 'runs what the override names', (one) => changed(one) && one.phase === 'Ready', 60);

    await platform.push('main', { ...defaults, ...projectFile('shop', { web: { image: 'nonsense' } }) });
    const refused = await harness.until('preview/a', 'blames the override', ({ phase }) => phase === 'Degraded', 60);
    expect(refused.summary).toMatch(/test\/apps\/shop\/shop\/env\.yaml.*"nonsense" is neither an entry/);
    expect(await why(harness, refused)).toContain('env.yaml');
  });
});
