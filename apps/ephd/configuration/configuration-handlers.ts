import {
  type ConfigurationView,
  type Fault,
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
import type { Caller, Handlers } from '../api/handlers.ts';

export interface ConfigurationHandlersOptions {
  /** Limits of this ephd, whatever the project. */
  readonly policy: Policy | undefined;
  /** Those of this ephd, in the order of its file. */
  readonly providers: readonly AvailableProvider[];
  /** Undefined when there is no such project for the caller. */
  readonly configurationOf: (project: string, caller: Caller) => ConfigurationView | undefined;
}

/** What is wrong with a file, before it is pushed; and for editors, which complete and check `eph.yaml`, its schema. */
export const createConfigurationHandlers = (
  options: ConfigurationHandlersOptions,
): Handlers<'validateConfig' | 'readSpecSchema'> => {
  const schema = { ...specJsonSchema() };
  return {
    validateConfig({ body, query: { file = 'eph.yaml', project }, caller }) {
      const parsed = parseSpec(body, file);
      return parsed.ok
        ? validate(parsed, options.configurationOf(project ?? parsed.spec.name, caller), options)
        : invalid(parsed.faults);
    },
    readSpecSchema: () => schema,
  };
};

const invalid = (faults: readonly Fault[]): ValidationView => ({
  valid: false,
  faults: [...faults],
  notices: [],
  violations: [],
  problems: [],
  remarks: [],
});

const validate = (
  parsed: ParsedSpec & { readonly ok: true },
  view: ConfigurationView | undefined,
  { policy, providers: available }: ConfigurationHandlersOptions,
): ValidationView => {
  const { places, notices, guards } = parsed;
  const policies = view !== undefined && 'policies' in view ? view.policies : policy === undefined ? [] : [policy];
  const providers = chooseProviders(parsed, available, [], undefined);
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
