import {
  type Action,
  type ConfigurationView,
  type EnvironmentName,
  type Failure,
  failure,
  type Identity,
  isFromFork,
  type ObservedEnvironment,
  type ParsedSpec,
  type ProviderName,
  printFault,
  type ResolvedComponent,
  type Source,
} from '@eph/contract';
import type { Terms, Wanted } from '../desired/decisions.ts';
import { planUpdate } from '../plan/diff.ts';
import { refuseUntrusted } from '../plan/isolation.ts';
import type { EnvironmentReading } from '../provider/observe.ts';
import type { Findings } from '../status/summarize.ts';
import { computeEnvironment, type EnvironmentInput } from '../values/environment.ts';
import { availableProviders, type EngineContext, projectOf } from './context.ts';
import type { Loop } from './loop.ts';
import { newIdentity } from './names.ts';

/** What one wanted environment should be, and the difference to what is. */
export interface Draft
  extends Pick<Findings, 'actions' | 'specFaults' | 'failures' | 'notices' | 'remarks' | 'staleConfiguration'> {
  readonly identity: Identity;
  readonly components: readonly ResolvedComponent[];
  readonly configuration: ConfigurationView;
  readonly namespaces: readonly string[];
  /** The component that should get the traffic, as `provider/name`. */
  readonly entry: string | undefined;
}

/** A source that wants an environment. */
export interface Request {
  readonly name: EnvironmentName;
  readonly source: Source;
  readonly decision: Wanted;
}

/** From artifacts and values to the plan. It changes nothing but the queue for admission. Faults of the file are findings. */
export const draftEnvironment = async (
  loop: Loop,
  { name, source, decision: { spec, terms } }: Request,
  { observed, incomplete }: EnvironmentReading,
  signal: AbortSignal,
): Promise<Draft> => {
  const { context, platform, admission } = loop;
  await platform.untilConfigured(signal);
  const configuration = platform.inForce(source.project);
  const identity = observed?.identity ?? newIdentity(context, name, source);
  const draft: Draft = {
    identity,
    components: [],
    actions: [],
    specFaults: [],
    failures: [],
    notices:
      spec === 'missing' || !spec.ok ? [] : spec.notices.map((notice) => printFault({ file: spec.places.file, ...notice })),
    remarks: [],
    staleConfiguration: configuration.state === 'last-good' ? configuration.faults[0] : undefined,
    configuration,
    namespaces: [],
    entry: undefined,
  };
  if (spec === 'missing') return { ...draft, specFaults: [withoutSpec(source)] };
  if (!spec.ok) return { ...draft, specFaults: spec.faults.map((fault) => failure('spec.invalid', printFault(fault))) };
  if (!('layers' in configuration)) return { ...draft, failures: configuration.faults };
  const pause = await findPause(context, source, terms, observed, signal);
  if (pause !== undefined) return { ...draft, ...pause };
  const artifact = await projectOf(context, source.project).resolver.resolve(source, signal);
  signal.throwIfAborted();
  if (artifact.state === 'missing') {
    const { code, message } = artifact.fault;
    return { ...draft, actions: [{ type: 'wait', code, reason: message }] };
  }
  const values = computeEnvironment({
    ...environmentInput(loop, spec, source, identity, observed),
    ...(terms?.isolated === true ? { variables: {} } : {}),
    configuration,
    artifact: artifact.artifact,
  });
  const { faults, obstacles, namespaces, remarks } = values;
  const drafted = { ...draft, namespaces, remarks };
  if (faults.length > 0) return { ...drafted, specFaults: faults };
  const away = values.providers.flatMap((provider) => incomplete.get(provider) ?? []);
  if (away.length > 0) return { ...drafted, failures: away };
  const used = values.providers.flatMap((name) => context.providers.get(name) ?? []);
  const untrusted = refuseUntrusted(source, projectOf(context, source.project), used);
  if (untrusted.length > 0) return { ...drafted, failures: untrusted };
  if (obstacles.length > 0) {
    if (observed === undefined) admission.queue(identity.id);
    return { ...drafted, actions: obstacles.map(({ code, message }) => ({ type: 'wait', code, reason: message })) };
  }
  admission.admit(identity.id);
  const components = values.components.flatMap((one) => (one.state === 'resolved' ? [one.component] : []));
  const entry = components.find((one) => one.entry);
  const retired = isReleased(loop, identity) ? none : context.retired;
  return {
    ...drafted,
    components,
    entry: entry && `${entry.provider}/${entry.name}`,
    actions: planUpdate(values.components, observed, { now: context.clock.now(), retired }),
  };
};

const none: ReadonlySet<ProviderName> = new Set();

const isReleased = ({ records }: Loop, { project, id }: Identity): boolean => records.project(project).released.has(id);

const withoutSpec = ({ commit }: Source): Failure =>
  failure('spec.missing', `there is no eph.yaml at commit ${commit.slice(0, 12)}; add one`);

/** What people or their checks ask to wait for; undefined when it can go on. */
const findPause = async (
  context: EngineContext,
  source: Source,
  terms: Terms | undefined,
  observed: ObservedEnvironment | undefined,
  signal: AbortSignal,
): Promise<Pick<Draft, 'actions' | 'failures'> | undefined> => {
  if (terms?.paused === true)
    return { failures: [], actions: [{ type: 'wait', code: 'plan.paused', reason: 'a label asks to leave it as it is' }] };
  const { pulls } = projectOf(context, source.project).forge;
  // Checks are not asked again about what already runs.
  const runs = observed?.components.some(({ current, next }) => (next ?? current)?.commit === source.commit) === true;
  if (terms === undefined || terms.checks.length === 0 || pulls === undefined || runs) return undefined;
  const { items, complete, faults } = await pulls.checks(source.commit, signal);
  signal.throwIfAborted();
  const actions = terms.checks.flatMap((name): readonly Action[] => {
    const state = items.find((check) => check.name === name)?.state;
    if (state === 'success') return [];
    const reason = state === 'failure' ? `check ${name} failed` : `check ${name} has not succeeded yet`;
    return [{ type: 'wait', code: 'source.checks', reason }];
  });
  return actions.length === 0 ? undefined : { failures: complete ? [] : faults, actions };
};

/** What the values of an environment are computed from, apart from the configuration in force and its artifact. */
export const environmentInput = (
  { context, references, admission, values }: Loop,
  parsed: ParsedSpec & { ok: true },
  source: Source,
  identity: Identity,
  observed: ObservedEnvironment | undefined,
): Omit<EnvironmentInput, 'artifact' | 'configuration'> => ({
  parsed,
  source,
  identity,
  url: context.urlOf(identity.name),
  observed: observed?.components ?? [],
  aliases: context.aliasesOf(identity.id),
  variables: projectOf(context, source.project).variables,
  providers: availableProviders(context),
  hasOwnNetwork: (name) => hasOwnNetwork(context, source, name),
  outputsOf: (namespace) => references.published(namespace, identity.id),
  countOthers: () => (observed === undefined ? admission.countOthers(identity.id, source.project) : undefined),
  shared: values,
});

const hasOwnNetwork = (context: EngineContext, source: Source, provider: ProviderName): boolean => {
  if (isFromFork(source) || projectOf(context, source.project).network === 'own') return true;
  const isolation = context.providers.get(provider)?.isolation;
  return isolation?.state === 'sandboxed' && isolation.network === 'own';
};
