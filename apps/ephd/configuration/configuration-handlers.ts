import {
  type ConfigurationView,
  noConfiguration,
  type ParsedSpec,
  type Policy,
  parseSpec,
  specJsonSchema,
  type ValidationView,
} from '@eph/contract';
import { checkPolicy } from '@eph/engine/values/policy';
import { policyFactsOf } from '@eph/engine/values/policy-facts';
import { type AvailableProvider, chooseProviders } from '@eph/engine/values/providers';
import { SharedValues } from '@eph/engine/values/shared-values';
import type { Handlers } from '../api/handlers.ts';

export interface ConfigurationHandlersOptions {
  /** Limits of this ephd, whatever the project. */
  readonly policy: Policy | undefined;
  /** Those of this ephd, in the order of its file. */
  readonly providers: readonly AvailableProvider[];
  /** Undefined when there is no such project. */
  readonly configurationOf: (project: string) => ConfigurationView | undefined;
}

/** What is wrong with a file, before it is pushed; and for editors, which complete and check `eph.yaml`, its schema. */
export const createConfigurationHandlers = (
  options: ConfigurationHandlersOptions,
): Handlers<'validateConfig' | 'readSpecSchema'> => {
  const schema = { ...specJsonSchema() };
  return {
    validateConfig: ({ body, query: { file = 'eph.yaml', project } }) => validate(parseSpec(body, file), project, options),
    readSpecSchema: () => schema,
  };
};

const validate = (
  parsed: ParsedSpec,
  project: string | undefined,
  { policy, providers: available, configurationOf }: ConfigurationHandlersOptions,
): ValidationView => {
  if (!parsed.ok) return { valid: false, faults: [...parsed.faults], notices: [], violations: [], problems: [], remarks: [] };
  const { spec, places, notices, guards } = parsed;
  const view = configurationOf(project ?? spec.name);
  const policies = view !== undefined && 'policies' in view ? view.policies : policy === undefined ? [] : [policy];
  const providers = chooseProviders(parsed, available, []);
  const input = { commit: null, configuration: noConfiguration, choice: providers.choice };
  const { faults, merged } = new SharedValues().resolve(parsed, input);
  const problems = [
    ...guards.map(({ path, line, message }) => `${places.file}:${line}: ${path} ${message}`),
    ...[...providers.faults, ...faults].map(({ message }) => message),
  ];
  const facts = policyFactsOf({ file: parsed, providers, components: merged });
  const violations = checkPolicy(policies, facts).map(({ message }) => message);
  const valid = problems.length + violations.length === 0;
  return { valid, faults: [], notices: [...notices], violations, problems, remarks: [...providers.remarks] };
};
