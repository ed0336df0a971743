import type { EnvironmentDetailView } from '@eph/contract';
import { CommandFailure } from '../command-failure.ts';
import type { Context } from '../context.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { findCurrentEnvironment } from '../find-current-environment.ts';
import { findEnvironment, listEnvironments } from '../find-environment.ts';
import { exitCodeOf, noEnvironments, renderEnvironment, renderOverview } from '../status-view.ts';
import { watchStatus } from './watch-status.ts';

export interface StatusOptions {
  readonly all?: boolean;
  readonly watch?: boolean;
  /** Seconds. */
  readonly interval: number;
}

export const status = async (context: Context, name: string | undefined, options: StatusOptions): Promise<ExitCode | void> => {
  const environment = name === undefined ? await findIfCurrent(context, options) : await findEnvironment(context.client, name);
  if (options.watch === true) return watchStatus(context, environment, options.interval);
  return environment === undefined ? showAll(context) : showOne(context, environment);
};

const findIfCurrent = async (context: Context, { all = false }: StatusOptions): Promise<EnvironmentDetailView | undefined> => {
  if (all) return undefined;
  try {
    return await findCurrentEnvironment(context);
  } catch (error) {
    // Not every folder is a checkout whose branch has an environment, and all of them are an answer too.
    if (error instanceof CommandFailure && error.exitCode === exitCodes.notFound) return undefined;
    throw error;
  }
};

const showAll = async ({ client, out, print }: Context): Promise<void> => {
  const environments = await listEnvironments(client);
  await print({ environments }, () => (environments.length === 0 ? [noEnvironments] : renderOverview(out, environments)));
};

const showOne = async ({ out, print, now }: Context, environment: EnvironmentDetailView): Promise<ExitCode> => {
  await print(environment, () => renderEnvironment(out, environment, now()));
  return exitCodeOf(environment);
};
