import { type EnvironmentId, projectId, shippedSections, silentLog } from '@eph/contract';
import { gitBranchGenerator, gitTagGenerator } from '@eph/engine/desired/git-ref-triggers';
import { autoGenerator, prCommentGenerator, prLabelGenerator } from '@eph/engine/desired/pull-triggers';
import { commitTreeResolver } from '@eph/engine/images/commit-tree';
import { ManualClock } from '@eph/engine/loop/clock.fake';
import { Engine } from '@eph/engine/loop/engine';
import { letTimePass } from '@eph/engine/loop/passing-time.fake';
import { silentTelemetry } from '@eph/engine/loop/telemetry';
import { defaultDeletionBound, guardDeletions } from '@eph/engine/plan/guard';
import { createFakeInfrastructure, FakeProvider } from '@eph/engine/provider/provider.fake';
import type { Report } from '@eph/engine/report/reporter';
import { Configuration } from '@eph/engine/source/configuration';
import { EnvironmentRequests } from '../../apps/ephd/requests/environment-requests.ts';
import { StopPoller } from '../../apps/ephd/requests/stop-poller.ts';
import type { Random } from '../simulate/random.ts';
import type { Hosting, Setting } from './hosting.ts';
import type { Plant } from './plants.ts';
import { renderComment } from './reports.ts';
import { Witness } from './witness.ts';

const shop = projectId('shop');

/** The real engine and a real adapter, over a forge that is spoken to through sockets; only time and the infrastructure are made up. */
export class Town implements AsyncDisposable {
  readonly clock: ManualClock;
  readonly hosting: Hosting;
  readonly witness: Witness;
  readonly engine: Engine;
  readonly infrastructure = createFakeInfrastructure();
  /** The last that was delivered, by environment. */
  readonly reports = new Map<EnvironmentId, Report>();
  readonly #stops: StopPoller;

  private constructor(hosting: Hosting, clock: ManualClock, random: Random, plant: Plant) {
    this.hosting = hosting;
    this.clock = clock;
    this.witness = new Witness(hosting);
    const forge = this.witness.watch(plant(hosting.forge));
    const provider = new FakeProvider(this.infrastructure, {
      now: () => clock.now(),
      startMs: 1000,
      disturb: (operation, moment, id) => {
        const identity = id === undefined ? undefined : this.infrastructure.environments.get(id)?.identity;
        if (operation === 'remove' && moment === 'before' && identity !== undefined) this.witness.removed(identity.source);
        return Promise.resolve();
      },
    });
    const project = {
      forge,
      resolver: commitTreeResolver,
      forks: 'deny',
      repository: shop,
      team: undefined,
      variables: {},
    } as const;
    this.engine = new Engine({
      projects: new Map([[shop, project]]),
      configuration: new Configuration({ documents: [] }),
      providers: new Map([[provider.name, provider]]),
      retired: new Set(),
      sections: shippedSections,
      generators: [gitBranchGenerator, gitTagGenerator, prLabelGenerator, prCommentGenerator, autoGenerator],
      clock,
      random: () => random.next(),
      workers: 4,
      telemetry: silentTelemetry,
      serverKey: 'key',
      urlOf: (name) => `http://${name}.localhost`,
      ownerOf: () => undefined,
      aliasesOf: () => [],
      deletionBound: defaultDeletionBound,
      guard: guardDeletions,
      record: () => undefined,
      deliver: async (report, signal) => {
        await hosting.reporter.ensure(report, signal);
        this.reports.set(report.environment, report);
        if (report.last) this.witness.gone(Number(report.source.name));
      },
      prefetch: (report, signal) => hosting.reporter.prefetch?.(report, signal),
      changed: () => undefined,
    });
    const requests = new EnvironmentRequests({
      projects: new Map([[shop, { forge: hosting.forge }]]),
      consider: (source, signal) => this.engine.consider(source, signal),
      wake: () => this.wake(),
      log: silentLog,
    });
    this.#stops = new StopPoller({
      projects: new Map([[shop, hosting]]),
      activeProjects: () => new Set([shop]),
      requests: {
        takeDown: (removal, force, signal) =>
          this.witness.takingDown(Number(removal.ref.name), () => requests.takeDown(removal, force, signal)),
      },
      clock,
      log: silentLog,
    });
  }

  static async start(
    startHosting: (setting: Setting) => Promise<Hosting>,
    { seed, random, plant }: { readonly seed: number; readonly random: Random; readonly plant: Plant },
  ): Promise<Town> {
    const clock = new ManualClock();
    const hosting = await startHosting({ seed, now: () => clock.now(), random: () => random.next() });
    const town = new Town(hosting, clock, random, plant);
    town.engine.start();
    return town;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stops[Symbol.asyncDispose]();
    await this.engine.close();
    await this.hosting[Symbol.asyncDispose]();
  }

  /** As a webhook does. */
  wake(): void {
    this.engine.wakeProject(shop);
  }

  isDelivered(comment: string): boolean {
    return [...this.reports.values()].some((report) => renderComment(report) === comment);
  }

  /** Lets the loop run for a while: everything that falls due is looked at. */
  async live(seconds: number): Promise<void> {
    await letTimePass(this.engine, this.clock, seconds);
  }

  /** An operator looks at what is held back and lets go of what nobody wants. */
  releaseUnwanted(): void {
    for (const { held, id, ref } of this.engine.environments())
      if (held && !this.witness.wants(Number(ref.name))) this.engine.release(id);
  }
}
