import { describePerson } from '../account-view.ts';
import { findPermission } from '../action-permissions.ts';
import type { Context } from '../context.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { findEnvironment } from '../find-environment.ts';
import { safeLine } from '../safe-text.ts';

export interface WhyOptions {
  readonly project?: string;
}

export const authWhy = async (
  { client, print, err }: Context,
  who: string,
  action: string,
  name: string | undefined,
  { project }: WhyOptions,
): Promise<ExitCode> => {
  const permission = findPermission(action);
  const environment = name === undefined ? undefined : (await findEnvironment(client, name)).id;
  const person = who === 'me' ? undefined : who;
  const decision = await client.explainAccess({ query: { person, permission, environment, project } });
  const { allowed, because, faults } = decision;
  await print(decision, () => [
    safeLine(`${describePerson(decision.person)} ${allowed ? 'may' : 'may not'} use ${permission}: ${because}.`),
  ]);
  await err.lines(faults.map((fault) => safeLine(`Rules may be older than the newest commit: ${fault}`)));
  return allowed ? exitCodes.ok : exitCodes.signIn;
};
