import {
  type ConfigurationWord,
  type Failure,
  failure,
  type Identity,
  type ObservedComponent,
  type ParsedSpec,
  type ProviderName,
  printFault,
  providerName,
  type ServerVariables,
  type Source,
  type TemplateValues,
  toFailure,
} from '@eph/contract';
import { type ComponentInput, computeComponents, type Wish } from './components.ts';
import { type ExplainedComponent, explainComponents } from './explain.ts';
import { checkPolicy, type PolicyFacts, type Violation } from './policy.ts';
import { type MergedComponent, policyFactsOf } from './policy-facts.ts';
import type { Preparations } from './prepare.ts';
import type { ForeignOutputs } from './references.ts';
import { renderTemplate, sourceValues } from './templates.ts';

type SoundSpec = ParsedSpec & { readonly ok: true };

export interface EnvironmentInput {
  readonly parsed: SoundSpec;
  readonly source: Source;
  readonly identity: Identity;
  /** Other names that lead to this environment. */
  readonly aliases: readonly string[];
  readonly url: string;
  readonly artifact: string;
  readonly observed: readonly ObservedComponent[];
  readonly told: ConfigurationWord;
  /** What the operator lets this project use. */
  readonly variables: ServerVariables;
  /** Those there are. */
  readonly providers: readonly ProviderName[];
  readonly outputsOf: (namespace: string) => ForeignOutputs | undefined;
  /** Asked only where policy limits it; undefined for an environment that exists, so that a lower limit removes nothing. */
  readonly countOthers: () => PolicyFacts['environments'];
  readonly preparations: Preparations;
}

/** What an environment should be, or what stands against it. */
export interface EnvironmentValues {
  /** Empty while there are faults or obstacles. */
  readonly wishes: readonly Wish[];
  /** What a person must mend. */
  readonly faults: readonly Failure[];
  /** What has to happen first. */
  readonly obstacles: readonly Violation[];
  /** Other environments that this one refers to. */
  readonly namespaces: readonly string[];
}

export const computeEnvironment = (input: EnvironmentInput): EnvironmentValues => {
  const hindrances = [...findMissingProtection(input.parsed), ...findNameFaults(input)];
  const provider = chooseProvider(input);
  if (provider === undefined || hindrances.length > 0) {
    const faults = provider === undefined ? [...hindrances, withoutProvider(input)] : hindrances;
    return { wishes: [], faults, obstacles: [], namespaces: [] };
  }
  const { wishes, faults, components, namespaces } = computeComponents(componentInput(input, provider), input.preparations);
  const violations = findViolations(input, components);
  const exceeded = violations
    .filter(({ code }) => code === 'policy.exceeded')
    .map(({ message }) => failure('policy.exceeded', message));
  const obstacles = violations.filter(({ code }) => code === 'policy.full');
  const all = [...faults, ...exceeded];
  return { wishes: all.length + obstacles.length > 0 ? [] : wishes, faults: all, obstacles, namespaces };
};

/** Where every value comes from, and which limits they break. */
export const explainEnvironment = (
  input: EnvironmentInput,
): { readonly components: readonly ExplainedComponent[]; readonly violations: readonly string[] } => {
  const provider = chooseProvider(input) ?? providerName(input.parsed.spec.providers.primary);
  const computed = componentInput(input, provider);
  const { components } = computeComponents(computed, input.preparations);
  return {
    components: explainComponents(computed, input.preparations),
    violations: [
      ...findMissingProtection(input.parsed).map(({ message }) => message),
      ...findViolations(input, components).map(({ message }) => message),
    ],
  };
};

/** The file asks for protection that this version cannot give. */
const findMissingProtection = ({ guards, places: { file } }: SoundSpec): readonly Failure[] =>
  guards.map((guard) => failure('feature.unavailable', printFault({ file, ...guard })));

/** A name that cannot be made is a fault of the file, also once the environment has one: the next would not get any. */
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

/** The first choice, or else the second, if this server has it and the file says how. */
const chooseProvider = ({ parsed: { spec }, providers }: EnvironmentInput): ProviderName | undefined =>
  [spec.providers.primary, spec.providers.fallback]
    .filter((one) => one !== undefined && Object.hasOwn(spec, one))
    .map((one) => providerName(one ?? ''))
    .find((one) => providers.includes(one));

const withoutProvider = ({ parsed: { spec }, providers }: EnvironmentInput): Failure =>
  failure(
    'feature.unavailable',
    `provider ${spec.providers.primary} is not available yet; this server has ${providers.join(', ')}: put the services under process.services`,
  );

const componentInput = (input: EnvironmentInput, provider: ProviderName): ComponentInput => ({
  ...input,
  spec: input.parsed.spec,
  places: input.parsed.places,
  configuration: input.told.layers,
  platformValues: platformValues(input.told),
  provider: { name: provider, holdsSecrets: false },
});

const platformValues = ({ platform, environment }: ConfigurationWord): TemplateValues => ({
  ...(platform.registry === undefined ? {} : { registry: platform.registry }),
  ...(environment.domain === undefined ? {} : { base_domain: environment.domain }),
});

const findViolations = (input: EnvironmentInput, components: readonly MergedComponent[]): readonly Violation[] => {
  const { policies } = input.told;
  if (policies.length === 0) return [];
  const isCounted = policies.some(({ limits }) => limits.environments !== undefined);
  return checkPolicy(
    policies,
    policyFactsOf({
      spec: input.parsed.spec,
      places: input.parsed.places,
      components,
      values: {
        ...platformValues(input.told),
        ...sourceValues(input.source),
        project: input.parsed.spec.name,
        name: input.identity.name,
      },
      variables: input.variables,
      environments: isCounted ? input.countOthers() : undefined,
    }),
  );
};
