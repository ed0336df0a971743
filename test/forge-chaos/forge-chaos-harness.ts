import { shippedComments } from '@eph/adapters/forge-http/comments.fake';
import { type EnvironmentId, projectId, shippedSections, silentLog } from '@eph/contract';
import { gitBranchGenerator, gitTagGenerator } from '@eph/engine/desired/git-ref-triggers';
import { autoGenerator, prCommentGenerator, prLabelGenerator } from '@eph/engine/desired/pull-triggers';
import { FakeResolver } from '@eph/engine/images/resolver.fake';
import { Engine } from '@eph/engine/loop/engine';
import { letTimePass } from '@eph/engine/loop/passing-time.fake';
import { silentTelemetry } from '@eph/engine/loop/telemetry.fake';
import { defaultDeletionBound, guardDeletions } from '@eph/engine/plan/guard';
import { createFakeInfrastructure, FakeProvider } from '@eph/engine/provider/provider.fake';
import { FakeRenderer } from '@eph/engine/render/renderer.fake';
import type { Report } from '@eph/engine/report/reporter';
import { Configuration } from '@eph/engine/source/configuration';
import { ManualClock } from '@eph/engine/time/clock.fake';
import { EnvironmentRequests } from '../../apps/ephd/requests/environment-requests.ts';
import { StopPoller } from '../../apps/ephd/requests/stop-poller.ts';
import type { Random } from '../simulate/random.ts';
import type { FixtureOptions, ForgeFixture } from './forge-fixture.ts';
import type { Plant } from './plants.ts';
import { Verifier } from './verifier.ts';

const shop = projectId('shop');

/** The real engine and a real adapter, connected to a forge over sockets; only the clock and the infrastructure are fakes. */
export class ForgeChaosHarness implements AsyncDisposable {
  readonly clock: ManualClock;
  readonly fixture: ForgeFixture;
  readonly verifier: Verifier;
  readonly engine: Engine;
  readonly infrastructure = createFakeInfrastructure();
  /** The last delivered report, by environment. */
  readonly reports = new Map<EnvironmentId, Report>();
  /** The last failure of each key, for messages. */
  readonly failures = new Map<string, string>();
  /** How often a pull request has got an environment. */
  readonly #lives = new Map<number, number>();
  readonly #stops: StopPoller;

  private constructor(fixture: ForgeFixture, clock: ManualClock, random: Random, plant: Plant) {
    this.fixture = fixture;
    this.clock = clock;
    this.verifier = new Verifier(fixture);
    const forge = this.verifier.watch(plant(fixture.forge));
    const provider = new FakeProvider(this.infrastructure, {
      now: () => clock.now(),
      startMs: 1000,
      disturb: (operation, moment, id) => {
        const identity = id === undefined ? undefined : this.infrastructure.environments.get(id)?.identity;
        if (operation === 'remove' && moment === 'before' && identity !== undefined) this.verifier.removed(identity.source);
        return Promise.resolve();
      },
    });
    const project = {
      forge,
      forks: 'deny',
      trusted: false,
      network: 'shared',
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
      renderer: new FakeRenderer(),
      resolver: new FakeResolver(),
      clock,
      random: () => random.next(),
      workers: 4,
      telemetry: { ...silentTelemetry, failed: (key, { message }) => void this.failures.set(key, message) },
      serverKey: 'key',
      urlOf: (name) => `http://${name}.localhost`,
      ownerOf: () => undefined,
      aliasesOf: () => [],
      deletionBound: defaultDeletionBound,
      guard: guardDeletions,
      record: () => undefined,
      deliver: async (report, signal) => {
        await fixture.reporter.ensure(report, signal);
        const number = Number(report.source.name);
        if (this.reports.get(report.environment)?.last !== false) this.#lives.set(number, this.lifeOf(number) + 1);
        this.reports.set(report.environment, report);
        this.failures.delete(`report:${report.environment}`);
        if (report.last) this.verifier.removalReported(number);
      },
      changed: () => undefined,
    });
    const requests = new EnvironmentRequests({
      projects: new Map([[shop, { forge: fixture.forge }]]),
      consider: (source, signal) => this.engine.consider(source, signal),
      considerLifetime: (source, signal) => this.engine.considerLifetime(source, signal),
      wake: () => this.wake(),
      now: () => Date.now(),
      log: silentLog,
    });
    this.#stops = new StopPoller({
      projects: new Map([[shop, fixture]]),
      activeProjects: () => new Set([shop]),
      requests: {
        takeDown: (removal, force, signal) =>
          this.verifier.takingDown(Number(removal.ref.name), () => requests.takeDown(removal, force, signal)),
      },
      nameOf: () => undefined,
      audit: { record: () => undefined, now: () => clock.now(), auditLog: silentLog },
      clock,
      log: silentLog,
    });
  }

  static async start(
    startFixture: (options: FixtureOptions) => Promise<ForgeFixture>,
    { seed, random, plant }: { readonly seed: number; readonly random: Random; readonly plant: Plant },
  ): Promise<ForgeChaosHarness> {
    const clock = new ManualClock();
    const fixture = await startFixture({ seed, now: () => clock.now(), random: () => random.next() });
    const harness = new ForgeChaosHarness(fixture, clock, random, plant);
    harness.engine.start();
    return harness;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stops[Symbol.asyncDispose]();
    await this.engine.close();
    await this.fixture[Symbol.asyncDispose]();
  }

  wake(): void {
    this.engine.wakeProject(shop);
  }

  lifeOf(number: number): number {
    return this.#lives.get(number) ?? 0;
  }

  isDelivered(comment: string): boolean {
    return [...this.reports.values()].some((report) => shippedComments.renderComment(report) === comment);
  }

  async advance(seconds: number): Promise<void> {
    await letTimePass(this.engine, this.clock, seconds);
  }

  /** Acts as the operator who releases held deletions of environments that are not wanted. */
  releaseUnwanted(): void {
    for (const { held, id, ref } of this.engine.environments())
      if (held && !this.verifier.wants(Number(ref.name))) this.engine.release(id);
  }
}
