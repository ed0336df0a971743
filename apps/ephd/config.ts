import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { dnsLabel, EphError, type ProjectId, projectId } from '@eph/contract';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';

/** Everything ephd can be told, complete and checked. */
export interface Config {
  readonly dataFolder: string;
  readonly api: { readonly host: string; readonly port: number };
  readonly gateway: { readonly port: number; readonly domain: string };
  readonly databaseUrl: string | undefined;
  readonly workers: number;
  readonly deletionBound: { readonly atLeast: number; readonly share: number };
  readonly logLevel: LogLevel;
  readonly projects: readonly { readonly id: ProjectId; readonly location: string }[];
}

export type Environment = Readonly<Record<string, string | undefined>>;

const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
type LogLevel = (typeof logLevels)[number];

const port = z.coerce.number('must be a port number').int().min(0).max(65535);

const fileSchema = z.strictObject({
  data: z.string().min(1).optional(),
  api: z.strictObject({ port: port.optional() }).optional(),
  gateway: z.strictObject({ port: port.optional(), domain: z.string().min(1).optional() }).optional(),
  database_url: z.string().min(1).optional(),
  workers: z.coerce.number().int().min(1).max(256).optional(),
  deletion_bound: z
    .strictObject({ at_least: z.number().int().min(0).optional(), share: z.number().min(0).max(1).optional() })
    .optional(),
  log_level: z.enum(logLevels).optional(),
  projects: z
    .array(
      z.strictObject({
        name: z.string().regex(dnsLabel, 'must be lower-case letters, digits and dashes'),
        location: z.string().min(1),
      }),
    )
    .optional(),
});

export const usage = `ephd: makes temporary environments from Git and removes them again

  npm run ephd -- --project <path or URL>     watch a repository, with defaults for everything else
  npm run ephd -- --config <file>             what a team runs

Options
  --project <path or URL>   a repository to watch; may be given several times
  --config <file>           configuration file (YAML)              EPH_CONFIG
  --data <folder>           where ephd keeps what it needs         EPH_DATA
  --port <number>           of the API, on loopback (7070)         EPH_PORT
  --gateway-port <number>   environments answer here (7080)        EPH_GATEWAY_PORT
  --log-level <level>       debug, info, warn, error or silent     EPH_LOG_LEVEL
  --help

DATABASE_URL, or database_url in the file, keeps history in PostgreSQL and lets several ephd share the work.
A flag wins over a variable, a variable over the file.`;

/** Puts flags, variables and the file together. Throws `config.invalid` with every fault at once, or returns `help`. */
export const readConfig = (args: readonly string[], environment: Environment): Config | 'help' => {
  const faults: string[] = [];
  const flags = parseFlags(args, faults);
  if (flags['help'] === true) return 'help';
  // npm runs scripts in the root of the repository; people mean the folder they typed the command in.
  const here = environment['INIT_CWD'] ?? process.cwd();
  const text = (flag: string, variable: string): string | undefined => {
    const given = flags[flag];
    return typeof given === 'string' ? given : environment[variable] || undefined;
  };
  const configPath = text('config', 'EPH_CONFIG');
  const file = configPath === undefined ? {} : readFile(resolve(here, configPath), faults);
  const base = configPath === undefined ? here : dirname(resolve(here, configPath));
  const raw = {
    data: resolveIn(here, text('data', 'EPH_DATA')) ?? resolveIn(base, file.data),
    api: { port: text('port', 'EPH_PORT') ?? file.api?.port },
    gateway: { ...file.gateway, port: text('gateway-port', 'EPH_GATEWAY_PORT') ?? file.gateway?.port },
    database_url: environment['DATABASE_URL'] || file.database_url,
    workers: file.workers,
    deletion_bound: file.deletion_bound,
    log_level: text('log-level', 'EPH_LOG_LEVEL') ?? file.log_level,
    projects: file.projects,
  };
  const parsed = fileSchema.safeParse(raw);
  if (!parsed.success) faults.push(...parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`));
  const projects = collectProjects(flags['project'], parsed.data?.projects ?? [], { here, base }, faults);
  if (projects.length === 0 && faults.length === 0)
    faults.push('no project: give --project <path or URL>, or projects in a --config file');
  if (faults.length > 0 || parsed.data === undefined)
    throw new EphError(
      'config.invalid',
      `the configuration has ${faults.length === 1 ? 'a fault' : 'faults'}:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`,
    );
  const { data } = parsed;
  return Object.freeze({
    dataFolder: data.data ?? defaultDataFolder(environment),
    api: { host: '127.0.0.1', port: data.api?.port ?? 7070 },
    gateway: { port: data.gateway?.port ?? 7080, domain: data.gateway?.domain ?? 'localhost' },
    databaseUrl: data.database_url,
    workers: data.workers ?? 8,
    deletionBound: { atLeast: data.deletion_bound?.at_least ?? 5, share: data.deletion_bound?.share ?? 0.2 },
    logLevel: data.log_level ?? 'info',
    projects,
  });
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

const readFile = (path: string, faults: string[]): z.output<typeof fileSchema> => {
  let content: unknown;
  try {
    content = parseYaml(readFileSync(path, 'utf8')) ?? {};
  } catch (error) {
    faults.push(`${path}: ${error instanceof Error ? error.message.split('\n', 1)[0] : String(error)}`);
    return {};
  }
  const parsed = fileSchema.safeParse(content);
  if (parsed.success) return parsed.data;
  faults.push(...parsed.error.issues.map((issue) => `${path}: ${issue.path.join('.') || 'the file'}: ${issue.message}`));
  return {};
};

const collectProjects = (
  flags: Flags[string],
  listed: readonly { readonly name: string; readonly location: string }[],
  folders: { readonly here: string; readonly base: string },
  faults: string[],
): Config['projects'] => {
  const projects = new Map<ProjectId, string>();
  const add = (name: string, location: string, folder: string): void => {
    const id = projectId(name);
    if (projects.has(id)) faults.push(`two projects are called ${name}: give them names in a --config file`);
    projects.set(id, isAddress(location) ? location : resolve(folder, location));
  };
  for (const { name, location } of listed) add(name, location, folders.base);
  for (const location of Array.isArray(flags) ? flags : []) {
    const name = nameOf(isAddress(location) ? location : resolve(folders.here, location));
    if (dnsLabel.test(name)) add(name, location, folders.here);
    else faults.push(`--project ${location}: no name can be made of it; use a --config file to give it one`);
  }
  return [...projects].map(([id, location]) => ({ id, location }));
};

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
