import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Route, type RouteName, routes } from '@eph/contract';
import { expect } from 'vitest';
import { schemathesis, schemathesisArguments } from '../parts/schemathesis.ts';

export interface RunOptions {
  readonly url: string;
  /** For its reports. */
  readonly folder: string;
  /** Undefined for nobody. */
  readonly token?: string;
  /** The description, which only those who are signed in can read. */
  readonly description: string;
  /** Values that exist, by parameter as schemathesis names it, such as `path.id`. It uses others, too. */
  readonly known: Readonly<Record<string, readonly string[]>>;
  readonly phases: readonly ('coverage' | 'fuzzing' | 'stateful')[];
  readonly examples: number;
  readonly perSecond: number;
  readonly only?: readonly RouteName[];
  readonly without?: readonly RouteName[];
}

export interface Findings {
  readonly report: {
    readonly complete: boolean;
    readonly operations: { readonly selected: number; readonly tested: number };
    readonly failures: readonly unknown[];
    readonly errors: readonly unknown[];
  };
  /** The statuses of each route that was called. */
  readonly statuses: ReadonlyMap<RouteName, ReadonlySet<number>>;
  /** What it printed, with a command that repeats each failure. */
  readonly output: string;
}

/** Calls the routes with generated requests, and compares the answers with the description. The seed is fixed. */
const runSchemathesis = async (options: RunOptions): Promise<Findings> => {
  const finding = schemathesis.find();
  if (!finding.found) throw new Error(`schemathesis is missing: ${finding.reason}`);
  const folder = await mkdtemp(join(options.folder, 'schemathesis-'));
  const file = (name: string): string => join(folder, name);
  await writeFile(file('openapi.json'), options.description);
  await writeFile(file('schemathesis.toml'), configure(options));
  const args = [
    ['--config-file', file('schemathesis.toml'), 'run', file('openapi.json'), '--url', options.url],
    ['--phases', options.phases.join(','), '--max-examples', String(options.examples)],
    ['--report-json-path', file('report.json'), '--report-har-path', file('requests.har')],
    ...(options.only ?? []).map((name) => ['--include-operation-id', name]),
    ...(options.without ?? []).map((name) => ['--exclude-operation-id', name]),
    options.token === undefined ? [] : ['--header', `Authorization: Bearer ${options.token}`],
  ];
  const output = await run(finding.where, [...schemathesisArguments, ...args.flat()], folder);
  const read = (name: string): unknown => JSON.parse(readFileSync(file(name), 'utf8'));
  return { report: read('report.json') as Findings['report'], statuses: readStatuses(read('requests.har') as Har), output };
};

/** All of it ran, no answer was outside the description, and none was a failure of ephd. */
export const expectAsDescribed = async (options: RunOptions): Promise<Findings> => {
  const findings = await runSchemathesis(options);
  const { complete, failures, errors, operations } = findings.report;
  expect({ complete, failures, errors }, findings.output).toEqual({ complete: true, failures: [], errors: [] });
  expect(operations.tested).toBe(operations.selected);
  const failed = [...findings.statuses].flatMap(([name, seen]) =>
    [...seen].flatMap((status) => (status >= 500 ? [`${name} answers ${status}`] : [])),
  );
  expect(failed).toEqual([]);
  return findings;
};

export const succeeded = ({ statuses }: Findings): readonly RouteName[] =>
  [...statuses].flatMap(([name, seen]) => ([...seen].some((status) => status < 300) ? [name] : []));

const run = (command: string, args: readonly string[], folder: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.once('error', reject);
    child.once('close', (code) => {
      // 1 if it has findings.
      if (code === 0 || code === 1) resolve(output);
      else reject(new Error(`schemathesis ended with ${code}: ${output}`));
    });
  });

/** What JSON Schema cannot say, so that a request may match the description and be refused. */
const beyondSchema: Partial<Record<RouteName, string>> = {
  createEnvironment: 'the project must be named where there are several; a pull request has a number',
  planSource: 'the project must be named where there are several; only pull requests have labels',
  extendEnvironment: 'durations have a limit',
  createToken: 'durations have a limit',
  readLogs: '`since` is a time or a duration',
};

const configure = ({ known, perSecond }: RunOptions): string => `
seed = 1
color = false
continue-on-failure = true
rate-limit = "${perSecond}/s"
request-timeout = 30
warnings = false

[generation]
database = "none"

[cache]
enabled = false

${Object.entries(known)
  .map(([name, values]) => `[dictionaries.${JSON.stringify(name)}]\nvalues = ${JSON.stringify(values)}\n`)
  .join('\n')}
[parameters]
${Object.keys(known)
  .map((name) => `${JSON.stringify(name)} = { dictionary = ${JSON.stringify(name)}, probability = 0.8 }\n`)
  .join('')}
# All checks run unless it says otherwise here.
[checks]
negative_data_rejection.expected-statuses = ["400", "401", "403", "404", "409", "413", "429"]

${(Object.entries(routes) as [RouteName, Route][]).map(([name, route]) => configureRoute(name, route)).join('\n')}`;

const configureRoute = (name: RouteName, { answer, problems = [] }: Route): string => {
  const about = `[[operations]]\ninclude-operation-id = "${name}"\n`;
  // Others, such as 503, have a meaning where ephd is not ready or a forge is away. Here it is ready.
  const own = problems.filter((status) => status >= 500).map(String);
  // Nothing ends a stream that is followed but this timeout.
  const stream = 'request-timeout = 2\nmax-stream-events = 5\nphases.coverage.enabled = false\ngeneration.max-examples = 6\n';
  const settings = [
    `checks.not_a_server_error.expected-statuses = ${JSON.stringify(['2xx', '3xx', '4xx', ...own])}\n`,
    ...(answer.type === 'stream' ? [stream] : []),
    ...(beyondSchema[name] === undefined ? [] : ['checks.positive_data_acceptance.enabled = false\n']),
  ];
  return `${about}${settings.join('')}`;
};

interface Har {
  readonly log: {
    readonly entries: readonly {
      readonly request: { readonly method: string; readonly url: string };
      readonly response: { readonly status: number };
    }[];
  };
}

const readStatuses = ({ log }: Har): Findings['statuses'] => {
  const known = (Object.entries(routes) as [RouteName, Route][]).map(([name, { method, path }]) => {
    const form = new RegExp(`^${path.replaceAll('.', String.raw`\.`).replace(/\{\w+\}/g, '[^/]+')}$`);
    return { name, matches: (called: string, at: string) => called === method && form.test(at) };
  });
  const statuses = new Map<RouteName, Set<number>>();
  for (const { request, response } of log.entries) {
    const at = /^https?:\/\/[^/]+([^?#]*)/.exec(request.url)?.[1] ?? '';
    const called = known.find(({ matches }) => matches(request.method, at));
    if (called !== undefined) statuses.set(called.name, (statuses.get(called.name) ?? new Set()).add(response.status));
  }
  return statuses;
};
