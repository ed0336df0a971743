import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import {
  accessRules,
  closest,
  dnsLabel,
  duration,
  environmentConfigSchema,
  isLoopback,
  labelValue,
  labelValueMessage,
  type PlacedConfig,
  type PlacedRule,
  type Places,
  type Policy,
  parseDocument,
  placeRules,
  policySchema,
  printDuration,
  printFault,
  projectLabel,
  registerSecret,
  type ServerVariables,
  serverVariableName,
  verbatimInConfig,
} from '@eph/contract';
import { forkModes } from '@eph/engine/desired/forks';
import { checkTemplate } from '@eph/engine/report/comment-texts';
import { z } from 'zod';
import { keysForm, parseKeys } from './access/keys.ts';
import { type CreateServer, isMap, type ReadSecret, secret } from './forge-types/forge-type.ts';
import { type ForgeTypeName, forgeSchema, forgeTypes } from './forge-types.ts';
import { faultOfLink } from './links.ts';
import { providerSchema } from './provider-types.ts';
import { type ConfiguredRegistry, readRegistries, registriesSchema } from './registries.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

const wholeNumber = (least: number, most: number) => {
  const message = `must be a whole number from ${least} to ${most}`;
  return z.int(message).min(least, message).max(most, message);
};

export const port = wholeNumber(0, 65_535);

export const providerName = /^(?=[a-z])[a-z0-9-]{0,62}[a-z0-9]$/;

const text = z.string().min(1);
const folderName = z.string().regex(labelValue, labelValueMessage);
const share = 'must be a number from 0 to 1';

const variable = z.union([
  z.string(),
  z
    .strictObject({ from: text.optional(), value: z.string().optional(), secret: z.boolean().optional() })
    .refine(({ from, value }) => (from === undefined) !== (value === undefined), {
      message: 'give one of from, the name of a variable of ephd, and value',
      when: isMap,
    }),
]);

const forgeName = z.string().regex(dnsLabel, 'must be the name of one of the forges');

/** What may be said of one project and of all that an organisation has. */
const projectSettings = {
  forks: z.enum(forkModes).default('deny'),
  base_branches: z.array(text).default([]),
  trusted: z.boolean().default(false),
  network: z.enum(['own', 'shared']).default('shared'),
  comments: z.boolean().default(true),
  labels: z.array(projectLabel).default([]),
  texts: z
    .record(z.string(), z.string())
    .superRefine((texts, context) => {
      for (const message of checkTemplate(texts)) context.addIssue({ code: 'custom', message });
    })
    .default({}),
  team: folderName.optional(),
  variables: z
    .record(
      z.string().regex(serverVariableName, 'is not a name for a variable of the server; use capitals, digits and _'),
      variable,
    )
    .default({}),
};

const project = z.strictObject({
  name: z.string().regex(dnsLabel, 'must be lower-case letters, digits and dashes'),
  location: text,
  forge: forgeName.optional(),
  repository: folderName.optional(),
  ...projectSettings,
});

const namePattern = text.regex(/^[^/]*$/, 'is compared with the last part of the path of a repository, in which there is no /');

const organisation = z.strictObject({
  forge: forgeName,
  owner: z.string().regex(/^[^/\s]+(\/[^/\s]+)*$/, 'must be the name of an organisation or user, or the path of a group'),
  include: z.array(namePattern).default(['*']),
  exclude: z.array(namePattern).default([]),
  ...projectSettings,
});

const configuration = z
  .strictObject({
    repository: text.optional(),
    branch: text.optional(),
    environment: folderName.optional(),
    documents: z.array(environmentConfigSchema).optional(),
  })
  .superRefine(
    ({ repository, branch, environment }, context) => {
      const issue = (key: string, message: string): void => context.addIssue({ code: 'custom', path: [key], message });
      if (repository !== undefined && environment === undefined)
        issue('environment', 'is required: the folder of the repository that holds env.yaml, such as dev');
      if (repository === undefined && branch !== undefined) issue('branch', 'needs a repository beside it');
      if (repository === undefined && environment !== undefined) issue('environment', 'needs a repository beside it');
    },
    { when: isMap },
  );

const access = z.strictObject({ keys: secret.optional(), rules: accessRules.default([]) });

const link = text.superRefine((template, context) => {
  const message = faultOfLink(template);
  if (message !== undefined) context.addIssue({ code: 'custom', message });
});

const webOrigin = z.string().refine((given) => {
  const url = URL.parse(given);
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === given;
}, 'must be an origin such as https://eph.example.com, without a path and a slash at the end');

/** A union would report the fault of its first schema. */
const oneOf = (message: string, ...schemas: readonly z.ZodType[]) =>
  z.string().refine((given) => schemas.some((schema) => schema.safeParse(given).success), message);

const api = z
  .strictObject({
    host: oneOf('must be an address such as 0.0.0.0, or a name', z.ipv4(), z.ipv6(), z.hostname()).optional(),
    port: port.optional(),
    tls: z.strictObject({ certificate: text, key: text }).optional(),
    url: webOrigin
      .refine(
        (url) => url.startsWith('https:') || isLoopback(new URL(url).hostname),
        'must begin with https: tokens are sent to it',
      )
      .optional(),
    allowed_origins: z.array(webOrigin).default([]),
    trusted_proxies: z
      .array(oneOf('must be an address or a range such as 10.20.0.0/16', z.cidrv4(), z.cidrv6(), z.ipv4(), z.ipv6()))
      .default([]),
  })
  .superRefine(
    ({ host = '127.0.0.1', tls, url }, context) => {
      const issue = (message: string): void => context.addIssue({ code: 'custom', path: ['host'], message });
      if (!isLoopback(host) && tls === undefined)
        issue(
          'other machines can reach this address, and without TLS everybody in between can read tokens; set tls, or listen on 127.0.0.1 behind a proxy that has a certificate',
        );
      if (['0.0.0.0', '::'].includes(host) && url === undefined)
        issue('is every address of this machine, so set url, the one that people use');
    },
    { when: isMap },
  );

/** In seconds. */
export const imageTimes = z
  .strictObject({
    fallback_after: duration('7d').default(10 * 60),
    give_up_after: duration('7d').default(30 * 60),
    fresh_for: duration('1h').default(30),
  })
  .superRefine(({ fallback_after: fallback, give_up_after: giveUp }, context) => {
    const message = `must not be shorter than fallback_after, which is ${printDuration(fallback)}`;
    if (giveUp < fallback) context.addIssue({ code: 'custom', path: ['give_up_after'], message });
  });

const fileSchema = z.strictObject({
  data: text.optional(),
  api: api.optional(),
  gateway: z.strictObject({ port: port.optional(), domain: text.optional() }).optional(),
  webhooks: z.strictObject({ host: text.optional(), port }).optional(),
  database_url: text.optional(),
  workers: wholeNumber(1, 256).optional(),
  deletion_bound: z
    .strictObject({
      at_least: wholeNumber(0, 1_000_000).optional(),
      share: z.number(share).min(0, share).max(1, share).optional(),
    })
    .optional(),
  log_level: z.enum(logLevels).optional(),
  links: z.strictObject({ logs: link.optional(), dashboard: link.optional() }).optional(),
  access: access.optional(),
  configuration: configuration.optional(),
  policy: policySchema.optional(),
  providers: z
    .record(
      // A number would lose its place in the order of the file.
      z.string().regex(providerName, 'must be lower-case letters, digits and dashes, and begin with a letter'),
      providerSchema,
    )
    .refine((providers) => Object.keys(providers).length > 0, 'names no provider; without this key there is one called process')
    .superRefine((providers, context) => {
      const places = new Map<string, string>();
      for (const [name, { place }] of Object.entries(providers)) {
        const other = place === undefined ? undefined : places.get(place);
        const message = `is the same cluster with the same owner as ${other}, so both would hold the same environments; keep one`;
        if (other !== undefined) context.addIssue({ code: 'custom', path: [name], message });
        else if (place !== undefined) places.set(place, name);
      }
    })
    .optional(),
  forges: z
    .record(
      z
        .string()
        .regex(dnsLabel, 'must be lower-case letters, digits and dashes')
        .refine((name) => name !== 'registry', 'is taken: registries send their webhooks to /webhooks/registry'),
      forgeSchema,
    )
    .default({}),
  projects: z.array(project).default([]),
  organisations: z.array(organisation).default([]),
  registries: registriesSchema.default({}),
  registry_credentials: text.optional(),
  images: imageTimes.optional(),
});

const form = {
  schema: fileSchema,
  limitBytes: 1024 * 1024,
  empty: 'the file is empty; put projects or organisations in it, or leave --config out',
  verbatim: verbatimInConfig.map((path) => ['configuration', 'documents', '*', ...path]),
};

/** With what its names stand for. The forge is undefined where none is named, or where the file has a fault. */
type Resolved<T> = Omit<T, 'variables' | 'forge'> & {
  readonly variables: ServerVariables;
  readonly forge: ConfiguredForge | undefined;
};

/** What the file says, with everything that its variables stand for. */
export interface ConfigFile
  extends Omit<
    z.output<typeof fileSchema>,
    'access' | 'configuration' | 'policy' | 'forges' | 'projects' | 'organisations' | 'registries'
  > {
  readonly access: { readonly keys: ServerVariables[string] | undefined; readonly rules: readonly PlacedRule[] };
  readonly configuration: Omit<z.output<typeof configuration>, 'documents'> | undefined;
  readonly documents: readonly PlacedConfig[];
  readonly policy: Policy | undefined;
  readonly projects: readonly Resolved<z.output<typeof project>>[];
  readonly organisations: readonly Resolved<z.output<typeof organisation>>[];
  readonly registries: ReadonlyMap<string, ConfiguredRegistry>;
}

/** A server that repositories live on. */
export interface ConfiguredForge {
  readonly name: string;
  readonly type: ForgeTypeName;
  readonly url: string;
  readonly createServer: CreateServer;
  readonly webhookSecret: ServerVariables[string] | undefined;
}

export const noFile: ConfigFile = {
  access: { keys: undefined, rules: [] },
  configuration: undefined,
  documents: [],
  policy: undefined,
  projects: [],
  organisations: [],
  registries: new Map(),
};

/** Reads the file that `shown` names to people; what is wrong with it goes to `faults`, every fault with its place. */
export const readConfigFile = (path: string, shown: string, environment: Environment, faults: string[]): ConfigFile => {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    faults.push(`${shown}: ${error instanceof Error ? error.message : String(error)}`);
    return noFile;
  }
  const parsed = parseDocument(bytes, shown, form);
  if (!parsed.ok) {
    faults.push(...parsed.faults.map(printFault));
    return noFile;
  }
  const { value, places } = parsed;
  const blame: Blame = (at, message) => {
    const place = places.at(at) ?? { line: 1, column: 1 };
    faults.push(printFault({ file: shown, ...place, path: at.join('.'), message }));
  };
  const { access, configuration: settings, policy, forges, projects, organisations, registries, ...rest } = value;
  const { documents: configs = [], ...repository } = settings ?? {};
  const documents = configs.map((config, index) => ({
    config,
    // Its name is enough for whoever is told; where it lies on the server is nobody's business.
    file: basename(path),
    commit: null,
    places,
    at: ['configuration', 'documents', index],
  }));
  findDocumentConflicts(documents, blame);
  const known = readForges(forges, environment, within(blame, 'forges'));
  findPathConflicts(value, known, blame);
  findUnknownLabels(value, blame);
  return {
    ...rest,
    access: {
      keys: access?.keys && readAccessKeys(access.keys.from, environment, within(blame, 'access', 'keys')),
      rules: placeRules(access?.rules ?? [], { file: basename(path), places, at: ['access', 'rules'] }),
    },
    configuration: settings === undefined ? undefined : repository,
    documents,
    policy: policy === undefined ? undefined : toPolicy(policy, basename(path), places),
    projects: projects.map(({ variables, forge, ...project }, index) => ({
      ...project,
      forge: forge === undefined ? undefined : findForge(forge, known, within(blame, 'projects', index)),
      variables: readVariables(variables, environment, within(blame, 'projects', index, 'variables')),
    })),
    organisations: organisations.map(({ variables, forge, ...organisation }, index) => ({
      ...organisation,
      forge: findForge(forge, known, within(blame, 'organisations', index)),
      variables: readVariables(variables, environment, within(blame, 'organisations', index, 'variables')),
    })),
    registries: readRegistries(registries, {
      folder: dirname(path),
      readSecret: (name) => secretReader(environment, within(blame, 'registries', name)),
      blame: within(blame, 'registries'),
    }),
  };
};

type Path = readonly (string | number)[];
type Blame = (at: Path, message: string) => void;

const within =
  (blame: Blame, ...start: Path): Blame =>
  (at, message) =>
    blame([...start, ...at], message);

const toPolicy = (limits: Policy['limits'], setBy: string, places: Places): Policy => ({
  limits,
  setBy,
  placeOf: (path) => places.at(['policy', ...path]),
  commit: null,
});

/** Here no path says whom a document is for, and of two for the same one would be overlooked. */
const findDocumentConflicts = (documents: readonly PlacedConfig[], blame: Blame): void => {
  const seen = new Set<string>();
  for (const { config, at } of documents) {
    const owner = config.type === 'cluster' ? 'the cluster' : `project ${config.project} of repository ${config.repository}`;
    if (seen.has(owner)) blame(at, `is a second document for ${owner}; keep one`);
    seen.add(owner);
    if (config.type === 'project' && config.repository === undefined)
      blame([...at, 'metadata', 'labels'], 'needs the label eph.io/repository: here no path says it');
  }
};

/** A path on a forge is not a path on this machine, and not every forge has owners in owners. */
const findPathConflicts = (
  { projects, organisations }: Pick<z.output<typeof fileSchema>, 'projects' | 'organisations'>,
  forges: ReadonlyMap<string, ConfiguredForge>,
  blame: Blame,
): void => {
  for (const [index, { forge, location }] of projects.entries())
    if (forge !== undefined && !/^[^/\s]+(\/[^/\s]+)+$/.test(location))
      blame(['projects', index, 'location'], 'must be owner/repository on a forge');
  const message = 'must be the name of an organisation or user; one repository belongs under projects';
  for (const [index, { forge, owner }] of organisations.entries())
    if (owner.includes('/') && !mayNest(forges.get(forge))) blame(['organisations', index, 'owner'], message);
};

/** A misspelt label under `except` would leave nothing out. */
const findUnknownLabels = (
  { access, projects, organisations }: Pick<z.output<typeof fileSchema>, 'access' | 'projects' | 'organisations'>,
  blame: Blame,
): void => {
  const known = [...new Set([...projects, ...organisations].flatMap(({ labels }) => labels))];
  for (const [index, rule] of (access?.rules ?? []).entries())
    for (const key of ['labels', 'except'] as const)
      for (const [at, label] of (rule[key] ?? []).entries()) {
        if (known.includes(label)) continue;
        const near = closest(label, known);
        const hint = near === undefined ? `known are ${known.join(', ') || 'none'}` : `did you mean ${near}?`;
        blame(['access', 'rules', index, key, at], `no project here has the label ${label}; ${hint}`);
      }
};

/** One that is not known has been reported already. */
const mayNest = (forge: ConfiguredForge | undefined): boolean => forge === undefined || forgeTypes[forge.type].nestedOwners;

/** Documents about projects that are not configured here: most likely misspelt. */
export const findStrangers = (
  documents: readonly PlacedConfig[],
  projects: readonly { readonly id: string; readonly repository: string }[],
): readonly string[] => {
  const known = new Set(projects.map(({ id, repository }) => `${repository}/${id}`));
  return documents.flatMap(({ config, places, at }) => {
    if (config.type === 'cluster' || config.repository === undefined) return [];
    const owner = `${config.repository}/${config.project}`;
    if (known.has(owner)) return [];
    const near = closest(owner, [...known]);
    const hint = near === undefined ? `known are ${[...known].join(', ')}` : `did you mean ${near}?`;
    const path = [...at, 'metadata', 'labels'];
    const place = places.at(path) ?? { line: 1, column: 1 };
    const message = `there is no project ${owner} (repository/project) here; ${hint}`;
    return [printFault({ file: places.file, ...place, path: path.join('.'), message })];
  });
};

const readForges = (
  forges: z.output<typeof fileSchema>['forges'],
  environment: Environment,
  blame: Blame,
): ReadonlyMap<string, ConfiguredForge> => {
  return new Map(
    Object.entries(forges).map(([name, { type, url, readCredentials, webhook_secret: webhook }]) => {
      const read = secretReader(environment, within(blame, name));
      const createServer = readCredentials(read);
      return [name, { name, type, url, createServer, webhookSecret: webhook && read('webhook_secret', webhook) }];
    }),
  );
};

const secretReader =
  (environment: Environment, blame: Blame): ReadSecret =>
  (key, { from }) => {
    const value = environment[from] ?? '';
    if (value === '') blame([key], `ephd was started without a value for the variable ${from}; set it`);
    return new SecretVariable(value);
  };

const readAccessKeys = (name: string, environment: Environment, blame: Blame): SecretVariable => {
  const value = environment[name] ?? '';
  if (value === '') blame([], `ephd was started without a value for the variable ${name}; set it to ${keysForm}`);
  else if (parseKeys(value) === undefined) blame([], `the variable ${name} must be ${keysForm}`);
  return new SecretVariable(value);
};

const findForge = (name: string, forges: ReadonlyMap<string, ConfiguredForge>, blame: Blame): ConfiguredForge | undefined => {
  const forge = forges.get(name);
  const near = closest(name, [...forges.keys()]);
  const hint = near === undefined ? `known are ${[...forges.keys()].join(', ') || 'none'}` : `did you mean ${near}?`;
  if (forge === undefined) blame(['forge'], `there is no forge ${name} here; ${hint}`);
  return forge;
};

const readVariables = (
  variables: z.output<typeof project>['variables'],
  environment: Environment,
  blame: Blame,
): ServerVariables => {
  const read = (name: string, given: z.output<typeof variable>): ServerVariables[string] => {
    if (typeof given === 'string') return { value: given, secret: false };
    // What is in the surroundings of ephd is not in its file for a reason, more often than not.
    const { from, secret = from !== undefined } = given;
    const value = from === undefined ? given.value : environment[from];
    if (from !== undefined && (value ?? '') === '')
      blame([name], `ephd was started without a value for the variable ${from}; set it, or use value instead of from`);
    return secret ? new SecretVariable(value ?? '') : { value: value ?? '', secret };
  };
  return Object.fromEntries(Object.entries(variables).map(([name, given]) => [name, read(name, given)]));
};

/** Shows its value to whoever asks for it, and to nobody who prints it. */
export class SecretVariable {
  readonly secret = true;
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
    registerSecret(value);
  }

  get value(): string {
    return this.#value;
  }
}
