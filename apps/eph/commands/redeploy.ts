import type { Context } from '../context.ts';
import { findEnvironment } from '../find-environment.ts';
import { safeLine } from '../safe-text.ts';

export const redeploy = async ({ client, print }: Context, name: string, components: readonly string[]): Promise<void> => {
  const { id, name: fullName } = await findEnvironment(client, name);
  const body = components.length === 0 ? {} : { components: [...components] };
  const answer = await client.redeployEnvironment({ path: { id }, body });
  await print({ id, name: fullName, ...answer }, () => [
    safeLine(`${answer.components.join(', ')} of ${fullName} will be removed and made again, one after the other.`),
    safeLine(`Follow it with \`eph status --watch ${id}\`.`),
  ]);
};

export const scale = async ({ client, print }: Context, name: string, component: string, replicas: number): Promise<void> => {
  const { id, name: fullName } = await findEnvironment(client, name);
  await client.scaleEnvironment({ path: { id }, body: { component, replicas } });
  await print({ id, name: fullName, component, replicas }, () => [
    safeLine(`${component} of ${fullName} gets ${replicas} copies.`),
  ]);
};
