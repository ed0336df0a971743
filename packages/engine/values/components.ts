import {
  type ComponentName,
  type ConfigurationLayers,
  type DesiredComponent,
  EphError,
  type Failure,
  failure,
  type Identity,
  isEphError,
  isFromFork,
  type JsonMap,
  type JsonValue,
  type ObservedComponent,
  type PinnedImages,
  type ProviderName,
  type ProviderObjects,
  type ResolvedComponent,
  resolveVariables,
  type ServerVariables,
  type Source,
  type TemplateValues,
  templateKeys,
} from '@eph/contract';
import type { SpecFile } from './component-layers.ts';
import { distinct, type MergedComponent } from './merged-component.ts';
import type { ChosenProviders } from './providers.ts';
import type { ForeignOutputs, Outputs } from './references.ts';
import { computeRevision } from './revision.ts';
import { isMade, type SharedComponent, type SharedInput, SharedValues } from './shared-values.ts';
import { renderTemplate, sourceValues } from './templates.ts';
import { type ResolvedVariable, resolveVariable, type VariableContext } from './variables.ts';
import { imageSlots } from './wanted-images.ts';

export interface ComponentInput {
  readonly file: SpecFile;
  readonly source: Source;
  readonly identity: Identity;
  /** Other names that lead to this environment. */
  readonly aliases?: readonly string[];
  readonly url: string;
  /** What was found for the images that components name. */
  readonly images: ReadonlyMap<ComponentName, ComponentImages>;
  /** Of all providers: a component that moves is there twice. */
  readonly observed: readonly ObservedComponent[];
  readonly layers: ConfigurationLayers;
  /** What the operator lets this project use. */
  readonly variables: ServerVariables;
  /** What the platform adds for templates, such as `registry`. */
  readonly platformValues?: TemplateValues;
  /** What another environment publishes, by its name or alias; undefined when there is none. */
  readonly outputsOf: (namespace: string) => ForeignOutputs | undefined;
  readonly providers: ChosenProviders;
  /** Whether what this provider runs gets a network of its own. */
  readonly hasOwnNetwork: (provider: ProviderName) => boolean;
  /** What policy lets the environment use. */
  readonly budget?: NonNullable<ResolvedComponent['budget']> | undefined;
}

/** The images of one component, or why it has to wait for one. */
export type ComponentImages =
  | {
      readonly state: 'found';
      readonly images: PinnedImages;
      /** The name of the image in each place that names one, such as `image`. */
      readonly slots: { readonly [slot: string]: string };
    }
  | { readonly state: 'missing'; readonly fault: Failure; readonly until?: string };

export interface ComputedComponents {
  /** In the order of need. Empty when there are faults. */
  readonly components: readonly DesiredComponent[];
  /** What a person must mend before anything may change. */
  readonly faults: readonly Failure[];
  /** All of the file after all layers, with those that no provider makes yet. */
  readonly merged: readonly MergedComponent[];
  /** Other environments that this one refers to. */
  readonly namespaces: readonly string[];
}

/** Resolves components against what is observed now. A reference that cannot resolve yet makes its component wait. */
export const computeComponents = (input: ComponentInput, shared = new SharedValues()): ComputedComponents => {
  const { components, faults, merged } = shared.resolve(input.file, sharedInput(input));
  const context = createVariableContext(input, merged);
  const resolved = components.map((component) => resolveComponent(component, context));
  const found = distinct([...faults, ...resolved.flatMap(faultsOf)]);
  return {
    components: found.length > 0 ? [] : computeDesired(input, context, resolved),
    faults: found,
    merged,
    namespaces: [...new Set(components.flatMap(namespacesOf))],
  };
};

export const sharedInput = ({ source, layers, providers }: ComponentInput): SharedInput => ({
  commit: source.commit,
  configuration: layers,
  choice: providers.choice,
});

export const createVariableContext = (input: ComponentInput, merged: readonly MergedComponent[]): VariableContext => {
  const { file, source, identity, aliases = [], url, layers, variables, platformValues, providers } = input;
  const copies = Map.groupBy(input.observed, ({ name }) => name);
  const components = merged.filter((one) => isMade(one) && one.declared.preparation !== true);
  const made = new Map(components.map(({ declared }) => [declared.name, providers.of(declared)]));
  const template: TemplateValues = {
    ...platformValues,
    ...sourceValues(source),
    project: file.spec.name,
    name: identity.name,
    environment_name: identity.name,
    environment_url: url,
  };
  return {
    server: variables,
    template,
    builtIn: { ...template, project: source.project },
    references: {
      ownNames: [identity.name, ...aliases],
      components: made,
      outputsOf: (component) => copyInUse(copies.get(component), made.get(component)?.name)?.outputs ?? {},
      platform: layers.platform.outputs,
      foreign: input.outputsOf,
      providerOf: (component) => made.get(component),
    },
  };
};

/** The copy whose outputs others use: one that moves serves from where it was until the new copy is ready. */
const copyInUse = (
  copies: readonly ObservedComponent[] = [],
  provider: ProviderName | undefined,
): ObservedComponent | undefined => {
  const own = copies.find((copy) => copy.provider === provider);
  if (own !== undefined && isReady(own)) return own;
  return copies.find(isReady) ?? own ?? copies[0];
};

const isReady = ({ current }: ObservedComponent): boolean => current?.health === 'ready';

interface Resolved extends SharedComponent {
  readonly found: readonly { readonly name: string; readonly variable: ResolvedVariable }[];
}

const resolveComponent = (component: SharedComponent, context: VariableContext): Resolved => ({
  ...component,
  found: component.variables.map((variable) => ({ name: variable.name, variable: resolveVariable(variable, context) })),
});

const faultsOf = ({ found }: Resolved): readonly Failure[] =>
  found.flatMap(({ variable }) => (variable.state === 'faulty' ? [variable.fault] : []));

/** What a component needs to know of others. */
interface DesiredInput extends ComponentInput {
  readonly claims: readonly JsonMap[];
}

const computeDesired = (
  given: ComponentInput,
  context: VariableContext,
  components: readonly Resolved[],
): readonly DesiredComponent[] => {
  const input: DesiredInput = { ...given, claims: findClaims(given.file) };
  const copies = Map.groupBy(input.observed, ({ name }) => name);
  const desired = new Map<ComponentName, DesiredComponent>();
  const [preparations, running] = partition(components, ({ merged }) => merged.declared.preparation === true);
  for (const component of running.map((one) => prepared(one, preparations))) {
    const provider = input.providers.of(component.merged.declared)?.name;
    if (provider === undefined) continue;
    const { name } = component;
    const images = imagesOf(input, component);
    const reason = findObstacle(component, desired, copies);
    if (images.state === 'missing') {
      const { fault, until } = images;
      desired.set(name, { state: 'waiting', name, provider, code: fault.code, reason: fault.message, ...(until && { until }) });
    } else if (reason !== undefined) desired.set(name, { state: 'waiting', name, provider, code: 'reference.waiting', reason });
    else desired.set(name, resolveDesired(input, context, component, provider, images));
  }
  return [...desired.values()];
};

const findClaims = ({ components }: SpecFile): readonly JsonMap[] =>
  components.flatMap(({ rendered }) =>
    (rendered?.objects ?? []).flatMap(({ object }) => (object['kind'] === 'PersistentVolumeClaim' ? [object] : [])),
  );

const imagesOf = ({ images }: ComponentInput, { name, merged }: Resolved): ComponentImages => {
  if (imageSlots(merged.values).length === 0) return { state: 'found', images: {}, slots: {} };
  return (
    images.get(name) ?? { state: 'missing', fault: failure('artifact.missing', `nobody has looked for the image of ${name}`) }
  );
};

const partition = <T>(all: readonly T[], holds: (one: T) => boolean): readonly [readonly T[], readonly T[]] => [
  all.filter(holds),
  all.filter((one) => !holds(one)),
];

interface Prepared extends Resolved {
  /** What runs before it, for all components of its section. */
  readonly preparation: Resolved | undefined;
}

const prepared = (component: Resolved, preparations: readonly Resolved[]): Prepared => {
  const { section } = component.merged.declared;
  return { ...component, preparation: preparations.find(({ merged }) => merged.declared.section === section) };
};

/** A name that cannot be made for this source keeps one component waiting, and says so. */
const resolveDesired = (...args: Parameters<typeof toDesired>): DesiredComponent => {
  try {
    return toDesired(...args);
  } catch (error) {
    if (!isEphError(error)) throw error;
    const [, , { name }, provider] = args;
    return { state: 'waiting', name, provider, code: error.code, reason: error.message };
  }
};

const toDesired = (
  input: DesiredInput,
  context: VariableContext,
  component: Prepared,
  provider: ProviderName,
  found: ComponentImages & { readonly state: 'found' },
): DesiredComponent => {
  const { declared } = component.merged;
  const { preparation } = component;
  const { images } = found;
  const { values, generated } = providerValues(component, found, context);
  const body = {
    name: component.name,
    provider,
    artifact: declared.tree === true ? `tree:${input.source.commit}` : null,
    entry: declared.entry === true,
    dependsOn: [...component.needs.keys()].toSorted(),
    values: { ...values, ...(preparation && { prepare: providerValues(preparation, noImages, context).values }) },
    ...(isFromFork(input.source) && { fromFork: true as const }),
    ...(input.hasOwnNetwork(provider) && { network: { reaches: findReachedPorts(allFound(component)) } }),
  };
  const { budget, source, claims } = input;
  const interruption = declared.kind.interruption?.(values, claims);
  const references = Object.fromEntries(Object.entries(images).map(([name, { reference }]) => [name, reference]));
  const hasImages = Object.keys(images).length > 0;
  const revision = computeRevision(hasImages ? { ...body, images: references } : body);
  return {
    state: 'resolved',
    component: {
      ...body,
      commit: source.commit,
      ...(generated && { generated }),
      ...(hasImages && { images }),
      ...(interruption !== undefined && { interruption }),
      revision,
      ...(budget && { budget }),
    },
  };
};

const allFound = ({ found, preparation }: Prepared): Resolved['found'] => [...found, ...(preparation?.found ?? [])];

/** Only what references name: whoever writes the file could otherwise choose any port. */
const findReachedPorts = (found: Resolved['found']): readonly number[] => {
  const ports = found.flatMap(({ variable }) => (variable.state === 'literal' ? loopbackPorts(variable.outputs ?? {}) : []));
  return [...new Set(ports)].toSorted((a, b) => a - b);
};

const loopbackPorts = ({ url, host, port }: Outputs): readonly number[] => {
  const address = URL.parse(url ?? `tcp://${host}:${port}`);
  const isLoopback = address !== null && ['127.0.0.1', 'localhost', '[::1]'].includes(address.hostname);
  return isLoopback && address.port !== '' ? [Number(address.port)] : [];
};

const noImages: ComponentImages & { readonly state: 'found' } = { state: 'found', images: {}, slots: {} };

const providerValues = (
  { name, merged, values, found }: Resolved,
  { images, slots }: ComponentImages & { readonly state: 'found' },
  { server, template }: VariableContext,
): ProviderObjects => {
  const { kind, rendered } = merged.declared;
  const plain = found.flatMap(({ name: variable, variable: resolved }): [string, JsonValue][] => {
    if (resolved.state === 'private') return [[variable, resolved.value]];
    return resolved.state === 'literal' && resolved.late === undefined ? [[variable, resolved.value]] : [];
  });
  // Providers write down what they are given, so of a secret they are given the name. The URL moves no revision.
  const late = found.flatMap(({ name: variable, variable: resolved }): [string, JsonValue][] =>
    resolved.state === 'literal' && resolved.late !== undefined ? [[variable, resolved.late]] : [],
  );
  const env = Object.fromEntries(plain);
  const secretEnv = Object.fromEntries(late);
  if (rendered !== undefined && kind.toObjects !== undefined)
    return kind.toObjects({
      name,
      rendered,
      values,
      env,
      secretEnv,
      images: Object.fromEntries(
        Object.entries(slots).flatMap(([slot, image]) => {
          const reference = images[image]?.reference;
          return reference === undefined ? [] : [[slot, reference]];
        }),
      ),
      fill(key, text) {
        if (templateKeys[key].target !== 'value')
          return renderTemplate(text, { ...nameParts(template), ...template }, 'kubernetes-name');
        const filled = resolveVariables(text, server, template);
        if (filled.secret) throw new EphError('spec.invalid', `${key}: a secret names nothing`);
        return filled.text;
      },
    });
  const own = kind.toProviderValues?.(values) ?? values;
  if (found.length === 0) return { values: own };
  return { values: { ...own, env, ...(late.length === 0 ? {} : { secretEnv }) } };
};

/** The parts of its name that nobody can guess, where it was made of them. */
const nameParts = ({ environment_name: name = '' }: TemplateValues): TemplateValues => {
  const [, words, number] = /([a-z]+-[a-z]+)-(\d{4,})$/.exec(name) ?? [];
  return { ...(words !== undefined && { words }), ...(number !== undefined && { number }) };
};

type Copies = ReadonlyMap<ComponentName, readonly ObservedComponent[]>;

const findObstacle = (
  component: Prepared,
  desired: ReadonlyMap<ComponentName, DesiredComponent>,
  copies: Copies,
): string | undefined => {
  for (const [needed, why] of component.needs) {
    const obstacle = obstacleTo(needed, desired.get(needed), copies.get(needed));
    if (obstacle !== undefined) return `${why}: ${obstacle}`;
  }
  for (const { variable } of allFound(component)) if (variable.state === 'waiting') return variable.reason;
  return undefined;
};

/**
 * Why a needed component cannot be used yet. It has to run the version this very commit asks for: otherwise a dependant would first be
 * started against the old version, and again against the new one. While it moves to another provider, its copy there is used.
 */
const obstacleTo = (
  name: ComponentName,
  desired: DesiredComponent | undefined,
  copies: readonly ObservedComponent[] | undefined,
): string | undefined => {
  if (desired === undefined || desired.state === 'waiting') return `${name} waits itself`;
  const { provider, revision } = desired.component;
  const used = copyInUse(copies, provider);
  if (used !== undefined && used.provider !== provider) return isReady(used) ? undefined : `${name} is not ready yet`;
  if (used?.current?.revision === revision) return isReady(used) ? undefined : `${name} is not ready: ${used.current.message}`;
  return used?.next?.health === 'failing' ? `${name} does not get ready: ${used.next.message}` : `${name} is not ready yet`;
};

const namespacesOf = ({ variables }: SharedComponent): readonly string[] =>
  variables.flatMap(({ content }) => {
    const namespace = content.kind === 'reference' ? content.reference.namespace : undefined;
    return namespace === undefined || namespace === 'platform' ? [] : [namespace];
  });
