import type { Context } from '../context.ts';
import { safeLine } from '../safe-text.ts';

export const version = async ({ client, print }: Context, own: string, { ephd }: { readonly ephd?: boolean }): Promise<void> => {
  const other = ephd === true ? (await client.readVersion()).version : undefined;
  await print({ version: own, ephd: other }, () => [`eph ${own}`, ...(other === undefined ? [] : [`ephd ${safeLine(other)}`])]);
};
