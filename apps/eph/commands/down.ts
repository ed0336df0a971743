import type { Context } from '../context.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { findEnvironment } from '../find-environment.ts';
import { renderAnswer } from '../request-view.ts';

export const down = async (
  { client, out, json }: Context,
  name: string,
  { force = false }: { readonly force?: boolean },
): Promise<ExitCode> => {
  const { id } = await findEnvironment(client, name);
  const answer = await client.takeDown(id, force);
  if (json) await out.json(answer);
  else await out.lines(renderAnswer(answer));
  return exitCodes.ok;
};
