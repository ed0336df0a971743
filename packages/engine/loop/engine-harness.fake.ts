import {
  type CommitSha,
  type Event,
  type ProjectId,
  projectId,
  type ReportView,
  type ResolvedComponent,
  type ServerVariables,
  type SourceRef,
  shippedSections,
} from '@eph/contract';
import { expect } from 'vitest';
import type { ForkMode } from '../desired/forks.ts';
import { gitBranchGenerator, gitTagGenerator } from '../desired/git-ref-triggers.ts';
import { autoGenerator, prCommentGenerator, prLabelGenerator } from '../desired/pull-triggers.ts';
import { commitTreeResolver } from '../images/commit-tree.ts';
import { defaultDeletionBound, guardDeletions } from '../plan/guard.ts';
import { type Behaviour, createFakeInfrastructure, FakeProvider, type FakeProviderOptions } from '../provider/provider.fake.ts';
import { Configuration } from '../source/configuration.ts';
import { FakeForge, type FakeForgeOptions, FakeRepository } from '../source/forge.fake.ts';
import { ManualClock } from './clock.fake.ts';
import { Engine } from './engine.ts';
import type { EnvironmentRecord } from './memory.ts';
import { letTimePass } from './passing-time.fake.ts';
import { silentTelemetry } from './telemetry.ts';

export const shop = projectId('shop');
export const branch = (name: string): SourceRef => ({ kind: 'branch', name });

export const oneService = `version: "1.0"
name: shop
process:
  services:
    web: { command: run web }
`;

/** A repository, an infrastructure and a clock that outlive the engine, and an engine that can be replaced at any time. */
export class EngineHarness {
  readonly clock = new ManualClock();
  readonly repository = new FakeRepository(shop, () => this.clock.now());
  readonly infrastructure = createFakeInfrastructure();
  readonly events: Event[] = [];
  readonly reports: string[] = [];
  readonly views: ReportView[] = [];
  serverKey = 'key';
  forks: ForkMode = 'deny';
  variables: ServerVariables = {};
  forgeOptions: FakeForgeOptions = {};
  providerOptions: Partial<FakeProviderOptions> = {};
  behaviourOf: (component: ResolvedComponent) => Behaviour = () => 'gets ready';
  provider!: FakeProvider;
  forge!: FakeForge;
  engine!: Engine;

  start(projects: readonly ProjectId[] = [shop]): this {
    this.forge = new FakeForge(shop, this.repository, {
      disturb: (operation) => this.forgeOptions.disturb?.(operation) ?? Promise.resolve(),
      lose: (sources) => this.forgeOptions.lose?.(sources) ?? { sources, admitted: true },
    });
    this.provider = new FakeProvider(this.infrastructure, {
      now: () => this.clock.now(),
      startMs: 1000,
      behaviourOf: (component) => this.behaviourOf(component),
      disturb: (...args) => this.providerOptions.disturb?.(...args) ?? Promise.resolve(),
      lose: (items) => this.providerOptions.lose?.(items) ?? items,
    });
    this.engine = new Engine({
      projects: new Map(
        projects.map((id) => [
          id,
          {
            forge: this.forge,
            resolver: commitTreeResolver,
            forks: this.forks,
            repository: id,
            team: undefined,
            variables: this.variables,
          },
        ]),
      ),
      configuration: new Configuration({ documents: [] }),
      providers: new Map([[this.provider.name, this.provider]]),
      sections: shippedSections,
      generators: [gitBranchGenerator, gitTagGenerator, prLabelGenerator, prCommentGenerator, autoGenerator],
      clock: this.clock,
      random: () => 0.5,
      workers: 4,
      telemetry: silentTelemetry,
      serverKey: this.serverKey,
      urlOf: (name) => `http://${name}.localhost`,
      ownerOf: () => undefined,
      aliasesOf: () => [],
      deletionBound: defaultDeletionBound,
      guard: guardDeletions,
      record: (event) => void this.events.push(event),
      deliver: (report) => {
        this.reports.push(report.text);
        this.views.push(report.view);
        return Promise.resolve();
      },
      changed: () => {},
    });
    this.engine.start();
    return this;
  }

  /** Lets the loop run for a while: everything that falls due is looked at. */
  async live(seconds: number): Promise<void> {
    await letTimePass(this.engine, this.clock, seconds);
  }

  async restart(projects?: readonly ProjectId[]): Promise<void> {
    await this.engine.close();
    this.start(projects);
  }

  push(name: string, spec = oneService): CommitSha {
    return this.repository.push(branch(name), { 'eph.yaml': spec });
  }

  only(): EnvironmentRecord {
    const all = this.engine.environments();
    expect(all).toHaveLength(1);
    return all[0] as EnvironmentRecord;
  }

  /** What really exists: component → commit that has the traffic. */
  running(): Record<string, string> {
    const found: Record<string, string> = {};
    for (const { identity, slots } of this.infrastructure.environments.values())
      for (const [name, slot] of slots) found[`${identity.source.name}/${name}`] = slot.current?.component.commit ?? 'nothing';
    return found;
  }
}
