import {
  type ComponentName,
  componentName,
  type DesiredComponent,
  type Failure,
  failure,
  isFromFork,
  type ParsedSpec,
  type Policy,
  type ProviderName,
  type PullSecrets,
  parseQuantity,
  printFault,
  type TemplateValues,
  toFailure,
  type UsableConfiguration,
  type WantedImage,
} from '@eph/contract';
import { isInRegistry } from './allow-lists.ts';
import { type ComponentInput, computeComponents, sharedInput } from './components.ts';
import { findStrayOverrides } from './configuration.ts';
import { type ExplainedComponent, explainComponents } from './explain.ts';
import type { MergedComponent } from './merged-component.ts';
import { findForbiddenObjects } from './objects.ts';
import { printPlace } from './origin.ts';
import { checkPolicy, type PolicyFacts, type Violation } from './policy.ts';
import { policyFactsOf } from './policy-facts.ts';
import { type AvailableProvider, type ChosenProviders, chooseProviders } from './providers.ts';
import { instead } from './references.ts';
import { isMade, type SharedValues } from './shared-values.ts';
import { renderTemplate, sourceValues } from './templates.ts';
import { findWantedImages, imageSlots } from './wanted-images.ts';

type SoundSpec = ParsedSpec & { readonly ok: true };

export interface EnvironmentInput extends Omit<ComponentInput, 'file' | 'layers' | 'platformValues' | 'providers'> {
  readonly parsed: SoundSpec;
  readonly configuration: UsableConfiguration;
  /** Those of this server, in the order of its file. */
  readonly providers: readonly AvailableProvider[];
  /** Asked only where policy limits it; undefined for an environment that exists, so that a lower limit removes nothing. */
  readonly countOthers: () => PolicyFacts['environments'];
  readonly shared: SharedValues;
}

/** What an environment should be, or why it cannot be that. */
export interface EnvironmentValues {
  /** Empty while there are faults or obstacles. */
  readonly components: readonly DesiredComponent[];
  /** What a person must mend. */
  readonly faults: readonly Failure[];
  /** What has to happen first. */
  readonly obstacles: readonly Violation[];
  readonly namespaces: readonly string[];
  /** Those that make it, also while there are faults. */
  readonly providers: readonly ProviderName[];
  /** What people should know and nothing waits for. */
  readonly remarks: readonly string[];
}

/** An image that a component names, before it is looked for. */
export interface AskedImage {
  readonly component: ComponentName;
  /** Where the component names it. */
  readonly slot: string;
  readonly image: WantedImage;
  readonly pullSecrets?: PullSecrets;
}

/** What has to be looked for before the environment can be computed. Faults are found again when it is. */
export const findAskedImages = (input: EnvironmentInput): readonly AskedImage[] => {
  const chosen = chooseProviders(input.parsed, input.providers, input.observed, input.variables);
  const { merged } = input.shared.resolve(input.parsed, sharedInput(componentInput(input, chosen)));
  // What a fork asks for, a stranger chose.
  const secrets = isFromFork(input.source) ? none : findPullSecrets(merged, chosen);
  return findImages(input, merged, chosen).flatMap(({ component, slot, image, section }) => {
    const pullSecrets = secrets.get(section);
    return 'code' in image ? [] : [{ component: componentName(component), slot, image, ...(pullSecrets && { pullSecrets }) }];
  });
};

/** One component of a section has them for all. */
type SectionSecrets = ReadonlyMap<MergedComponent['declared']['section'], PullSecrets>;

const none: SectionSecrets = new Map();

const findPullSecrets = (merged: readonly MergedComponent[], chosen: ChosenProviders): SectionSecrets =>
  new Map(
    merged.flatMap(({ declared, values }) => {
      const names = declared.kind.pullSecrets?.(values) ?? [];
      const provider = chosen.of(declared)?.name;
      return provider === undefined || names.length === 0 ? [] : [[declared.section, { provider, names }] as const];
    }),
  );

/** Whether policy lets an image of this repository run. */
export const isAllowedRepository = ({ policies }: UsableConfiguration, repository: string): boolean =>
  policies.every(({ limits }) => limits.registries?.some((one) => isInRegistry(repository, one)) !== false);

export const computeEnvironment = (input: EnvironmentInput): EnvironmentValues => {
  const chosen = chooseProviders(input.parsed, input.providers, input.observed, input.variables);
  const first = [...findMissingProtection(input.parsed), ...findNameFaults(input), ...chosen.faults];
  const about = {
    providers: [...new Set(chosen.used.map(({ provider }) => provider.name))],
    remarks: [...chosen.remarks, ...describeStrayOverrides(input)],
  };
  if (first.length > 0) return { ...about, components: [], faults: first, obstacles: [], namespaces: [] };
  const { components, faults, merged, namespaces } = computeComponents(componentInput(input, chosen), input.shared);
  const unclear = findUnclearImages(input, merged, chosen);
  const violations = findViolations(input, merged, chosen);
  const exceeded = violations
    .filter(({ code }) => code === 'policy.exceeded')
    .map(({ message }) => failure('policy.exceeded', message));
  const obstacles = violations.filter(({ code }) => code === 'policy.full');
  const forbidden = findForbiddenObjects(merged, input.configuration.policies);
  const all = [...faults, ...unclear, ...exceeded, ...forbidden];
  return { ...about, components: all.length + obstacles.length > 0 ? [] : components, faults: all, obstacles, namespaces };
};

export interface ExplainedEnvironment {
  readonly components: ExplainedComponent[];
  readonly violations: string[];
  readonly problems: string[];
  readonly remarks: string[];
}

export const explainEnvironment = (input: EnvironmentInput): ExplainedEnvironment => {
  const chosen = chooseProviders(input.parsed, input.providers, input.observed, input.variables);
  const computed = componentInput(input, chosen);
  const { faults, merged } = computeComponents(computed, input.shared);
  const unclear = findUnclearImages(input, merged, chosen);
  const problems = [...findMissingProtection(input.parsed), ...findNameFaults(input), ...chosen.faults, ...faults, ...unclear];
  return {
    components: [...explainComponents(computed, input.shared)],
    violations: [...findViolations(input, merged, chosen), ...findForbiddenObjects(merged, input.configuration.policies)].map(
      ({ message }) => message,
    ),
    problems: problems.map(({ message }) => message),
    remarks: [...chosen.remarks, ...describeStrayOverrides(input)],
  };
};

const findMissingProtection = ({ guards, places: { file } }: SoundSpec): readonly Failure[] =>
  guards.map((guard) => failure('feature.unavailable', printFault({ file, ...guard })));

/** A name that cannot be made is a fault also once the environment has one: the next would not get any. */
const findNameFaults = ({ parsed: { spec, places }, source }: EnvironmentInput): readonly Failure[] => {
  const template = spec.environment.name_template;
  if (template === undefined) return [];
  try {
    renderTemplate(template, { ...sourceValues(source), project: spec.name, words: '', number: '' }, 'dns-label');
    return [];
  } catch (error) {
    const path = ['environment', 'name_template'];
    const place = places.at(path) ?? { line: 1, column: 1 };
    const { code, message } = toFailure(error);
    return [failure(code, printFault({ file: places.file, ...place, path: path.join('.'), message }))];
  }
};

const describeStrayOverrides = ({ parsed: { components }, configuration: { layers } }: EnvironmentInput): readonly string[] =>
  findStrayOverrides(components, layers).flatMap((name) => {
    const names = components.map((component) => component.name);
    return layers
      .overridesOf(name)
      .map((layer) => `${printPlace(layer, [])}: eph.yaml has no component ${name}; ${instead(name, names)}`);
  });

const componentInput = (input: EnvironmentInput, providers: ChosenProviders): ComponentInput => ({
  ...input,
  file: input.parsed,
  layers: input.configuration.layers,
  platformValues: platformValues(input.configuration),
  providers,
  budget: budgetOf(input.configuration.policies),
});

const budgetOf = (policies: readonly Policy[]): ComponentInput['budget'] => {
  const least = (resource: 'cpu' | 'memory'): number | undefined => {
    const amounts = policies.flatMap(({ limits }) => {
      const text = limits.resources?.per_environment?.[resource];
      return text === undefined ? [] : (parseQuantity(text) ?? []);
    });
    return amounts.length === 0 ? undefined : Math.min(...amounts);
  };
  const [cpu, memoryBytes] = [least('cpu'), least('memory')];
  if (cpu === undefined && memoryBytes === undefined) return undefined;
  return { ...(cpu !== undefined && { cpu }), ...(memoryBytes !== undefined && { memoryBytes }) };
};

const platformValues = ({ platform, environment }: UsableConfiguration): TemplateValues => ({
  ...(platform.registry === undefined ? {} : { registry: platform.registry }),
  ...(environment.domain === undefined ? {} : { base_domain: environment.domain }),
});

interface FoundImage {
  readonly component: string;
  readonly section: MergedComponent['declared']['section'];
  readonly slot: string;
  readonly image: WantedImage | Failure;
}

const findImages = (
  input: EnvironmentInput,
  merged: readonly MergedComponent[],
  chosen: ChosenProviders,
): readonly FoundImage[] => {
  const named = merged.filter((one) => isMade(one) && one.declared.preparation !== true && imageSlots(one.values).length > 0);
  if (named.length === 0) return [];
  const { parsed: file, variables } = input;
  const values = environmentValues(input);
  return named.flatMap((one) => {
    const found = findWantedImages(one, { file, values, variables, platform: chosen.of(one.declared)?.platform });
    return found.map((image) => ({ component: one.declared.name, section: one.declared.section, ...image }));
  });
};

const findUnclearImages = (...given: Parameters<typeof findImages>): readonly Failure[] =>
  findImages(...given).flatMap(({ image }) => ('code' in image ? [image] : []));

/** What templates in names and images may put in. */
const environmentValues = ({ configuration, source, parsed, identity, url }: EnvironmentInput): TemplateValues => ({
  ...platformValues(configuration),
  ...sourceValues(source),
  project: parsed.spec.name,
  name: identity.name,
  environment_name: identity.name,
  environment_url: url,
});

const findViolations = (
  input: EnvironmentInput,
  components: readonly MergedComponent[],
  providers: ChosenProviders,
): readonly Violation[] => {
  const { policies } = input.configuration;
  if (policies.length === 0) return [];
  const isCounted = policies.some(({ limits }) => limits.environments !== undefined);
  return checkPolicy(
    policies,
    policyFactsOf({
      file: input.parsed,
      providers,
      components,
      values: environmentValues(input),
      variables: input.variables,
      environments: isCounted ? input.countOthers() : undefined,
    }),
  );
};
