import type { Context } from '../context.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { findEnvironment } from '../find-environment.ts';
import { exitCodeOf, noEnvironments, renderEnvironment, renderOverview } from '../status-view.ts';
import { watchStatus } from './watch-status.ts';

export interface StatusOptions {
  readonly watch?: boolean;
  /** Seconds. */
  readonly interval: number;
}

export const status = async (context: Context, name: string | undefined, options: StatusOptions): Promise<ExitCode> => {
  if (options.watch === true) return watchStatus(context, name, options.interval);
  return name === undefined ? showAll(context) : showOne(context, name);
};

const showAll = async ({ client, out, json }: Context): Promise<ExitCode> => {
  const environments = await client.listEnvironments();
  if (json) await out.json({ environments });
  else await out.lines(environments.length === 0 ? [noEnvironments] : renderOverview(out, environments));
  return exitCodes.ok;
};

const showOne = async ({ client, out, json, now }: Context, name: string): Promise<ExitCode> => {
  const environment = await findEnvironment(client, name);
  if (json) await out.json(environment);
  else await out.lines(renderEnvironment(out, environment, now()));
  return exitCodeOf(environment);
};
