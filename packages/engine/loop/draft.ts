import {
  type Action,
  type ConfigurationView,
  type ConfigView,
  type EnvironmentName,
  EphError,
  type Failure,
  failure,
  type Identity,
  type ObservedEnvironment,
  type ParsedSpec,
  type ProjectId,
  printFault,
  type ResolvedComponent,
  type Source,
} from '@eph/contract';
import { planUpdate } from '../plan/diff.ts';
import type { Findings } from '../status/summarize.ts';
import { computeEnvironment, type EnvironmentInput, explainEnvironment } from '../values/environment.ts';
import { SharedValues } from '../values/shared-values.ts';
import type { Admission } from './admission.ts';
import type { Decision, EnvironmentRecord, Terms } from './memory.ts';
import { newIdentity } from './names.ts';
import type { Neighbours } from './neighbours.ts';
import { projectOf, type World } from './world.ts';

/** What one wanted environment should be, and the difference to what is. */
export interface Draft extends Remarks {
  readonly identity: Identity;
  readonly components: readonly ResolvedComponent[];
  readonly actions: readonly Action[];
  readonly specFaults: readonly Failure[];
  /** What keeps it from being worked out, and is no fault of the file. */
  readonly failures: readonly Failure[];
  readonly told: ConfigurationView;
  readonly namespaces: readonly string[];
}

/** What is worth knowing beside the outcome. */
export type Remarks = Pick<Findings, 'notices' | 'staleConfiguration'>;

/** What `eph config explain` says about one environment. */
export type ExplainedValues = Pick<
  ConfigView,
  'configuration' | 'notices' | 'components' | 'violations' | 'problems' | 'remarks'
>;

/** Who else has a say in an environment. */
interface Surroundings {
  readonly admission: Admission;
  readonly neighbours: Neighbours;
  /** Until it is over, nobody knows how anything should be. */
  readonly untilConfigured: (signal: AbortSignal) => Promise<void>;
}

/** From values and artifacts to the plan: what one wanted environment should be. It changes nothing but the queue for room. */
export class Drafts {
  readonly #world: World;
  readonly #admission: Admission;
  readonly #neighbours: Neighbours;
  readonly #untilConfigured: Surroundings['untilConfigured'];
  readonly #shared = new SharedValues();

  constructor(world: World, { admission, neighbours, untilConfigured }: Surroundings) {
    this.#world = world;
    this.#admission = admission;
    this.#neighbours = neighbours;
    this.#untilConfigured = untilConfigured;
  }

  /** From the values and the artifacts to the difference. Faults of the file are findings, not errors. */
  async draft(
    name: EnvironmentName,
    source: Source,
    { spec, terms }: Decision & { state: 'wanted' },
    seen: ObservedEnvironment | undefined,
    signal: AbortSignal,
  ): Promise<Draft> {
    await this.#untilConfigured(signal);
    const told = this.configurationOf(source.project);
    const identity = seen?.identity ?? newIdentity(this.#world, name, source);
    const draft: Draft = {
      identity,
      components: [],
      actions: [],
      specFaults: [],
      failures: [],
      notices:
        spec === 'missing' || !spec.ok ? [] : spec.notices.map((notice) => printFault({ file: spec.places.file, ...notice })),
      staleConfiguration: told.state === 'last-good' ? told.faults[0] : undefined,
      told,
      namespaces: [],
    };
    if (spec === 'missing')
      return {
        ...draft,
        specFaults: [failure('spec.missing', `there is no eph.yaml at commit ${source.commit.slice(0, 12)}; add one`)],
      };
    if (!spec.ok) return { ...draft, specFaults: spec.faults.map((fault) => failure('spec.invalid', printFault(fault))) };
    if (!('layers' in told)) return { ...draft, failures: told.faults };
    const patience = await this.#findPatience(source, terms, seen, signal);
    if (patience !== undefined) return { ...draft, ...patience };
    const artifact = await projectOf(this.#world, source.project).resolver.resolve(source, signal);
    if (artifact.state === 'missing') {
      const { code, message } = artifact.fault;
      return { ...draft, actions: [{ type: 'wait', code, reason: message }] };
    }
    const {
      components: desired,
      faults,
      obstacles,
      namespaces,
    } = computeEnvironment({
      ...this.#environmentInput(spec, source, identity, seen),
      ...(terms?.isolated === true ? { variables: {} } : {}),
      configuration: told,
      artifact: artifact.artifact,
    });
    if (faults.length > 0) return { ...draft, namespaces, specFaults: faults };
    if (obstacles.length > 0) {
      if (seen === undefined) this.#admission.queue(identity.id);
      return {
        ...draft,
        namespaces,
        actions: obstacles.map(({ code, message }) => ({ type: 'wait', code, reason: message })),
      };
    }
    this.#admission.admit(identity.id);
    const components = desired.flatMap((one) => (one.state === 'resolved' ? [one.component] : []));
    return { ...draft, namespaces, components, actions: planUpdate(desired, seen, this.#world.clock.now()) };
  }

  /** Where the values of an environment come from. Throws where that cannot be said. */
  async explainValues(known: EnvironmentRecord | undefined, signal: AbortSignal): Promise<ExplainedValues> {
    const { decision, source } = known ?? {};
    const parsed = decision?.state === 'wanted' && decision.spec !== 'missing' ? decision.spec : undefined;
    if (known === undefined || source === undefined || parsed?.ok !== true)
      throw new EphError(
        'api.conflict',
        `eph.yaml cannot be understood: ${known?.status?.summary ?? 'it has not been read yet'}`,
      );
    await this.#untilConfigured(signal);
    const told = this.configurationOf(known.project);
    const { state, commit, faults } = told;
    const configuration = { state, commit, fault: faults[0]?.message ?? null };
    const notices = [...parsed.notices];
    if (!('layers' in told)) return { configuration, notices, components: [], violations: [], problems: [], remarks: [] };
    const artifact = await projectOf(this.#world, known.project).resolver.resolve(source, signal);
    const identity = known.observed?.identity ?? newIdentity(this.#world, known.name, source);
    const input = this.#environmentInput(parsed, source, identity, known.observed);
    const explained = explainEnvironment({
      ...input,
      configuration: told,
      artifact: artifact.state === 'missing' ? '' : artifact.artifact,
    });
    return { configuration, notices, ...explained };
  }

  /** What people or their checks ask to wait for; undefined when it can go on. */
  async #findPatience(
    source: Source,
    terms: Terms | undefined,
    seen: ObservedEnvironment | undefined,
    signal: AbortSignal,
  ): Promise<Pick<Draft, 'actions' | 'failures'> | undefined> {
    if (terms?.paused === true)
      return { failures: [], actions: [{ type: 'wait', code: 'plan.paused', reason: 'a label asks to leave it as it is' }] };
    const { pulls } = projectOf(this.#world, source.project).forge;
    // Once it runs, its checks have had their say.
    const runs = seen?.components.some(({ current, next }) => (next ?? current)?.commit === source.commit) === true;
    if (terms === undefined || terms.checks.length === 0 || pulls === undefined || runs) return undefined;
    const { items, complete, faults } = await pulls.checks(source.commit, signal);
    const waits = terms.checks.flatMap((name) => {
      const state = items.find((check) => check.name === name)?.state;
      return state === 'success' ? [] : [state === 'failure' ? `check ${name} failed` : `check ${name} has not succeeded yet`];
    });
    if (waits.length === 0) return undefined;
    return {
      failures: complete ? [] : faults,
      actions: waits.map((reason) => ({ type: 'wait', code: 'source.checks', reason })),
    };
  }

  #environmentInput(
    parsed: ParsedSpec & { ok: true },
    source: Source,
    identity: Identity,
    seen: ObservedEnvironment | undefined,
  ): Omit<EnvironmentInput, 'artifact' | 'configuration'> {
    const { variables } = projectOf(this.#world, source.project);
    return {
      parsed,
      source,
      identity,
      url: this.#world.urlOf(identity.name),
      observed: seen?.components ?? [],
      aliases: this.#world.aliasesOf(identity.id),
      variables,
      providers: Array.from(this.#world.providers.keys(), (name) => ({ name, type: name, holdsSecrets: false })),
      outputsOf: (namespace) => this.#neighbours.published(namespace, identity.id),
      countOthers: () => (seen === undefined ? this.#admission.countOthers(identity.id, source.project) : undefined),
      shared: this.#shared,
    };
  }

  configurationOf(id: ProjectId): ConfigurationView {
    return this.#world.configuration.layersFor(projectOf(this.#world, id).repository, id);
  }
}
