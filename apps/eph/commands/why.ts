import type { Context } from '../context.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { findEnvironment } from '../find-environment.ts';
import { safeLine } from '../safe-text.ts';

export const why = async ({ client, out, json }: Context, name: string, heading?: string): Promise<ExitCode> => {
  const { id } = await findEnvironment(client, name);
  const answer = await client.readWhy(id);
  if (json) await out.json(answer);
  else {
    const lines = answer.lines.length === 0 ? ['ephd has not reconciled it yet; try again in a moment.'] : answer.lines;
    await out.lines([
      ...(heading === undefined ? [] : [out.paint('strong', heading), '']),
      out.paint('strong', safeLine(answer.name)),
      ...lines.map((line) => `  ${safeLine(line)}`),
    ]);
  }
  return exitCodes.ok;
};
