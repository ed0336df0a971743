import { EphdHarness } from '../e2e/ephd-harness.ts';
import { app, oneService, preparedServices, type Services, twoServices, worker } from '../e2e/sample-app.ts';
import { type Expected, findDifferences, findOrphans, readObservedState } from './observed-state.ts';
import { Observer } from './observer.ts';
import type { Comparison, World, WorldKind } from './world.ts';

/** The services of a branch: a page, a page with a service behind it, the same in a prepared checkout, or a worker that does not listen. */
const shapes: Readonly<Record<string, Services>> = { page: oneService, pair: twoServices, prepared: preparedServices, worker };

/** Services are processes of this machine. */
class ProcessWorld implements World {
  readonly harness: EphdHarness;
  readonly startOptions = {};
  readonly #observer: Observer;
  readonly #expected = new Map<string, Expected>();
  /** The processes when everything had last settled, by component and commit. */
  #resting = new Map<string, number>();

  constructor(harness: EphdHarness) {
    this.harness = harness;
    this.#observer = new Observer(harness);
  }

  get doubles(): ReadonlySet<string> {
    return this.#observer.doubles;
  }

  get wrongDeletions(): ReadonlySet<string> {
    return this.#observer.wrongDeletions;
  }

  async push(branch: string, shape: string): Promise<string> {
    const services = shapes[shape] ?? {};
    const commit = await this.harness.repository.push(branch, app(services));
    this.#expected.set(branch, { branch, commit, components: Object.keys(services), answers: shape !== 'worker' });
    return commit;
  }

  async delete(branch: string): Promise<void> {
    this.#observer.branchWillBeDeleted(branch);
    this.#expected.delete(branch);
    await this.harness.repository.delete(branch);
  }

  async compare(ephdPid: number): Promise<Comparison> {
    const expected = [...this.#expected.values()];
    const observed = await readObservedState(this.harness, expected, ephdPid);
    return { differences: findDifferences(expected, observed), orphans: findOrphans(expected, observed) };
  }

  /** A process that is still wanted must be the same as after the last settling. */
  async settled(): Promise<readonly string[]> {
    this.#observer.settled();
    const wanted = new Set([...this.#expected.values()].map((one) => one.commit));
    const running = this.harness.services().filter((one) => one.pid === one.session);
    const resting = new Map(running.map((one) => [`${one.component} at ${one.variables['EPH_COMMIT']}`, one.pid]));
    const restarted = [...this.#resting].filter(
      ([service, pid]) => wanted.has(service.slice(service.lastIndexOf(' ') + 1)) && resting.get(service) !== pid,
    );
    this.#resting = resting;
    return restarted.map(
      ([service, pid]) => `${service} was restarted without reason: process ${pid} became ${resting.get(service)}`,
    );
  }

  async describe(): Promise<string> {
    return `services ran ${await this.harness.isolation()}`;
  }

  async halt(): Promise<void> {
    this.#observer[Symbol.dispose]();
    await this.harness.halt();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#observer[Symbol.dispose]();
    await this.harness[Symbol.asyncDispose]();
  }
}

export const processWorlds: WorldKind = {
  shapes: Object.keys(shapes),
  recorded: 'prepared',
  stepWithinMs: 3_000,
  create: async () => new ProcessWorld(await EphdHarness.create()),
};
