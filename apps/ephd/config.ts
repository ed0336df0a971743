import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import {
  dnsLabel,
  EphError,
  type PlacedConfig,
  type PlacedRule,
  type Policy,
  type ProjectId,
  type ProviderName,
  projectId,
  providerName,
  type Sandboxed,
  type ServerVariables,
} from '@eph/contract';
import type { ForkMode } from '@eph/engine/desired/forks';
import type { CommentTemplate } from '@eph/engine/report/comment-texts';
import { z } from 'zod';
import { keysForm, parseKeys } from './access/keys.ts';
import type { CertificateFiles } from './api/certificate.ts';
import {
  type ConfigFile,
  type ConfiguredForge,
  type Environment,
  findStrangers,
  imageTimes,
  type LogLevel,
  logLevels,
  noFile,
  port,
  providerName as providerNames,
  readConfigFile,
  SecretVariable,
} from './config-file.ts';
import type { LinkTemplates } from './links.ts';
import type { ProviderSettings, ProviderType, RetiredSettings } from './provider-types/provider-type.ts';
import { providerTypes } from './provider-types.ts';
import type { ConfiguredRegistry } from './registries.ts';

export type { ConfiguredForge, Environment } from './config-file.ts';

/** Everything ephd can be told, complete and checked. Printed, it shows no secret. */
export interface Config {
  readonly dataFolder: string;
  readonly api: ApiSettings;
  readonly gateway: { readonly port: number; readonly domain: string };
  readonly databaseUrl: string | undefined;
  readonly access: {
    /** Keys of tokens, for `parseKeys`; undefined where they are in the data folder. */
    readonly keys: ServerVariables[string] | undefined;
    readonly rules: readonly PlacedRule[];
  };
  readonly workers: number;
  readonly deletionBound: { readonly atLeast: number; readonly share: number };
  readonly logLevel: LogLevel;
  /** Where forges deliver; nowhere unless asked for. */
  readonly webhooks: { readonly host: string; readonly port: number } | undefined;
  /** What comments lead to besides the environment itself. */
  readonly links: LinkTemplates;
  readonly configuration: PlatformConfiguration;
  /** Limits of this ephd, above those that documents set. */
  readonly policy: Policy | undefined;
  /** In the order of the file: of several with one type the first counts. */
  readonly providers: readonly ConfiguredProvider[];
  readonly projects: readonly ConfiguredProject[];
  /** Whose repositories are projects too, as soon as they are known. */
  readonly organisations: readonly ConfiguredOrganisation[];
  /** Where images are, by host. */
  readonly registries: ReadonlyMap<string, ConfiguredRegistry>;
  /** A configuration file of Docker, with credentials for other registries. */
  readonly registryCredentials: string | undefined;
  readonly images: ImageSettings;
}

/** How long an image is waited for. */
export interface ImageSettings {
  readonly fallbackAfterMs: number;
  readonly giveUpAfterMs: number;
  /** A tag is not asked for again within this time. */
  readonly freshForMs: number;
}

export interface ApiSettings {
  /** A loopback address, unless there is a certificate. */
  readonly host: string;
  readonly port: number;
  readonly tls: CertificateFiles | undefined;
  /** The origin that people use, where it is another one. */
  readonly url: string | undefined;
  /** Origins whose pages may use the API. */
  readonly allowedOrigins: readonly string[];
  /** Addresses and ranges of proxies that say who their clients are. */
  readonly trustedProxies: readonly string[];
}

export interface ConfiguredProvider extends ProviderSettings {
  readonly name: ProviderName;
}

/** It is no longer in the file, and runs for what it still holds. */
export interface RetiredProvider extends ConfiguredProvider {
  readonly settings: RetiredSettings;
}

/** Where the layers of the platform come from. */
export interface PlatformConfiguration {
  readonly repository: { readonly location: string; readonly branch: string; readonly environment: string } | undefined;
  /** Of the file itself; below those of the repository. */
  readonly documents: readonly PlacedConfig[];
}

export interface ConfiguredProject {
  readonly id: ProjectId;
  readonly location: string;
  /** The server it lives on, where `location` is `owner/repository`; plain Git when absent. */
  readonly forge: ConfiguredForge | undefined;
  /** What happens with pull requests from other repositories. */
  readonly forks: ForkMode;
  /** With `forks: base`: target branches, besides the default branch, whose file a fork may get. */
  readonly baseBranches: readonly string[];
  /** It may run as ephd itself, where a provider has no sandbox. */
  readonly trusted: boolean;
  readonly network: Sandboxed['network'];
  /** What rules of access know it by, besides its name. */
  readonly labels: readonly string[];
  /** Whether pull requests get comments. */
  readonly comments: boolean;
  /** Its own words for them. */
  readonly texts: CommentTemplate;
  /** The repository that documents know it by. */
  readonly repository: string;
  readonly team: string | undefined;
  /** What `${NAME}` in its files may stand for. */
  readonly variables: ServerVariables;
}

/** An organisation, user or group with what holds for each of its repositories. */
export interface ConfiguredOrganisation
  extends Pick<
    ConfiguredProject,
    'forks' | 'baseBranches' | 'trusted' | 'network' | 'labels' | 'comments' | 'texts' | 'team' | 'variables'
  > {
  readonly forge: ConfiguredForge;
  readonly owner: string;
  /** Patterns for the last part of the path of a repository. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/** A project that somebody names on the command line: they trust it. */
export const plainProject = (id: ProjectId, location: string): ConfiguredProject => ({
  id,
  location,
  forge: undefined,
  forks: 'deny',
  baseBranches: [],
  trusted: true,
  network: 'shared',
  labels: [],
  comments: true,
  texts: {},
  repository: id,
  team: undefined,
  variables: {},
});

const configureProviders = (settings: Readonly<Record<string, ProviderSettings>>): Config['providers'] =>
  Object.entries(settings).map(([name, given]) => ({ name: providerName(name), ...given }));

const noProviders = { process: providerTypes.process.schema.parse({ type: 'process' }) };

/** Where the file names none. */
export const defaultProviders = configureProviders(noProviders);

const toImageSettings = (times: z.output<typeof imageTimes>): ImageSettings => ({
  fallbackAfterMs: toMs(times.fallback_after),
  giveUpAfterMs: toMs(times.give_up_after),
  freshForMs: toMs(times.fresh_for),
});

const toMs = (seconds: number): number => Math.round(seconds * 1_000);

/** Where the file says nothing else. */
export const defaultImages = toImageSettings(imageTimes.parse({}));

/** The one called `process` was there before providers had names. */
export const folderOfProvider = (dataFolder: string, name: string): string =>
  name === 'process' ? join(dataFolder, name) : join(dataFolder, 'providers', name);

/** Providers that are not in the file any more, and whose data folders still hold environments, or say where they may be. */
export const findRetiredProviders = ({
  dataFolder,
  providers,
}: Pick<Config, 'dataFolder' | 'providers'>): readonly RetiredProvider[] => {
  const named = join(dataFolder, 'providers');
  const names = new Set(['process', ...(existsSync(named) ? readdirSync(named) : [])].filter((name) => providerNames.test(name)));
  for (const { name } of providers) names.delete(name);
  // One that was only renamed is still there.
  const places = new Set(providers.map(({ place }) => place));
  return [...names].flatMap((name) => {
    const retired = readRetired(folderOfProvider(dataFolder, name));
    const isThere = retired?.place !== undefined && places.has(retired.place);
    places.add(retired?.place);
    return retired === undefined || isThere ? [] : [{ name: providerName(name), ...retired }];
  });
};

const readRetired = (folder: string): Omit<RetiredProvider, 'name'> | undefined => {
  for (const { schema, readRetired: read } of Object.values<ProviderType>(providerTypes)) {
    const settings = read(folder);
    if (settings !== undefined) return { ...schema.parse(settings), settings };
  }
  return undefined;
};

export const usage = `ephd: makes temporary environments from Git and removes them again

  npm run ephd -- --project <path or URL>     watch a repository, with defaults for everything else
  npm run ephd -- --config <file>             what a team runs

Options
  --project <path or URL>   a repository to watch; may be given several times
  --config <file>           configuration file (YAML)              EPH_CONFIG
  --data <folder>           where ephd keeps what it needs         EPH_DATA
  --port <number>           of the API (7070)                      EPH_PORT
  --gateway-port <number>   environments answer here (7080)        EPH_GATEWAY_PORT
  --log-level <level>       debug, info, warn, error or silent     EPH_LOG_LEVEL
  --help

DATABASE_URL, or database_url in the file, keeps history in PostgreSQL and lets several ephd share the work. It needs
EPH_ACCESS_KEYS, or access.keys in the file: the keys of API tokens, the same for all of them.
A flag wins over a variable, a variable over the file.`;

/** Puts flags, variables and the file together. Throws `config.invalid` with every fault at once, or returns `help`. */
export const readConfig = (args: readonly string[], environment: Environment): Config | 'help' => {
  const faults: string[] = [];
  const flags = parseFlags(args, faults);
  if (flags['help'] === true) return 'help';
  // npm runs scripts in the root of the repository; people mean the folder they typed the command in.
  const here = environment['INIT_CWD'] ?? process.cwd();
  const setting = settingsOf(flags, environment, faults);
  const configPath = setting('config', 'EPH_CONFIG', z.string());
  const path = configPath === undefined ? undefined : resolve(here, configPath);
  const file = path === undefined ? noFile : readConfigFile(path, configPath ?? path, environment, faults);
  const base = path === undefined ? here : dirname(path);
  const projects = collectProjects(flags['project'], file, { here, base }, faults);
  const databaseUrl = environment['DATABASE_URL'] || file.database_url;
  const config: Config = {
    dataFolder:
      resolveIn(here, setting('data', 'EPH_DATA', z.string())) ?? resolveIn(base, file.data) ?? defaultDataFolder(environment),
    api: {
      host: file.api?.host ?? '127.0.0.1',
      port: setting('port', 'EPH_PORT', portText) ?? file.api?.port ?? 7070,
      tls: file.api?.tls && { certificate: resolve(base, file.api.tls.certificate), key: resolve(base, file.api.tls.key) },
      url: file.api?.url,
      allowedOrigins: file.api?.allowed_origins ?? [],
      trustedProxies: file.api?.trusted_proxies ?? [],
    },
    gateway: {
      port: setting('gateway-port', 'EPH_GATEWAY_PORT', portText) ?? file.gateway?.port ?? 7080,
      domain: file.gateway?.domain ?? 'localhost',
    },
    databaseUrl,
    access: { keys: readKeys(file, databaseUrl, environment, faults), rules: file.access.rules },
    workers: file.workers ?? 8,
    deletionBound: { atLeast: file.deletion_bound?.at_least ?? 5, share: file.deletion_bound?.share ?? 0.2 },
    logLevel: setting('log-level', 'EPH_LOG_LEVEL', logLevelText) ?? file.log_level ?? 'info',
    webhooks: file.webhooks && { host: file.webhooks.host ?? '127.0.0.1', port: file.webhooks.port },
    links: file.links ?? {},
    configuration: { repository: locateRepository(file, base), documents: file.documents },
    policy: file.policy,
    providers: configureProviders(file.providers ?? noProviders),
    projects,
    organisations: collectOrganisations(file),
    registries: file.registries,
    registryCredentials: resolveIn(base, file.registry_credentials),
    images: file.images === undefined ? defaultImages : toImageSettings(file.images),
  };
  // The projects of organisations are not known yet, and documents may be about them.
  if (faults.length === 0 && config.organisations.length === 0) faults.push(...findStrangers(file.documents, projects));
  if (projects.length === 0 && file.organisations.length === 0 && faults.length === 0)
    faults.push('no project: give --project <path or URL>, or projects or organisations in a --config file');
  if (faults.length > 0)
    throw new EphError(
      'config.invalid',
      `the configuration has ${faults.length === 1 ? 'a fault' : 'faults'}:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`,
    );
  return Object.freeze(config);
};

const portText = z
  .string()
  .regex(/^\d{1,10}$/, 'must be a port number')
  .transform(Number)
  .pipe(port);

const logLevelText = z.enum(logLevels, `must be one of ${logLevels.join(', ')}`);

/** What a flag says, or else a variable. */
const settingsOf =
  (flags: Flags, environment: Environment, faults: string[]) =>
  <T>(flag: string, variable: string, schema: z.ZodType<T>): T | undefined => {
    const typed = flags[flag];
    const [name, given] = typeof typed === 'string' ? [`--${flag}`, typed] : [variable, environment[variable] || undefined];
    if (given === undefined) return undefined;
    const parsed = schema.safeParse(given);
    if (!parsed.success) faults.push(`${name} ${JSON.stringify(given)}: ${parsed.error.issues[0]?.message}`);
    return parsed.data;
  };

/** Several ephd with one database accept the tokens of each other, so their keys cannot be in the data folder of one. */
const readKeys = (
  { access }: ConfigFile,
  databaseUrl: string | undefined,
  environment: Environment,
  faults: string[],
): Config['access']['keys'] => {
  if (access.keys !== undefined) return access.keys;
  const value = environment['EPH_ACCESS_KEYS'] || undefined;
  if (value !== undefined && parseKeys(value) === undefined) faults.push(`EPH_ACCESS_KEYS must be ${keysForm}`);
  if (value === undefined && databaseUrl !== undefined)
    faults.push(
      `with a database, the keys of API tokens must not be in the data folder: set EPH_ACCESS_KEYS, or the variable that access.keys in the file names, to ${keysForm}; every ephd on this database needs the same keys`,
    );
  return value === undefined ? undefined : new SecretVariable(value);
};

const locateRepository = ({ configuration }: ConfigFile, base: string): PlatformConfiguration['repository'] => {
  const { repository, branch = 'main', environment } = configuration ?? {};
  if (repository === undefined || environment === undefined) return undefined;
  return { location: locate(repository, base), branch, environment };
};

const resolveIn = (folder: string, path: string | undefined): string | undefined =>
  path === undefined ? undefined : resolve(folder, path);

type Flags = Record<string, string | boolean | string[] | undefined>;

const parseFlags = (args: readonly string[], faults: string[]): Flags => {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        project: { type: 'string', multiple: true },
        config: { type: 'string' },
        data: { type: 'string' },
        port: { type: 'string' },
        'gateway-port': { type: 'string' },
        'log-level': { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    return values;
  } catch (error) {
    faults.push(error instanceof Error ? (error.message.split('. ')[0] ?? error.message) : String(error));
    return {};
  }
};

const collectProjects = (
  flags: Flags[string],
  file: ConfigFile,
  folders: { readonly here: string; readonly base: string },
  faults: string[],
): Config['projects'] => {
  const projects = new Map<ProjectId, ConfiguredProject>();
  const add = (project: ConfiguredProject): void => {
    if (projects.has(project.id)) faults.push(`two projects are called ${project.id}: give them names in a --config file`);
    projects.set(project.id, project);
  };
  for (const { name, repository = name, team, base_branches: baseBranches, ...project } of file.projects) {
    const location = project.forge === undefined ? locate(project.location, folders.base) : project.location;
    add({ ...project, id: projectId(name), repository, team, baseBranches, location });
  }
  for (const location of Array.isArray(flags) ? flags : []) {
    const name = nameOf(locate(location, folders.here));
    if (dnsLabel.test(name)) add(plainProject(projectId(name), locate(location, folders.here)));
    else faults.push(`--project ${location}: no name can be made of it; use a --config file to give it one`);
  }
  return [...projects.values()];
};

/** One without a forge has been blamed already. */
const collectOrganisations = ({ organisations }: ConfigFile): Config['organisations'] =>
  organisations.flatMap(({ forge, team, base_branches: baseBranches, ...organisation }) =>
    forge === undefined ? [] : [{ ...organisation, forge, team, baseBranches }],
  );

const locate = (location: string, folder: string): string => (isAddress(location) ? location : resolve(folder, location));

/** `host:path` is how Git writes SSH addresses; a path that exists is a path. */
const isAddress = (location: string): boolean =>
  /^[a-z][a-z0-9+.-]*:\/\//i.test(location) || (/^[^/]+:/.test(location) && !existsSync(location));

const nameOf = (location: string): string =>
  basename(location.replace(/[/\\]+$/, '').replace(/[/\\]?\.git$/, ''))
    .replace(/^.*:/, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40)
    .replace(/-+$/, '');

const defaultDataFolder = (environment: Environment): string =>
  join(environment['XDG_DATA_HOME'] ?? join(homedir(), '.local', 'share'), 'eph');
