import { CommandFailure } from '../command-failure.ts';
import type { Context } from '../context.ts';
import { checkCertificate, checkName } from '../diagnosis/address-checks.ts';
import { attempt, type Check, createCheck } from '../diagnosis/check.ts';
import { checkEnvironment } from '../diagnosis/environment-checks.ts';
import {
  checkBudgets,
  checkClock,
  checkHistory,
  checkLeadership,
  checkProjects,
  checkProviders,
  checkSandboxes,
  checkToken,
  checkVersions,
} from '../diagnosis/server-checks.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { count } from '../figures.ts';
import { findEnvironment } from '../find-environment.ts';
import { listProjects } from '../list-projects.ts';
import type { Output, Style } from '../output.ts';
import { safeLine } from '../safe-text.ts';

export interface WtfOptions {
  readonly version: string;
  /** The environment, if it is about one. */
  readonly name: string | undefined;
}

/** Checks what lies between a person and an environment, one line for each. */
export const wtf = async (context: Context, options: WtfOptions): Promise<ExitCode> => {
  const connection = await checkConnection(context);
  const others = connection.state === 'failing' ? skipOthers(options) : await checkOthers(context, options);
  const certificate = await attempt('TLS', () => checkCertificate('ephd', context.connection.server, context.now()));
  const checks = [connection, ...others, ...certificate];
  const failing = checks.some(({ state }) => state === 'failing');
  await context.print({ failing, checks }, () => render(context.out, checks));
  return failing ? exitCodes.failure : exitCodes.ok;
};

const checkConnection = async ({ client, connection: { name } }: Context): Promise<Check> => {
  const connection = createCheck('connection');
  const began = performance.now();
  try {
    await client.readHealth();
    return connection.ok(`ephd answers at ${name} in ${Math.ceil(performance.now() - began)} ms`);
  } catch (error) {
    const [message = '', ...advice] = (error instanceof Error ? error.message : String(error)).split('\n');
    return connection.failing(message, advice.join(' ') || undefined);
  }
};

const needEphd = [
  'clock',
  'token',
  'versions',
  'leadership',
  'sandbox',
  'projects',
  'forge budget',
  'providers',
  'history',
  'DNS',
] as const;

const skipOthers = ({ name }: WtfOptions): readonly Check[] =>
  [...needEphd, ...(name === undefined ? [] : ['environment'])].map((one) =>
    createCheck(one).unknown('not checked: that needs an answer of ephd'),
  );

const checkOthers = async (context: Context, { version, name }: WtfOptions): Promise<readonly Check[]> => {
  const { client, now } = context;
  const began = now();
  const account = client.readAccount().then((view) => ({ view, at: (began + now()) / 2 }));
  const status = client.readServer();
  const projects = listProjects(client);
  const url = findUrl(context, name);
  // Each is awaited several times below; a rejection must not end the process before that.
  for (const one of [account, status, projects, url]) one.catch(() => undefined);
  const groups = await Promise.all([
    attempt('clock', async () => checkClock((await account).view, (await account).at)),
    attempt('token', () => account.then(({ view }) => checkToken(view), explainRefusal)),
    attempt('versions', async () => checkVersions(version, await status)),
    attempt('leadership', async () => checkLeadership(await status)),
    attempt('sandbox', async () => checkSandboxes(await status)),
    attempt('projects', async () => checkProjects(await projects)),
    attempt('forge budget', async () => checkBudgets(await status, await projects)),
    attempt('providers', async () => checkProviders(await status)),
    attempt('history', async () => checkHistory(await status)),
    attempt('DNS', async () => {
      const found = await url;
      return found === undefined ? createCheck('DNS').unknown('not checked: there is no environment yet') : checkName(found);
    }),
    attempt('TLS', async () => {
      const found = URL.parse((await url) ?? '');
      return found?.protocol === 'https:' ? checkCertificate('the gateway', found, now()) : [];
    }),
    name === undefined ? [] : attempt('environment', () => checkEnvironment(client, name)),
  ]);
  return groups.flat();
};

const explainRefusal = (error: unknown): Check => {
  if (error instanceof CommandFailure && error.code === 'api.unauthorized') return createCheck('token').failing(error.message);
  throw error;
};

const findUrl = async ({ client }: Context, name: string | undefined): Promise<string | undefined> =>
  name === undefined
    ? (await client.listEnvironments({ query: { limit: 1, fields: ['url'] } })).environments[0]?.url
    : (await findEnvironment(client, name)).url;

const styles: Readonly<Record<Check['state'], Style>> = { ok: 'good', attention: 'busy', failing: 'bad', unknown: 'faint' };
const widestState = 'attention'.length;

const render = (out: Output, checks: readonly Check[]): readonly string[] => {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const indent = ' '.repeat(widestState + width + 4);
  return [
    out.paint('strong', 'What the eph?'),
    '',
    ...checks.flatMap(({ name, state, message, advice }) => [
      `${out.paint(styles[state], state.padEnd(widestState))}  ${name.padEnd(width)}  ${safeLine(message)}`,
      ...(advice === undefined ? [] : [`${indent}${out.paint('faint', safeLine(advice))}`]),
    ]),
    '',
    summarize(checks),
  ];
};

const summarize = (checks: readonly Check[]): string => {
  const number = (state: Check['state']): number => checks.filter((one) => one.state === state).length;
  const parts = [
    `${count(number('failing'), 'check')} failing`,
    `${number('attention')} for attention`,
    `${number('unknown')} unknown`,
  ];
  return number('failing') + number('attention') + number('unknown') === 0 ? 'All is well.' : `${parts.join(', ')}.`;
};
