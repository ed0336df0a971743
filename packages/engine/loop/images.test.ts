import {
  type CommitSha,
  componentName,
  EphError,
  failure,
  incompleteReading,
  noteLimitBytes,
  type PinnedImages,
  printMoment,
} from '@eph/contract';
import { describe, expect, it } from 'vitest';
import { ImageResolver } from '../images/image-resolver.ts';
import { FakeRegistry } from '../images/registry.fake.ts';
import { branch, EngineHarness, shop } from './engine-harness.fake.ts';

const minute = 60;
const api = 'registry.example/acme/api';

/** An engine with a real resolver over a registry in memory, and a second provider whose components run images alone. */
class ImageHarness extends EngineHarness {
  readonly requests: string[] = [];
  registryFailure: EphError | undefined;
  /** Nobody is answered before. */
  registryAnswers: Promise<unknown> = Promise.resolve();
  readonly registry = new FakeRegistry({
    disturb: async ({ asks, repository, reference = '' }) => {
      this.requests.push(`${asks} ${repository} ${reference}`.trimEnd());
      await this.registryAnswers;
      if (this.registryFailure !== undefined) throw this.registryFailure;
    },
  });

  constructor() {
    super();
    this.configured = [...this.configured, { name: 'toy', type: 'toy' }];
    this.resolver = this.#createResolver();
  }

  /** A new process remembers nothing of what registries said. */
  override async restart(): Promise<void> {
    this.resolver = this.#createResolver();
    await super.restart();
  }

  publish(commit: CommitSha, content = commit as string): void {
    this.registry.publish(api, `build-${commit.slice(0, 7)}`, { labels: { content } });
  }

  /** Of the versions that have the traffic. */
  images(): Record<string, string | undefined> {
    const found: Record<string, string | undefined> = {};
    for (const { environments } of this.infrastructures.values())
      for (const { slots } of environments.values())
        for (const [name, { current }] of slots) found[name] = tagOf(current?.component.images);
    return found;
  }

  /** Of the same. */
  digests(): Record<string, string | undefined> {
    const found: Record<string, string | undefined> = {};
    for (const { environments } of this.infrastructures.values())
      for (const { slots } of environments.values())
        for (const [name, { current }] of slots)
          for (const { reference } of Object.values(current?.component.images ?? {})) found[name] = reference.split('@')[1];
    return found;
  }

  /** Something else of the environment is lost, so that all of it is looked at. */
  async loseWeb(): Promise<void> {
    const { ensure } = this.provider.calls;
    for (const { slots } of this.infrastructure.environments.values()) slots.delete(componentName('web'));
    await this.live(settle);
    expect(this.provider.calls.ensure).toBe(ensure + 1);
  }

  /** The variables of the version of a component that has the traffic. */
  started(component: string): unknown {
    for (const { environments } of this.infrastructures.values())
      for (const { slots } of environments.values()) {
        const slot = slots.get(componentName(component));
        if (slot !== undefined) return slot.current?.component.values['env'];
      }
    return undefined;
  }

  /** As a webhook does. */
  async announce(repository: string): Promise<void> {
    (this.resolver as ImageResolver).forget(repository);
    this.engine.announceImages(repository);
    await this.engine.idle();
  }

  condition(): unknown {
    const { status, reason } = this.only().status?.conditions.find(({ type }) => type === 'ImagesResolved') ?? {};
    return `${status} ${reason}`;
  }

  #createResolver(): ImageResolver {
    return new ImageResolver({
      registry: this.registry,
      readNote: ({ commit }, notes) => this.forge.readNote(commit, notes),
      now: () => this.clock.now(),
      times: { fallbackAfterMs: 600_000, giveUpAfterMs: 1_800_000, freshForMs: 30_000 },
    });
  }
}

const tagOf = (images: PinnedImages = {}): string | undefined => Object.values(images)[0]?.tag ?? undefined;

const file = ({ entry = 'tag_template: "build-{commit_sha:0:7}"', extras = '', triggers = '' } = {}): string => `version: "1.0"
name: shop
${triggers}
environment: { images: [{ name: api, repository: ${api}, ${entry} }] }
process:
  services:
    web: { command: run web, entry: true }
    api: { command: run api, image: api }
${extras}
`;

const settle = 60;

describe('a component whose image is missing', () => {
  it('waits alone, says for what and until when, and goes on when it is there', async () => {
    const harness = new ImageHarness();
    const commit = harness.push('preview/a', file());
    harness.start();
    await harness.live(settle);
    expect(harness.running()).toEqual({ 'preview/a/web': commit });
    expect(harness.condition()).toBe('False WaitingForImage');
    expect(harness.only().actions).toEqual([
      expect.objectContaining({
        code: 'artifact.missing',
        reason: expect.stringContaining(`there is no tag build-${commit.slice(0, 7)} in ${api}`),
        until: expect.stringMatching(/Z$/),
      }),
    ]);
    const until = `until ${printMoment(new Date(Date.parse('2026-01-05T09:30:00Z')).toISOString())}`;
    expect(harness.engine.explain(harness.only().id)).toContainEqual(
      expect.stringMatching(new RegExp(`^It waits ${until}: .*build-${commit.slice(0, 7)}`)),
    );
    expect(harness.only().status?.conditions.find(({ type }) => type === 'ImagesResolved')?.message).toContain(`(${until})`);
    harness.publish(commit);
    await harness.live(settle);
    expect(harness.images()).toEqual({ web: undefined, api: `build-${commit.slice(0, 7)}` });
    expect(harness.condition()).toBe('True Resolved');
    expect(harness.only().status?.phase).toBe('Ready');
  });

  it('keeps its version until the image of the new commit is there', async () => {
    const harness = new ImageHarness();
    const first = harness.push('preview/a', file());
    harness.publish(first);
    harness.start();
    await harness.live(settle);
    const second = harness.push('preview/a', `${file()}# again`);
    await harness.live(settle);
    expect(harness.running()).toEqual({ 'preview/a/web': second, 'preview/a/api': first });
    harness.publish(second);
    await harness.live(settle);
    expect(harness.running()).toEqual({ 'preview/a/web': second, 'preview/a/api': second });
  });

  it('fails after a while, and gets ready all the same when the image comes', async () => {
    const harness = new ImageHarness();
    const commit = harness.push('preview/a', file());
    harness.start();
    await harness.live(31 * minute);
    expect(harness.condition()).toBe('False ImageNotFound');
    expect(harness.only().status).toMatchObject({ phase: 'Degraded', summary: expect.stringContaining('after 30m') });
    harness.publish(commit);
    await harness.live(settle);
    expect(harness.only().status?.phase).toBe('Ready');
  });

  it('fails where nothing runs without it', async () => {
    const harness = new ImageHarness();
    const commit = harness.push('preview/a', file({ entry: 'tag: v1' }).replace('entry: true', 'image: api'));
    harness.start();
    await harness.live(31 * minute);
    expect(harness.condition()).toBe('False ImageNotFound');
    expect(harness.only().status).toMatchObject({ phase: 'Failed', summary: expect.stringContaining('after 30m') });
    expect(harness.only().actions.map((action) => action.type === 'wait' && action.code)).toContain('artifact.not_found');
    harness.registry.publish(api, 'v1', {});
    await harness.live(settle);
    expect(harness.only().status?.phase).toBe('Ready');
    expect(harness.running()).toMatchObject({ 'preview/a/web': commit });
  });

  it('uses the fall-back after a while and is not ready with it, and takes the image when it comes', async () => {
    const harness = new ImageHarness();
    harness.registry.publish(api, 'latest', {});
    const commit = harness.push('preview/a', file({ entry: 'tag_template: "build-{commit_sha:0:7}", fallback_tag: latest' }));
    harness.start();
    await harness.live(9 * minute);
    expect(harness.images()).not.toHaveProperty('api');
    await harness.live(2 * minute);
    expect(harness.images()).toMatchObject({ api: 'latest' });
    expect(harness.condition()).toBe('False UsingFallbackImage');
    expect(harness.only().status).toMatchObject({ phase: 'Degraded', summary: expect.stringContaining('fall-back') });
    await harness.restart();
    await harness.live(settle);
    expect(harness.images()).toMatchObject({ api: 'latest' });
    harness.publish(commit);
    await harness.live(2 * settle);
    expect(harness.images()).toMatchObject({ api: `build-${commit.slice(0, 7)}` });
    expect(harness.only().status?.phase).toBe('Ready');
  });

  it('does not get less time after a restart', async () => {
    const harness = new ImageHarness();
    harness.push('preview/a', file());
    harness.start();
    await harness.live(29 * minute);
    await harness.restart();
    await harness.live(settle);
    expect(harness.condition()).toBe('False ImageNotFound');
    await harness.restart();
    await harness.live(settle);
    expect(harness.condition()).toBe('False WaitingForImage');
  });
});

describe('the time that an image has', () => {
  const triggers = 'triggers: [{ type: pr_comment, patterns: ["/deploy"] }, { type: pr_label, labels: [preview] }]';
  it.each([
    ['from the commit', ['label', 'commit'], 'commit'],
    ['from a later label', ['commit', 'label'], 'label'],
    ['from a later command', ['commit', 'label', 'comment'], 'comment'],
    ['from a label after the command', ['commit', 'comment', 'label'], 'label'],
  ] as const)('counts %s', async (_, order, latest) => {
    const harness = new ImageHarness();
    const spec = file({ triggers });
    harness.repository.push(branch('main'), { 'eph.yaml': spec });
    harness.repository.push(branch('work'), { 'eph.yaml': spec });
    const { pullRequests } = harness.repository;
    const ref = pullRequests.open({ head: 'work' });
    const steps = {
      commit: () => void harness.repository.push(branch('work'), { 'eph.yaml': spec, 'work.txt': '1' }),
      label: () => pullRequests.label(ref, 'preview'),
      comment: () => pullRequests.comment(ref, 'alice', '/deploy'),
    };
    const times = new Map<string, number>();
    for (const step of order) {
      harness.clock.advance(3 * minute * 1000);
      times.set(step, harness.clock.now());
      steps[step]();
    }
    harness.clock.advance(minute * 1000);
    harness.start();
    await harness.live(settle);
    const end = (times.get(latest) ?? 0) + 30 * minute * 1000;
    expect(harness.only().actions).toEqual([expect.objectContaining({ until: new Date(end).toISOString() })]);
  });
});

it('an image has no more time because a clock was set back', async () => {
  const harness = new ImageHarness();
  harness.registry.publish(api, 'latest', {});
  harness.push('preview/a', file({ entry: 'tag_template: "build-{commit_sha:0:7}", fallback_tag: latest' }));
  harness.start();
  await harness.live(settle);
  harness.clock.jump(-86_400_000);
  await harness.live(12 * minute);
  expect(harness.images()).toMatchObject({ api: 'latest' });
});

describe('a registry that does not answer', () => {
  it('changes nothing, is asked again, and stops nothing that runs', async () => {
    const harness = new ImageHarness();
    const first = harness.push('preview/a', file());
    harness.publish(first);
    harness.start();
    await harness.live(settle);
    harness.registryFailure = new EphError('registry.unreachable', 'no answer');
    const second = harness.push('preview/a', `${file()}# again`);
    await harness.live(settle);
    expect(harness.running()).toEqual({ 'preview/a/web': first, 'preview/a/api': first });
    expect(harness.condition()).toBe('Unknown RegistryUnreachable');
    expect(harness.only().status?.phase).toBe('Degraded');
    harness.publish(second);
    harness.registryFailure = undefined;
    await harness.live(5 * minute);
    expect(harness.running()).toEqual({ 'preview/a/web': second, 'preview/a/api': second });
  });

  it('is not even asked about what runs, also after a restart', async () => {
    const harness = new ImageHarness();
    harness.publish(harness.push('preview/a', file()));
    harness.start();
    await harness.live(settle);
    harness.requests.length = 0;
    harness.registryFailure = new EphError('registry.unreachable', 'no answer');
    await harness.live(10 * minute);
    await harness.restart();
    await harness.live(10 * minute);
    expect(harness.requests).toEqual([]);
    expect(harness.only().status?.phase).toBe('Ready');
  });

  it('and never answers does not hold up the end of ephd', async () => {
    const harness = new ImageHarness();
    harness.registryAnswers = new Promise(() => undefined);
    harness.push('preview/a', file());
    harness.start();
    await expect.poll(() => harness.requests).toHaveLength(1);
    await harness.engine.close();
    expect(harness.running()).toEqual({});
  });

  it('is told apart from a forge that does not answer, and a note that cannot be read', async () => {
    const harness = new ImageHarness();
    const commit = harness.push('preview/a', file({ entry: 'tag_source: git_note' }));
    harness.repository.notes.set('eph-images', new Map([[commit, 'x'.repeat(noteLimitBytes + 1)]]));
    harness.start();
    await harness.live(settle);
    expect(harness.condition()).toBe('Unknown SpecInvalid');
    const unreachable = new EphError('forge.unreachable', 'no answer');
    harness.forgeOptions = {
      disturb: (operation) => (operation === 'readNote' ? Promise.reject(unreachable) : Promise.resolve()),
    };
    await harness.live(11 * minute);
    expect(harness.condition()).toBe('Unknown ForgeUnreachable');
  });

  it('and refuses stalls the environment, and is asked again later', async () => {
    const harness = new ImageHarness();
    harness.registryFailure = new EphError('registry.refused', 'denied');
    const commit = harness.push('preview/a', file());
    harness.start();
    await harness.live(settle);
    expect(harness.condition()).toBe('Unknown RegistryRefused');
    expect(harness.only().status?.phase).toBe('Failed');
    harness.registryFailure = undefined;
    harness.publish(commit);
    await harness.live(6 * minute);
    expect(harness.only().status?.phase).toBe('Ready');
  });
});

describe('a registry that policy does not allow', () => {
  it.each([
    ['an entry', { entry: 'tag_template: "build-{commit_sha:0:7}"' }],
    ['a fixed tag', { entry: 'tag: v1' }],
    ['a scan', { entry: 'tag_pattern: "build-*"' }],
    ['a fall-back', { entry: 'tag_template: never, fallback_tag: v1' }],
    ['a reference', { entry: 'tag: v1', extras: 'extras: { cache: { image: "evil.example/cache:1" } }' }],
  ])('is not asked for %s', async (_, parts) => {
    const harness = new ImageHarness();
    const limits = { registries: ['ghcr.io/acme'] };
    harness.policy = { limits, setBy: 'ephd.yaml', commit: null, placeOf: () => undefined };
    harness.publish(harness.push('preview/a', file(parts)));
    harness.registry.publish(api, 'v1', {});
    harness.start();
    await harness.live(11 * minute);
    expect(harness.only().status?.summary).toContain('the limit registries is');
    expect(harness.requests).toEqual([]);
  });
});

describe('a push', () => {
  const extras = 'extras: { cache: { image: "redis:7" }, worker: { image: api } }';

  it('restarts nothing that it does not change', async () => {
    const harness = new ImageHarness();
    harness.registry.publish('docker.io/library/redis', '7', {});
    const first = harness.push('preview/a', file({ extras }));
    harness.publish(first, 'equal');
    harness.start();
    await harness.live(settle);
    const second = harness.push('preview/a', `${file({ extras })}# again`);
    harness.publish(second, 'equal');
    await harness.live(2 * settle);
    expect(harness.running()).toEqual({
      'preview/a/web': second,
      'preview/a/api': second,
      'preview/a/cache on toy': first,
      'preview/a/worker on toy': first,
    });
    expect(harness.only().status?.phase).toBe('Ready');
    expect(harness.started('worker')).not.toHaveProperty('EPH_COMMIT');
    expect(harness.started('api')).toHaveProperty('EPH_COMMIT', second);
    expect(harness.views.at(-1)?.components.map(({ commit }) => commit)).toEqual([second, second, second, second]);
  });

  it('waits for checks only where it changes something', async () => {
    const harness = new ImageHarness();
    const triggers = 'triggers: [{ type: pr_label, labels: [preview], wait_for_checks: [build] }]';
    const spec = `version: "1.0"
name: shop
${triggers}
environment: { images: [{ name: api, repository: ${api} }] }
process: { services: { web: { command: run web } } }
extras: { worker: { image: api } }
`;
    const { pullRequests } = harness.repository;
    harness.repository.push(branch('main'), { 'eph.yaml': spec });
    const commit = harness.repository.push(branch('work'), { 'eph.yaml': spec, 'work.txt': '1' });
    pullRequests.open({ head: 'work', labels: ['preview'] });
    harness.start();
    await harness.live(settle);
    expect(harness.only().actions).toEqual([
      { type: 'wait', code: 'source.checks', reason: 'check build has not succeeded yet' },
    ]);
    harness.registry.publish(api, 'from-ci', {});
    pullRequests.setCheck(commit, { name: 'build', state: 'success', text: `eph-images: api=${api}:from-ci` });
    await harness.live(2 * settle);
    expect(harness.images()).toEqual({ web: undefined, worker: 'from-ci' });
    pullRequests.setCheck(commit, { name: 'build', state: 'failure', text: '' });
    await harness.restart();
    await harness.live(settle);
    expect(harness.only().status?.phase).toBe('Ready');
  });
});

it('nothing is looked for elsewhere while the checks that may name the image cannot be read', async () => {
  const harness = new ImageHarness();
  const triggers = 'triggers: [{ type: pr_label, labels: [preview], wait_for_checks: [build] }]';
  harness.repository.push(branch('main'), { 'eph.yaml': file({ triggers }) });
  const commit = harness.repository.push(branch('work'), { 'eph.yaml': file({ triggers }), 'work.txt': '1' });
  const { pullRequests } = harness.repository;
  pullRequests.open({ head: 'work', labels: ['preview'] });
  harness.registry.publish(api, 'from-ci', {});
  pullRequests.setCheck(commit, { name: 'build', state: 'success', text: `eph-images: api=${api}:from-ci` });
  harness.publish(commit);
  const lost = failure('forge.incomplete', 'a page is missing');
  harness.start();
  const { pulls } = harness.forge;
  Object.assign(harness.forge, { pulls: { ...pulls, checks: () => Promise.resolve(incompleteReading([], lost)) } });
  await harness.live(settle);
  expect(harness.condition()).toBe('Unknown ForgeIncomplete');
  expect(harness.requests).toEqual([]);
  Object.assign(harness.forge, { pulls });
  await harness.live(5 * minute);
  expect(harness.images()).toMatchObject({ api: 'from-ci' });
});

it('a comment chooses the image, and the next one another', async () => {
  const harness = new ImageHarness();
  const spec = file({ triggers: 'triggers: [{ type: pr_comment, patterns: ["/deploy"] }]' });
  harness.repository.push(branch('main'), { 'eph.yaml': spec });
  const commit = harness.repository.push(branch('work'), { 'eph.yaml': spec, 'work.txt': '1' });
  const { pullRequests } = harness.repository;
  const ref = pullRequests.open({ head: 'work' });
  for (const tag of ['one', 'two', `build-${commit.slice(0, 7)}`]) harness.registry.publish(api, tag, { labels: { tag } });
  harness.start();
  for (const [text, tag] of [
    ['/deploy --image=api=registry.example/acme/api:one', 'one'],
    [`/deploy --image=${api}:two`, 'two'],
    ['/deploy', `build-${commit.slice(0, 7)}`],
  ] as const) {
    pullRequests.comment(ref, 'alice', text);
    await harness.live(2 * settle);
    expect(harness.images()).toMatchObject({ api: tag });
  }
});

it('a note on the commit chooses the image', async () => {
  const harness = new ImageHarness();
  const commit = harness.push('preview/a', file({ entry: 'tag_source: git_note' }));
  harness.registry.publish(api, 'noted', {});
  harness.start();
  await harness.live(settle);
  expect(harness.condition()).toBe('False WaitingForImage');
  harness.repository.notes.set('eph-images', new Map([[commit, `eph-image: ${api}:noted\n`]]));
  await harness.live(settle);
  expect(harness.images()).toMatchObject({ api: 'noted' });
});

it('a tag that moves updates what runs only where the file follows it', async () => {
  const harness = new ImageHarness();
  const moving = 'registry.example/acme/moving';
  const extras = 'extras: { stays: { image: "registry.example/acme/moving:v1" } }';
  harness.registry.publish(moving, 'v1', { labels: { build: '1' } });
  harness.registry.publish(api, 'v1', { labels: { build: '1' } });
  harness.push('preview/a', file({ entry: 'tag: v1, follow_tag: true', extras }));
  harness.start();
  await harness.live(settle);
  const before = harness.providers.values().map(({ calls }) => calls.ensure);
  expect([...before]).toEqual([2, 1]);
  harness.registry.publish(moving, 'v1', { labels: { build: '2' } });
  const moved = harness.registry.publish(api, 'v1', { labels: { build: '2' } });
  await harness.live(2 * settle);
  const [environment] = [...harness.infrastructure.environments.values()];
  const current = [...(environment?.slots.entries() ?? [])].find(([name]) => name === 'api')?.[1].current;
  expect(Object.values(current?.component.images ?? {})[0]?.reference).toBe(`${api}@${moved}`);
  expect(harness.providers.values().toArray().at(-1)?.calls.ensure).toBe(1);
});

describe('what was found', () => {
  const worker = 'extras: { worker: { image: api } }';

  it('is asked for once, also where a new commit has the same image and rewrites nothing', async () => {
    const harness = new ImageHarness();
    const spec = file({ extras: worker }).replace(/^ +api: .*\n/m, '');
    const first = harness.push('preview/a', spec);
    harness.publish(first, 'equal');
    harness.start();
    await harness.live(settle);
    const second = harness.push('preview/a', `${spec}# again`);
    harness.publish(second, 'equal');
    await harness.live(2 * settle);
    harness.requests.length = 0;
    harness.publish(second, 'moved');
    harness.registryFailure = new EphError('registry.unreachable', 'no answer');
    await harness.loseWeb();
    expect(harness.requests).toEqual([]);
    expect(harness.running()).toMatchObject({ 'preview/a/web': second, 'preview/a/worker on toy': first });
    expect(harness.only().status?.phase).toBe('Ready');
  });

  it('is no fall-back any more where the right image is the same', async () => {
    const harness = new ImageHarness();
    harness.registry.publish(api, 'latest', { labels: { content: 'equal' } });
    const entry = 'tag_template: "build-{commit_sha:0:7}", fallback_tag: latest';
    const commit = harness.push('preview/a', file({ entry }));
    harness.start();
    await harness.live(11 * minute);
    expect(harness.condition()).toBe('False UsingFallbackImage');
    harness.publish(commit, 'equal');
    await harness.live(2 * settle);
    expect(harness.condition()).toBe('True Resolved');
    harness.requests.length = 0;
    harness.registryFailure = new EphError('registry.unreachable', 'no answer');
    await harness.loseWeb();
    expect(harness.requests).toEqual([]);
    expect(harness.only().status?.phase).toBe('Ready');
  });

  it('is the same for a component that comes later, also after a restart', async () => {
    const harness = new ImageHarness();
    const published = harness.registry.publish(api, 'v1', { labels: { build: '1' } });
    harness.push('preview/a', file({ entry: 'tag: v1' }));
    harness.start();
    await harness.live(settle);
    harness.registry.publish(api, 'v1', { labels: { build: '2' } });
    await harness.restart();
    harness.push('preview/a', file({ entry: 'tag: v1', extras: worker }));
    await harness.live(2 * settle);
    expect(harness.digests()).toEqual({ api: published, worker: published });
  });

  it('is the same for components that are made one after the other', async () => {
    const harness = new ImageHarness();
    const published = harness.registry.publish(api, 'v1', { labels: { build: '1' } });
    const extras = 'extras: { worker: { image: api, env: { URL: outputs/web/url } } }';
    harness.behaviourOf = ({ name }) => (name === 'web' ? 'never ready' : 'gets ready');
    harness.push('preview/a', file({ entry: 'tag: v1', extras }));
    harness.start();
    await harness.live(settle);
    expect(harness.digests()).toEqual({ api: published });
    harness.registry.publish(api, 'v1', { labels: { build: '2' } });
    harness.behaviourOf = () => 'gets ready';
    await harness.live(2 * settle);
    expect(harness.digests()).toEqual({ api: published, worker: published });
  });

  it('is forgotten with the environment', async () => {
    const harness = new ImageHarness();
    harness.registry.publish(api, 'v1', { labels: { build: '1' } });
    harness.push('preview/a', file({ entry: 'tag: v1' }));
    harness.start();
    await harness.live(settle);
    harness.repository.delete(branch('preview/a'));
    await harness.live(2 * settle);
    expect(harness.engine.environments()).toEqual([]);
    const moved = harness.registry.publish(api, 'v1', { labels: { build: '2' } });
    harness.push('preview/a', file({ entry: 'tag: v1' }));
    await harness.live(settle);
    expect(harness.digests()).toEqual({ api: moved });
  });
});

describe('a registry that announces a push', () => {
  const byTemplate = 'tag_template: "build-{commit_sha:0:7}"';

  it('wakes who waits for an image', async () => {
    const harness = new ImageHarness();
    const commit = harness.push('preview/a', file());
    harness.start();
    await harness.live(settle);
    harness.publish(commit);
    await harness.announce(api);
    expect(harness.provider.calls.ensure).toBe(2);
  });

  it('wakes who follows a tag', async () => {
    const harness = new ImageHarness();
    harness.registry.publish(api, 'v1', { labels: { build: '1' } });
    harness.push('preview/a', file({ entry: 'tag: v1, follow_tag: true' }));
    harness.start();
    await harness.live(settle);
    const ensured = harness.provider.calls.ensure;
    harness.registry.publish(api, 'v1', { labels: { build: '2' } });
    await harness.announce(api);
    expect(harness.provider.calls.ensure).toBe(ensured + 1);
  });

  it('wakes who runs a fall-back, also after a restart', async () => {
    const harness = new ImageHarness();
    harness.registry.publish(api, 'latest', {});
    const commit = harness.push('preview/a', file({ entry: `${byTemplate}, fallback_tag: latest` }));
    harness.start();
    await harness.live(11 * minute);
    await harness.restart();
    await harness.live(1);
    expect(harness.images()).toMatchObject({ api: 'latest' });
    harness.publish(commit);
    await harness.announce(api);
    expect(harness.provider.calls.ensure).toBe(1);
  });

  it.each(['registry.unreachable', 'registry.refused'] as const)('wakes whose last answer was %s', async (code) => {
    const harness = new ImageHarness();
    harness.registryFailure = new EphError(code, 'no');
    harness.publish(harness.push('preview/a', file()));
    harness.start();
    await harness.live(settle);
    expect(harness.running()).toEqual({});
    harness.registryFailure = undefined;
    await harness.announce(api);
    expect(harness.provider.calls.ensure).toBe(2);
  });

  it('wakes who waits for what a note names elsewhere', async () => {
    const harness = new ImageHarness();
    const commit = harness.push('preview/a', file({ entry: 'tag_source: git_note' }));
    harness.repository.notes.set('eph-images', new Map([[commit, 'eph-image: ghcr.io/acme/other:7\n']]));
    harness.start();
    await harness.live(settle);
    harness.registry.publish('ghcr.io/acme/other', '7', {});
    await harness.announce('ghcr.io/acme/other');
    expect(harness.provider.calls.ensure).toBe(2);
  });

  it('wakes who waits while somebody plans for another file', async () => {
    const harness = new ImageHarness();
    const commit = harness.push('preview/a', file());
    const other = harness.push('preview/b', file({ entry: 'tag: v1' }));
    harness.repository.delete(branch('preview/b'));
    harness.registry.publish(api, 'v1', {});
    harness.start();
    await harness.live(settle);
    const before = harness.only().actions;
    const source = { project: shop, ref: branch('preview/a'), commit: other };
    const { signal } = new AbortController();
    expect((await harness.engine.planSource(source, undefined, () => true, signal)).actions).not.toEqual(before);
    expect(harness.only().actions).toEqual(before);
    harness.publish(commit);
    await harness.announce(api);
    expect(harness.provider.calls.ensure).toBe(2);
  });
});

it('a push that is announced while the registry does not answer changes nothing, and its image is found later', async () => {
  const harness = new ImageHarness();
  const commit = harness.push('preview/a', file());
  harness.start();
  await harness.live(settle);
  harness.registryFailure = new EphError('registry.unreachable', 'no answer');
  harness.publish(commit);
  await harness.announce(api);
  expect(harness.condition()).toBe('Unknown RegistryUnreachable');
  expect(harness.running()).toEqual({ 'preview/a/web': commit });
  harness.registryFailure = undefined;
  await harness.live(5 * minute);
  expect(harness.only().status?.phase).toBe('Ready');
});

it('an image in a comment on a fork is ignored, and why says so', async () => {
  const harness = new ImageHarness();
  harness.forks = 'approve';
  const spec = file({ triggers: 'triggers: [{ type: pr_comment, patterns: ["/deploy"] }]' });
  harness.repository.push(branch('main'), { 'eph.yaml': spec });
  const commit = harness.repository.pushToFork('mallory/shop', 'patch', { 'eph.yaml': spec });
  const { pullRequests } = harness.repository;
  const ref = pullRequests.open({ head: 'patch', fork: 'mallory/shop', author: 'mallory' });
  harness.registry.publish(api, 'evil', {});
  harness.publish(commit);
  harness.start();
  pullRequests.comment(ref, 'alice', `/deploy ${commit} --image=${api}:evil`);
  await harness.live(2 * settle);
  expect(harness.images()).toMatchObject({ api: `build-${commit.slice(0, 7)}` });
  expect(harness.engine.explain(harness.only().id)?.join('\n')).toContain('was ignored: it says nothing about a fork');
});
