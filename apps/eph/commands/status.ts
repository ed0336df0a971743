import type { Context } from '../context.ts';
import type { ExitCode } from '../exit-codes.ts';
import { findEnvironment, listEnvironments } from '../find-environment.ts';
import { exitCodeOf, noEnvironments, renderEnvironment, renderOverview } from '../status-view.ts';
import { watchStatus } from './watch-status.ts';

export interface StatusOptions {
  readonly watch?: boolean;
  /** Seconds. */
  readonly interval: number;
}

export const status = async (context: Context, name: string | undefined, options: StatusOptions): Promise<ExitCode | void> => {
  if (options.watch === true) return watchStatus(context, name, options.interval);
  return name === undefined ? showAll(context) : showOne(context, name);
};

const showAll = async ({ client, out, print }: Context): Promise<void> => {
  const environments = await listEnvironments(client);
  await print({ environments }, () => (environments.length === 0 ? [noEnvironments] : renderOverview(out, environments)));
};

const showOne = async ({ client, out, print, now }: Context, name: string): Promise<ExitCode> => {
  const environment = await findEnvironment(client, name);
  await print(environment, () => renderEnvironment(out, environment, now()));
  return exitCodeOf(environment);
};
