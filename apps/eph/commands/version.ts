import type { Context } from '../context.ts';
import { type ExitCode, exitCodes } from '../exit-codes.ts';
import { safeLine } from '../safe-text.ts';

export const version = async (
  { client, out, json }: Context,
  own: string,
  { ephd }: { readonly ephd?: boolean },
): Promise<ExitCode> => {
  const other = ephd === true ? await client.readVersion() : undefined;
  if (json) await out.json({ version: own, ephd: other });
  else await out.lines([`eph ${own}`, ...(other === undefined ? [] : [`ephd ${safeLine(other)}`])]);
  return exitCodes.ok;
};
