import { CommandFailure } from '../command-failure.ts';
import type { Context } from '../context.ts';
import { checkCertificate, checkName } from '../diagnosis/address-checks.ts';
import { attempt, type Check, createCheck, splitMessage } from '../diagnosis/check.ts';
import { checkEnvironment } from '../diagnosis/environment-checks.ts';
import {
  checkBudgets,
  checkClock,
  checkHistory,
  checkLeadership,
  checkProjects,
  checkProviders,
  checkReadiness,
  checkSandboxes,
  checkToken,
  checkVersions,
  checkWebhooks,
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
    return connection.failing(...splitMessage(error, 'Check the address (--server), and that ephd runs there.'));
  }
};

const needEphd = [
  'clock',
  'token',
  'versions',
  'leadership',
  'readiness',
  'sandbox',
  'projects',
  'webhooks',
  'forge budget',
  'providers',
  'history',
  'DNS',
] as const;

const skipOthers = ({ name }: WtfOptions): readonly Check[] =>
  [...needEphd, ...(name === undefined ? [] : ['environment'])].map((one) =>
    createCheck(one).unknown('not checked: that needs an answer of ephd', 'Mend the connection first.'),
  );

const checkOthers = async (context: Context, { version, name }: WtfOptions): Promise<readonly Check[]> => {
  const { client, now } = context;
  const account = client.readAccount();
  const status = client.readServer();
  const projects = listProjects(client);
  const url = findUrl(context, name);
  // Each is awaited several times below; a rejection must not end the process before that.
  for (const one of [account, status, projects, url]) one.catch(() => undefined);
  const groups = await Promise.all([
    attempt('clock', async () => {
      const began = now();
      const date = await client.readDate();
      return checkClock(date, (began + now()) / 2);
    }),
    attempt('token', () => account.then(checkToken, explainRefusal)),
    attempt('versions', async () => checkVersions(version, await status)),
    attempt('leadership', async () => checkLeadership(await status)),
    attempt('readiness', async () => checkReadiness(await status)),
    attempt('sandbox', async () => checkSandboxes(await status)),
    attempt('projects', async () => checkProjects(await projects)),
    attempt('webhooks', async () => checkWebhooks(await projects)),
    attempt('forge budget', async () => checkBudgets(await status, await projects)),
    attempt('providers', async () => checkProviders(await status)),
    attempt('history', async () => checkHistory(await status)),
    attempt('DNS', async () => {
      const found = await url;
      if (found !== undefined) return checkName(found);
      return createCheck('DNS').unknown('not checked: there is no environment yet', 'Try again when there is one.');
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
  if (!(error instanceof CommandFailure) || error.code !== 'api.unauthorized') throw error;
  return createCheck('token').failing(...splitMessage(error, 'Ask an admin for a token, and sign in with `eph auth login`.'));
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
    ...checks.flatMap((check) => [
      `${out.paint(styles[check.state], check.state.padEnd(widestState))}  ${check.name.padEnd(width)}  ${safeLine(check.message)}`,
      ...(check.state === 'ok' ? [] : [`${indent}${out.paint('faint', safeLine(check.advice))}`]),
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
