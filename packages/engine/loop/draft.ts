import {
  type Action,
  type Check,
  type ConfigurationView,
  completeReading,
  type EnvironmentName,
  EphError,
  type Failure,
  failure,
  type Identity,
  isFromFork,
  type ObservedEnvironment,
  type ParsedSpec,
  type ProviderName,
  printFault,
  type Reading,
  type ResolvedComponent,
  type Source,
} from '@eph/contract';
import type { Terms, Wanted } from '../desired/decisions.ts';
import { planUpdate } from '../plan/diff.ts';
import { refuseUntrusted } from '../plan/isolation.ts';
import type { EnvironmentReading } from '../provider/observe.ts';
import type { Findings } from '../status/summarize.ts';
import { computeEnvironment, type EnvironmentInput, findAskedImages } from '../values/environment.ts';
import { availableProviders, type EngineContext, projectOf } from './context.ts';
import { findImages, once } from './find-images.ts';
import type { Sought } from './image-memory.ts';
import type { Loop } from './loop.ts';
import { newIdentity } from './names.ts';
import type { DeclaredComponent } from './record.ts';
import { renderFile } from './render-file.ts';

/** What one wanted environment should be, and the difference to what is. */
export interface Draft
  extends Pick<Findings, 'actions' | 'specFaults' | 'failures' | 'notices' | 'remarks' | 'staleConfiguration' | 'images'> {
  readonly identity: Identity;
  readonly components: readonly ResolvedComponent[];
  /** All of its file, with those that were rendered for it. */
  readonly declared: readonly DeclaredComponent[];
  readonly configuration: ConfigurationView;
  readonly namespaces: readonly string[];
  /** The component that should get the traffic, as `provider/name`. */
  readonly entry: string | undefined;
  /** When to look for its images again, in milliseconds. */
  readonly lookAgainAt: number | undefined;
  /** To be remembered where more than a plan comes of it. Undefined where no image was looked for. */
  readonly sought: Sought | undefined;
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
    declared: spec !== 'missing' && spec.ok ? spec.components : [],
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
    images: undefined,
    lookAgainAt: undefined,
    sought: undefined,
  };
  if (spec === 'missing') return { ...draft, specFaults: [withoutSpec(source)] };
  if (!spec.ok) return { ...draft, specFaults: spec.faults.map((fault) => failure('spec.invalid', printFault(fault))) };
  if (!('layers' in configuration)) return { ...draft, failures: configuration.faults };
  if (terms?.paused === true) return { ...draft, actions: [paused] };
  const rendered = await renderFile(loop, spec, source, observed?.components ?? [], signal);
  if (rendered.state === 'unknown') return { ...draft, failures: [rendered.failure] };
  if (rendered.state === 'refused') return { ...draft, specFaults: rendered.faults };
  const { parsed } = rendered;
  const declared = parsed === spec ? spec.components : parsed.components.map(({ name, kind }) => ({ name, kind }));
  const input = {
    ...environmentInput(loop, parsed, source, identity, observed),
    ...(terms?.isolated === true ? { variables: {} } : {}),
    configuration,
  };
  const checks = readChecksOnce(context, source, terms, signal);
  const search = { environment: identity.id, source, terms, triggers: parsed.triggers, configuration };
  const asked = findAskedImages(input);
  const images = await findImages(
    loop,
    { ...search, asked, observed: input.observed, checks: async () => wholeOf(await checks()) },
    signal,
  );
  const values = computeEnvironment({ ...input, images: images.byComponent });
  const { faults, obstacles, namespaces } = values;
  const remarks = [...values.remarks, ...images.remarks, ...rendered.notices];
  const { fact, lookAgainAt, sought } = images;
  const drafted = { ...draft, declared, namespaces, remarks, images: fact, lookAgainAt, sought };
  if (faults.length > 0) return { ...drafted, specFaults: faults };
  if (images.failures.length > 0) return { ...drafted, failures: images.failures };
  const away = values.providers.flatMap((provider) => incomplete.get(provider) ?? []);
  if (away.length > 0) return { ...drafted, failures: away };
  const used = values.providers.flatMap((name) => context.providers.get(name) ?? []);
  const untrusted = refuseUntrusted(source, projectOf(context, source.project), used);
  if (untrusted.length > 0) return { ...drafted, failures: untrusted };
  if (obstacles.length > 0) {
    if (observed === undefined) admission.queue(identity.id);
    return { ...drafted, actions: obstacles.map(({ code, message }) => ({ type: 'wait', code, reason: message })) };
  }
  const retired = isReleased(loop, identity) ? none : context.retired;
  const actions = planUpdate(values.components, observed, { now: context.clock.now(), retired });
  const pause = actions.some(isHeldBack) ? await findPause(terms, checks) : undefined;
  if (pause !== undefined) return { ...drafted, ...pause };
  admission.admit(identity.id);
  const components = values.components.flatMap((one) => (one.state === 'resolved' ? [one.component] : []));
  const entry = components.find((one) => one.entry);
  return { ...drafted, components, entry: entry && `${entry.provider}/${entry.name}`, actions };
};

const none: ReadonlySet<ProviderName> = new Set();

const isReleased = ({ records }: Loop, { project, id }: Identity): boolean => records.project(project).released.has(id);

const withoutSpec = ({ commit }: Source): Failure =>
  failure('spec.missing', `there is no eph.yaml at commit ${commit.slice(0, 12)}; add one`);

const paused: Action = { type: 'wait', code: 'plan.paused', reason: 'a label asks to leave it as it is' };

/** Checks hold back what would change something, and not what is as it should be. */
const isHeldBack = (action: Action): boolean =>
  action.type === 'create' || action.type === 'update' || (action.type === 'wait' && action.code.startsWith('artifact.'));

type ReadChecks = () => Promise<Reading<Check>>;

/** The checks that its trigger waits for, read when first asked for. */
const readChecksOnce = (context: EngineContext, source: Source, terms: Terms | undefined, signal: AbortSignal): ReadChecks => {
  const { pulls } = projectOf(context, source.project).forge;
  const names = pulls === undefined ? [] : (terms?.checks ?? []);
  return once(async () => {
    if (pulls === undefined || names.length === 0) return completeReading([]);
    const reading = await pulls.checks(source.commit, signal);
    signal.throwIfAborted();
    return { ...reading, items: reading.items.filter(({ name }) => names.includes(name)) };
  });
};

/** A check that was not read may name another image than what would be found without it. */
const wholeOf = <T>({ items, complete, faults: [fault] }: Reading<T>): readonly T[] => {
  if (complete) return items;
  const { code, message, retryAfterMs } = fault ?? failure('forge.incomplete', 'not all checks could be read');
  throw new EphError(code, message, { retryAfterMs });
};

/** What people's checks ask to wait for; undefined when it can go on. */
const findPause = async (
  terms: Terms | undefined,
  checks: ReadChecks,
): Promise<Pick<Draft, 'actions' | 'failures'> | undefined> => {
  if (terms === undefined || terms.checks.length === 0) return undefined;
  const { items, complete, faults } = await checks();
  const actions = terms.checks.flatMap((name): readonly Action[] => {
    const state = items.find((check) => check.name === name)?.state;
    if (state === 'success') return [];
    const reason = state === 'failure' ? `check ${name} failed` : `check ${name} has not succeeded yet`;
    return [{ type: 'wait', code: 'source.checks', reason }];
  });
  return actions.length === 0 ? undefined : { failures: complete ? [] : faults, actions };
};

/** What the values of an environment are computed from, apart from the configuration in force and its images. */
export const environmentInput = (
  { context, references, admission, values }: Loop,
  parsed: ParsedSpec & { ok: true },
  source: Source,
  identity: Identity,
  observed: ObservedEnvironment | undefined,
): Omit<EnvironmentInput, 'configuration'> => ({
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
  images: new Map(),
});

const hasOwnNetwork = (context: EngineContext, source: Source, provider: ProviderName): boolean => {
  if (isFromFork(source) || projectOf(context, source.project).network === 'own') return true;
  const isolation = context.providers.get(provider)?.isolation;
  return isolation?.state === 'sandboxed' && isolation.network === 'own';
};
