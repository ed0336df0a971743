import {
  type CommitSha,
  type EnvironmentId,
  EphError,
  type Event,
  type Policy,
  type ProjectId,
  type ProviderName,
  projectId,
  providerName,
  type ReportView,
  type ResolvedComponent,
  type ServerVariables,
  type SourceRef,
  shippedSections,
} from '@eph/contract';
import { expect } from 'vitest';
import { extrasSection } from '../../contract/spec/section.fake.ts';
import type { ForkMode } from '../desired/forks.ts';
import { gitBranchGenerator, gitTagGenerator } from '../desired/git-ref-triggers.ts';
import { autoGenerator, prCommentGenerator, prLabelGenerator } from '../desired/pull-triggers.ts';
import { FakeResolver } from '../images/resolver.fake.ts';
import type { Resolver } from '../images/resolver.ts';
import { defaultDeletionBound, guardDeletions } from '../plan/guard.ts';
import {
  type Behaviour,
  createFakeInfrastructure,
  type FakeInfrastructure,
  FakeProvider,
  type FakeProviderOptions,
} from '../provider/provider.fake.ts';
import { FakeRenderer } from '../render/renderer.fake.ts';
import type { CommandAnswer, Report } from '../report/reporter.ts';
import { Configuration } from '../source/configuration.ts';
import { FakeForge, type FakeForgeOptions, FakeRepository } from '../source/forge.fake.ts';
import type { Forge } from '../source/forge.ts';
import { ManualClock } from '../time/clock.fake.ts';
import type { ConfiguredProject } from './context.ts';
import { Engine } from './engine.ts';
import { letTimePass } from './passing-time.fake.ts';
import type { EnvironmentRecord } from './record.ts';
import { silentTelemetry } from './telemetry.fake.ts';

export const shop = projectId('shop');
export const branch = (name: string): SourceRef => ({ kind: 'branch', name });

/** One uses the other, so they are made in order. */
export const twoServices = `version: "1.0"
name: shop
process:
  services:
    web:
      command: run web
      entry: true
      env: { API: outputs/api/url }
    api: { command: run api }
`;

export const oneService = `version: "1.0"
name: shop
process:
  services:
    web: { command: run web }
`;

interface HarnessProvider {
  readonly name: string;
  readonly type: string;
}

/** A repository, infrastructures and a clock that outlive the engine, and an engine that can be replaced at any time. */
export class EngineHarness {
  readonly clock = new ManualClock();
  readonly repository = new FakeRepository(shop, () => this.clock.now());
  /** Of the provider `process`. */
  readonly infrastructure = createFakeInfrastructure();
  readonly infrastructures = new Map([['process', this.infrastructure]]);
  /** What ephd's file names, in its order. */
  configured: readonly HarnessProvider[] = [{ name: 'process', type: 'process' }];
  /** No longer in ephd's file. */
  retired: readonly HarnessProvider[] = [];
  readonly events: Event[] = [];
  readonly reports: string[] = [];
  readonly views: ReportView[] = [];
  serverKey = 'key';
  ownerOf: (label: string) => EnvironmentId | undefined = () => undefined;
  forks: ForkMode = 'deny';
  baseBranches: readonly string[] = [];
  readonly answers: CommandAnswer[] = [];
  variables: ServerVariables = {};
  /** Of ephd's file. */
  policy: Policy | undefined;
  forgeOptions: FakeForgeOptions = {};
  providerOptions: Partial<FakeProviderOptions> = {};
  /** Providers that do not answer. */
  readonly away = new Set<string>();
  renderer = new FakeRenderer();
  resolver: Resolver = new FakeResolver();
  behaviourOf: (component: ResolvedComponent) => Behaviour = () => 'gets ready';
  onChange: (id: EnvironmentId) => void = () => {};
  onReport: ((report: Report) => Promise<void>) | undefined;
  readonly failures: string[] = [];
  provider!: FakeProvider;
  providers: ReadonlyMap<ProviderName, FakeProvider> = new Map();
  forge!: FakeForge;
  engine!: Engine;

  start(projects: readonly ProjectId[] = [shop]): this {
    this.forge = new FakeForge(shop, this.repository, {
      disturb: (operation) => this.forgeOptions.disturb?.(operation) ?? Promise.resolve(),
      lose: (sources) => this.forgeOptions.lose?.(sources) ?? { sources, admitted: true },
    });
    const providers = [...this.configured, ...this.retired].map((one) => this.#createProvider(one));
    this.providers = new Map(providers.map((one) => [one.name, one]));
    this.provider = providers[0] ?? this.#createProvider({ name: 'process', type: 'process' });
    this.engine = new Engine({
      projects: this.configure(new Map(projects.map((id) => [id, this.forge]))),
      configuration: new Configuration({ documents: [], policy: this.policy }),
      providers: this.providers,
      retired: new Set(this.retired.map(({ name }) => providerName(name))),
      sections: [...shippedSections, extrasSection],
      generators: [gitBranchGenerator, gitTagGenerator, prLabelGenerator, prCommentGenerator, autoGenerator],
      renderer: this.renderer,
      resolver: { resolve: (request, signal) => this.resolver.resolve(request, signal) },
      clock: this.clock,
      random: () => 0.5,
      workers: 4,
      telemetry: { ...silentTelemetry, failed: (key, { message }) => void this.failures.push(`${key}: ${message}`) },
      serverKey: this.serverKey,
      urlOf: (name) => `http://${name}.localhost`,
      ownerOf: (label) => this.ownerOf(label),
      aliasesOf: () => [],
      deletionBound: defaultDeletionBound,
      guard: guardDeletions,
      record: (event) => void this.events.push(event),
      deliver: (report) => {
        if (this.onReport !== undefined) return this.onReport(report);
        this.reports.push(report.text);
        this.views.push(report.view);
        return Promise.resolve();
      },
      answer: (answer) => {
        this.answers.push(answer);
        return Promise.resolve();
      },
      changed: (id) => this.onChange(id),
    });
    this.engine.start();
    return this;
  }

  /** Projects as ephd configures them. */
  configure(forges: ReadonlyMap<ProjectId, Forge>): ReadonlyMap<ProjectId, ConfiguredProject> {
    const { forks, baseBranches, variables } = this;
    const shared = {
      forks,
      baseBranches,
      trusted: false,
      network: 'shared',
      team: undefined,
      variables,
    } as const;
    return new Map(Array.from(forges, ([id, forge]) => [id, { ...shared, forge, repository: id }]));
  }

  #createProvider({ name, type }: HarnessProvider): FakeProvider {
    return new FakeProvider(this.infrastructureOf(name), {
      name,
      type,
      now: () => this.clock.now(),
      startMs: 1000,
      behaviourOf: (component) => this.behaviourOf(component),
      disturb: (operation, ...args) => {
        if (this.away.has(name)) return Promise.reject(new EphError('provider.unreachable', `${name} does not answer`));
        return this.providerOptions.disturb?.(operation, ...args) ?? Promise.resolve();
      },
      lose: (items) => this.providerOptions.lose?.(items) ?? items,
    });
  }

  infrastructureOf(name: string): FakeInfrastructure {
    const infrastructure = this.infrastructures.get(name) ?? createFakeInfrastructure();
    this.infrastructures.set(name, infrastructure);
    return infrastructure;
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

  record(name: string): EnvironmentRecord {
    const found = this.engine.environments().find(({ ref }) => ref.name === name);
    if (found === undefined) throw new Error(`there is no environment for ${name}`);
    return found;
  }

  /** What exists: component → commit that has the traffic. Components on other providers than `process` are named with it. */
  running(): Record<string, string> {
    const found: Record<string, string> = {};
    for (const [provider, { environments }] of this.infrastructures)
      for (const { identity, slots } of environments.values())
        for (const [name, slot] of slots) {
          const key = `${identity.source.name}/${name}${provider === 'process' ? '' : ` on ${provider}`}`;
          found[key] = slot.current?.component.commit ?? 'nothing';
        }
    return found;
  }
}
