import type { Context } from '../context.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { findEnvironment } from '../find-environment.ts';
import { safeLine } from '../safe-text.ts';

export const release = async ({ client, out, json }: Context, name: string): Promise<ExitCode> => {
  const { id, name: fullName } = await findEnvironment(client, name);
  await client.release(id);
  if (json) await out.json({ id, name: fullName, released: true });
  else await out.lines([`Released ${safeLine(fullName)}; it will be removed.`]);
  return exitCodes.ok;
};
