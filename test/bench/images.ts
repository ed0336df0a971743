import { getHeapStatistics } from 'node:v8';
import { createOciRegistry } from '@eph/adapters/registry-oci/oci-registry';
import { projectId, type SourceRef, silentLog } from '@eph/contract';
import { gitBranchGenerator } from '@eph/engine/desired/git-ref-triggers';
import { createImageRequest } from '@eph/engine/images/image-request.fake';
import { ImageResolver } from '@eph/engine/images/image-resolver';
import type { Registry } from '@eph/engine/images/registry';
import { letTimePass } from '@eph/engine/loop/passing-time.fake';
import { createFakeInfrastructure, FakeProvider } from '@eph/engine/provider/provider.fake';
import { FakeForge, FakeRepository } from '@eph/engine/source/forge.fake';
import { ManualClock } from '@eph/engine/time/clock.fake';
import { systemClock } from '@eph/engine/time/system-clock';
import { Pool } from 'undici';
import { defaultImages } from '../../apps/ephd/config.ts';
import { ImageRegistry } from '../e2e/image-registry.ts';
import { FaultProxy } from '../forge-chaos/fault-proxy.ts';
import { createBenchEngine } from './engine-harness.ts';
import { atMost, type Figure, median, reported } from './figure.ts';

const rounds = 5;
const environments = 1_000;
const imagesEach = 5;
const commitsRunning = 10;
const waitingTags = 200;
const coldTags = 5_000;
const listedTags = 100_000;
/** As many as ephd sends to one host. */
const atOnce = 16;
const { signal } = new AbortController();

/** Passes over environments that run images, and that wait for them: how often a registry is asked. */
export const measureImageRequests = async (): Promise<readonly Figure[]> => {
  await using images = await ImageRegistry.start();
  await images.publish('acme/all', 'first');
  await using proxy = await FaultProxy.start(Number(images.host.split(':')[1]), 1);
  return [await measureIdle(images, proxy), await measureWaiting(images, proxy)];
};

const measureIdle = async (images: ImageRegistry, proxy: FaultProxy): Promise<Figure> => {
  const names = Array.from({ length: imagesEach }, (_, index) => `image-${index}`);
  await using world = new World(proxy, names, commitsRunning);
  for (const name of names)
    images.tag(
      `acme/${name}`,
      world.commits.map((commit) => `build-${commit.slice(0, 7)}`),
    );
  await world.start();
  await world.settle();
  const cold = proxy.requests;
  if (cold === 0) throw new Error('nothing was asked for, so nothing is measured');
  await world.live(10);
  await world.restart();
  await world.live(10);
  return atMost('images-idle', proxy.requests - cold, 0, 'requests');
};

const measureWaiting = async (images: ImageRegistry, proxy: FaultProxy): Promise<Figure> => {
  await using world = new World(proxy, ['late'], waitingTags);
  images.tag('acme/late', ['another']);
  await world.start();
  await world.live(2);
  const before = proxy.requests;
  const periods = 10;
  await world.live(periods);
  if (proxy.requests === before) throw new Error('nothing was asked for, so nothing is measured');
  await world.restart();
  await world.live(1);
  return atMost('images-waiting', (proxy.requests - before) / (periods + 1), waitingTags, 'requests');
};

/** The real loop and the real resolver over a thousand branches, each with one component for each image. */
class World implements AsyncDisposable {
  readonly commits: readonly string[];
  readonly #clock = new ManualClock();
  readonly #project = projectId('shop');
  readonly #repository = new FakeRepository(this.#project, () => this.#clock.now());
  readonly #provider = new FakeProvider(createFakeInfrastructure(), { now: () => this.#clock.now() });
  readonly #host: string;
  #running: { readonly engine: ReturnType<typeof createBenchEngine>; stop(): Promise<void> } | undefined;

  constructor(proxy: FaultProxy, images: readonly string[], commits: number) {
    this.#host = new URL(proxy.url).host;
    const entries = images.map(
      (name) => `{ name: ${name}, repository: "${this.#host}/acme/${name}", tag_template: "build-{commit_sha:0:7}" }`,
    );
    const services = images.map((name) => `    ${name}: { command: run, image: ${name} }`);
    const file = `version: "1.0"\nname: shop\nenvironment: { images: [${entries.join(', ')}] }\nprocess:\n  services:\n${services.join('\n')}\n`;
    const branch = (index: number): SourceRef => ({ kind: 'branch', name: `preview/${index}` });
    const pushed = Array.from({ length: commits }, (_, index) =>
      this.#repository.push(branch(index), { 'eph.yaml': `${file}# ${index}\n` }),
    );
    for (let index = commits; index < environments; index += 1) {
      const commit = pushed[index % commits];
      if (commit !== undefined) this.#repository.point(branch(index), commit);
    }
    this.commits = pushed;
  }

  async start(): Promise<void> {
    const search = createResolver(this.#host, () => this.#clock.now());
    const engine = createBenchEngine([new FakeForge(this.#project, this.#repository)], [this.#provider], [gitBranchGenerator], {
      clock: this.#clock,
      resolver: search.resolver,
    });
    this.#running = {
      engine,
      stop: async () => {
        await engine.close();
        await search[Symbol.asyncDispose]();
      },
    };
    engine.start();
    await engine.idle();
  }

  async restart(): Promise<void> {
    await this.#running?.stop();
    await this.start();
  }

  /** So many times the time for which an answer counts. */
  async live(periods: number): Promise<void> {
    if (this.#running === undefined) throw new Error('it was not started');
    await letTimePass(this.#running.engine, this.#clock, (periods * defaultImages.freshForMs) / 1000);
  }

  async settle(): Promise<void> {
    await this.live(4);
    const all = this.#running?.engine.environments() ?? [];
    const ready = all.filter(({ status }) => status?.phase === 'Ready').length;
    if (ready !== environments) throw new Error(`${ready} of ${environments} environments are ready`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#running?.stop();
  }
}

const settings = { username: undefined, password: undefined, plainHttp: true, ca: undefined, isFor: () => true };

const createResolver = (host: string, now: () => number = Date.now, watch: (real: Registry) => Registry = (real) => real) => {
  const real = createOciRegistry({
    registries: new Map([[host, settings]]),
    credentialsFile: undefined,
    readPullSecrets: () => Promise.resolve([]),
    environment: {},
    clock: systemClock,
    random: Math.random,
    log: silentLog,
  });
  const registry = watch(real);
  const resolver = new ImageResolver({ registry, readNote: () => Promise.resolve(undefined), now, times: defaultImages });
  return {
    resolver,
    async [Symbol.asyncDispose]() {
      resolver[Symbol.dispose]();
      await real[Symbol.asyncDispose]();
    },
  };
};

/** Many tags that nobody asked for before, over the same requests by a bare pool of connections. */
export const measureColdImages = async (): Promise<readonly Figure[]> => {
  await using images = await ImageRegistry.start();
  await images.publish('acme/all', 'first', { content: 'all' });
  const tags = Array.from({ length: coldTags }, (_, index) => `build-${index}`);
  images.tag('acme/cold', tags);
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round += 1)
    ratios.push((await timed(() => resolveAll(images.host, tags))) / (await timed(() => askPlainly(images.host, tags))));
  await using proxy = await FaultProxy.start(Number(images.host.split(':')[1]), 1);
  await resolveAll(new URL(proxy.url).host, tags, { content: 'all' });
  return [
    atMost('images-cold', median(ratios), 1.5),
    reported('images-cold-labels', proxy.requests / coldTags, 'requests per image'),
  ];
};

const resolveAll = async (host: string, tags: readonly string[], requiredLabels = {}): Promise<void> => {
  await using search = createResolver(host);
  const answers = await Promise.all(
    tags.map((text) =>
      search.resolver.resolve(createImageRequest({ repository: `${host}/acme/cold`, tag: { text }, requiredLabels }), signal),
    ),
  );
  const found = answers.filter(({ state }) => state === 'found').length;
  if (found !== tags.length) throw new Error(`${found} of ${tags.length} images were found: ${JSON.stringify(answers[0])}`);
};

const askPlainly = async (host: string, tags: readonly string[]): Promise<void> => {
  const pool = new Pool(`http://${host}`, { connections: atOnce });
  const headers = { accept: 'application/vnd.oci.image.manifest.v1+json' };
  await Promise.all(
    tags.map(async (tag) => {
      const path = `/v2/acme/cold/manifests/${tag}`;
      const { statusCode, body } = await pool.request({ path, method: 'HEAD', headers, reset: false });
      await body.dump();
      if (statusCode !== 200) throw new Error(`${tag} was answered with ${statusCode}`);
    }),
  );
  await pool.close();
};

/** A scan of one repository with very many tags, over the download of their list. */
export const measureTagScan = async (): Promise<readonly Figure[]> => {
  await using images = await ImageRegistry.start();
  await images.publish('acme/all', 'first', { content: 'all' });
  const tags = Array.from({ length: listedTags }, (_, index) => `build-${index}-of-a-branch`);
  images.tag('acme/listed', tags);
  const ratios: number[] = [];
  const growths: number[] = [];
  const { gc } = globalThis;
  if (gc === undefined) throw new Error('run with --expose-gc');
  for (let round = 0; round < rounds; round += 1) {
    gc();
    const scanned = await timed(() => scan(images.host, growths));
    gc();
    ratios.push(scanned / (await timed(() => listPlainly(images.host))));
  }
  return [atMost('images-tags', median(ratios), 2), atMost('images-tags-heap', Math.max(...growths) / 1024 / 1024, 32, 'MiB')];
};

const usedHeap = (): number => {
  const { used_heap_size: used, external_memory: external } = getHeapStatistics();
  return used + external;
};

/** The heap is read where most of the list is in it: while its tags are compared with the pattern. */
const scan = async (host: string, growths: number[]): Promise<void> => {
  const before = usedHeap();
  let seen = 0;
  let most = 0;
  const look = (): void => {
    seen += 1;
    if (seen % 1_000 === 0) most = Math.max(most, usedHeap());
  };
  await using search = createResolver(host, Date.now, (real) => ({
    find: (...asked) => real.find(...asked),
    inspect: (...asked) => real.inspect(...asked),
    tags: (repository, matches, ended) =>
      real.tags(
        repository,
        (tag) => {
          look();
          return matches(tag);
        },
        ended,
      ),
  }));
  const image = { repository: `${host}/acme/listed`, pattern: { text: 'build-7-of-*' } };
  const answer = await search.resolver.resolve(createImageRequest(image), signal);
  if (answer.state !== 'found' || seen < listedTags) throw new Error(`${seen} tags: ${JSON.stringify(answer)}`);
  growths.push(most - before);
};

const listPlainly = async (host: string): Promise<void> => {
  const pool = new Pool(`http://${host}`, { connections: atOnce });
  const { body } = await pool.request({ path: '/v2/acme/listed/tags/list?n=1000', method: 'GET' });
  const { tags } = (await body.json()) as { readonly tags: readonly string[] };
  if (tags.length !== listedTags) throw new Error(`${tags.length} tags were listed`);
  await pool.close();
};

const timed = async (work: () => Promise<void>): Promise<number> => {
  const start = performance.now();
  await work();
  return performance.now() - start;
};
