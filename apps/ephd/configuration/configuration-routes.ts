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
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';

export interface ConfigurationRoutesOptions {
  /** Limits of this ephd, whatever the project. */
  readonly policy: Policy | undefined;
  /** Those of this ephd, in the order of its file. */
  readonly providers: readonly AvailableProvider[];
  /** Undefined when there is no such project. */
  readonly configurationOf: (project: string) => ConfigurationView | undefined;
}

/** Far more than any file that is read; the parser refuses what is too large with a better sentence. */
const mostBytes = 1024 * 1024;

const tooLarge = { error: { code: 'api.bad_request', message: `the file has more than ${mostBytes} bytes` } };

/** What is wrong with a file, before it is pushed. */
export const createConfigurationRoutes = (options: ConfigurationRoutesOptions): Hono =>
  new Hono().post('/config/validate', bodyLimit({ maxSize: mostBytes, onError: (c) => c.json(tooLarge, 413) }), async (c) => {
    const bytes = new Uint8Array(await c.req.arrayBuffer());
    const parsed = parseSpec(bytes, c.req.query('file') ?? 'eph.yaml');
    return c.json(validate(parsed, c.req.query('project'), options));
  });

/** For editors, which complete and check `eph.yaml` with it. */
export const createSchemaRoutes = (): Hono => {
  const schema = specJsonSchema();
  return new Hono().get('/schemas/eph.schema.json', (c) => c.json(schema));
};

const validate = (
  parsed: ParsedSpec,
  project: string | undefined,
  { policy, providers: available, configurationOf }: ConfigurationRoutesOptions,
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
