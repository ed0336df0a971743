import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ClusterShape, clusterApp, clusterShapes } from '../e2e/cluster-app.ts';
import { EphdHarness, type StartOptions } from '../e2e/ephd-harness.ts';
import { ImageRegistry } from '../e2e/image-registry.ts';
import { cluster } from '../parts/cluster.ts';
import type { ClusterAccess } from '../parts/cluster-server.ts';
import { HollowNode } from '../parts/hollow-node.ts';
import { ClusterObserver } from './cluster-observer.ts';
import {
  type ExpectedObjects,
  findOrphanedObjects,
  findShortcomings,
  isLive,
  isTask,
  readClusterState,
  readPods,
  workOf,
} from './cluster-state.ts';
import { readLeftovers } from './observed-state.ts';
import type { Comparison, World, WorldKind } from './world.ts';

interface Site {
  readonly server: ClusterAccess;
  readonly images: ImageRegistry;
  readonly image: string;
}

/** Components are objects of a cluster, which several ephd share. */
export class ClusterWorld implements World {
  readonly harness: EphdHarness;
  readonly startOptions: StartOptions;
  /** On everything that its ephd makes. */
  readonly owner: string;
  readonly #site: Site;
  readonly #observer: ClusterObserver;
  readonly #expected = new Map<string, ExpectedObjects>();
  /** The pods when everything had last settled, by what they are for. */
  #resting = new Map<string, string>();
  #versions = 0;

  private constructor(harness: EphdHarness, site: Site, owner: string, config: string) {
    this.harness = harness;
    this.startOptions = { projects: [], args: ['--config', config] };
    this.#site = site;
    this.owner = owner;
    this.#observer = new ClusterObserver(site.server.api, owner);
  }

  static async create(site: Site): Promise<ClusterWorld> {
    const harness = await EphdHarness.create();
    const owner = `chaos-${randomBytes(4).toString('hex')}`;
    const config = join(harness.folder, 'ephd.yaml');
    const settings = {
      providers: { cluster: { type: 'kubernetes', kubeconfig: site.server.kubeconfig, owner } },
      registries: { [site.images.host]: { plain_http: true } },
      projects: [{ name: 'shop', location: harness.repository.path }],
    };
    await writeFile(config, JSON.stringify(settings));
    return new ClusterWorld(harness, site, owner, config);
  }

  get doubles(): ReadonlySet<string> {
    return this.#observer.doubles;
  }

  get wrongDeletions(): ReadonlySet<string> {
    return this.#observer.wrongDeletions;
  }

  async push(branch: string, shape: string): Promise<string> {
    this.#versions += 1;
    const version = String(this.#versions);
    const objects = clusterShapes[shape as ClusterShape]({ image: this.#site.image, version });
    const commit = await this.harness.repository.push(branch, clusterApp(objects));
    this.#expected.set(branch, { branch, commit, version, objects });
    return commit;
  }

  async delete(branch: string): Promise<void> {
    this.#observer.branchWillBeDeleted(branch);
    this.#expected.delete(branch);
    await this.harness.repository.delete(branch);
  }

  async compare(ephdPid: number): Promise<Comparison> {
    const expected = [...this.#expected.values()];
    const state = await readClusterState(this.#site.server.api, this.owner);
    const environments = await this.harness.environments();
    const orphans = [...findOrphanedObjects(expected, state, environments), ...readLeftovers(this.harness, ephdPid)];
    return { orphans, differences: [...expected.flatMap((one) => findShortcomings(one, state, environments)), ...orphans] };
  }

  async settled(): Promise<readonly string[]> {
    await this.#observer.settled();
    const pods = await readPods(this.#site.server.api, this.owner);
    const running = pods.filter((pod) => isLive(pod) && !isTask(pod));
    const resting = new Map(running.map((pod) => [workOf(pod), pod.metadata.uid]));
    // What is no longer wanted is not there any more.
    const restarted = [...this.#resting].filter(([work, uid]) => resting.has(work) && resting.get(work) !== uid);
    this.#resting = resting;
    return restarted.map(([work]) => `${work} was started again without reason`);
  }

  describe(): Promise<string> {
    return Promise.resolve('pods seemed to run on a hollow node');
  }

  async halt(): Promise<void> {
    await this.#observer[Symbol.asyncDispose]();
    await this.harness.halt();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#observer[Symbol.asyncDispose]();
    await this.harness[Symbol.asyncDispose]();
  }
}

/** On a cluster that is there, with a hollow node. */
export const createClusterWorlds = async (server: ClusterAccess): Promise<WorldKind & AsyncDisposable> => {
  const images = await ImageRegistry.start();
  const image = await images.publish('acme/web', 'one');
  return {
    shapes: Object.keys(clusterShapes),
    recorded: 'task',
    // A namespace alone takes seconds to go.
    stepWithinMs: 8_000,
    create: () => ClusterWorld.create({ server, images, image }),
    [Symbol.asyncDispose]: () => images[Symbol.asyncDispose](),
  };
};

/** Starts a cluster for all of them. */
export const startClusterWorlds = async (): Promise<WorldKind & AsyncDisposable> => {
  await using stack = new AsyncDisposableStack();
  const server = await cluster.start();
  stack.defer(() => server.stop());
  const node = await HollowNode.start(server);
  stack.defer(() => node.stop());
  const worlds = stack.use(await createClusterWorlds(server));
  const all = stack.move();
  return { ...worlds, [Symbol.asyncDispose]: () => all.disposeAsync() };
};
