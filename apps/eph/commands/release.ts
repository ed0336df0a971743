import type { Context } from '../context.ts';
import { findEnvironment } from '../find-environment.ts';
import { safeLine } from '../safe-text.ts';

export const release = async ({ client, print }: Context, name: string): Promise<void> => {
  const { id, name: fullName } = await findEnvironment(client, name);
  await client.releaseEnvironment({ path: { id } });
  await print({ id, name: fullName, released: true }, () => [`Released ${safeLine(fullName)}; it will be removed.`]);
};
