import type { AccountView } from '@eph/contract';
import { accountFacts, renderFacts } from '../account-view.ts';
import { CommandFailure } from '../command-failure.ts';
import { requireProfile } from '../connection/connection.ts';
import { SignIns } from '../connection/sign-ins.ts';
import type { Context } from '../context.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { safeLine, safeLines } from '../safe-text.ts';
import { renderTable } from '../table.ts';

export const status = async (context: Context): Promise<ExitCode> => {
  const { connection, variables, out, print } = context;
  const { profile, name: server } = connection;
  const { all } = await new SignIns(variables).profiles();
  const profiles = [...all].map(([name, { server, tokenIn }]) => ({ name, server, tokenIn, used: name === profile }));
  const { from, account, refusal } = await readAccount(context);
  await print({ server, profile: profile ?? null, tokenFrom: from ?? null, account: account ?? null, refusal, profiles }, () => [
    ...renderFacts(out, [
      ['server', server],
      ['profile', profile ?? ''],
      ['token', from === undefined ? 'none' : `from ${from}`],
      ...(account === undefined ? [] : accountFacts(account)),
    ]),
    ...(refusal === null ? [] : ['', safeLines(refusal)]),
    ...(profiles.length === 0 ? [] : ['', ...renderTable(out, columns, profiles.map(toRow))]),
  ]);
  return refusal === null ? exitCodes.ok : exitCodes.signIn;
};

const columns = ['', 'PROFILE', 'SERVER', 'TOKEN IN'];

interface ProfileRow {
  readonly name: string;
  readonly server: string;
  readonly tokenIn: string;
  readonly used: boolean;
}

const toRow = ({ name, server, tokenIn, used }: ProfileRow): readonly string[] => [used ? '*' : '', name, server, tokenIn];

interface Reading {
  readonly from: string | undefined;
  readonly account: AccountView | undefined;
  readonly refusal: string | null;
}

const readAccount = async ({ client, connection }: Context): Promise<Reading> => {
  const { from, token } = await connection.readToken();
  const shown = token === undefined ? undefined : from;
  try {
    return { from: shown, account: await client.readAccount(), refusal: null };
  } catch (error) {
    if (error instanceof CommandFailure && error.exitCode === exitCodes.signIn)
      return { from: shown, account: undefined, refusal: error.message };
    throw error;
  }
};

/** For scripts: on standard output, and nothing else there. */
export const token = async ({ connection, print }: Context): Promise<void> => {
  const { token: text, explain } = await connection.readToken();
  if (text === undefined) throw new CommandFailure('api.unauthorized', explain('there is none'), { exitCode: exitCodes.signIn });
  await print({ server: connection.name, token: text }, () => [text]);
};

export const switchProfile = async ({ variables, print }: Context, name: string): Promise<void> => {
  const signIns = new SignIns(variables);
  const { server } = requireProfile(name, await signIns.profiles());
  await signIns.use(name);
  await print({ profile: name, server }, () => [safeLine(`Profile ${name} is used from now on, for ${server}.`)]);
};
