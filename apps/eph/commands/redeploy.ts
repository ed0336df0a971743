import type { EnvironmentDetailView } from '@eph/contract';
import type { Context } from '../context.ts';
import { findEnvironment } from '../find-environment.ts';
import { safeLine } from '../safe-text.ts';
import { checkTimeout, type WaitOptions, waitUntilReady } from '../wait-for-environment.ts';

export const redeploy = async (
  context: Context,
  text: string,
  components: readonly string[],
  options: WaitOptions,
): Promise<void> => {
  checkTimeout(options);
  const { client, out, json, print } = context;
  const { wait = false, quiet = false } = options;
  const before = await findEnvironment(client, text);
  const { id, name } = before;
  const body = components.length === 0 ? {} : { components: [...components] };
  const answer = await client.redeployEnvironment({ path: { id }, body });
  const request = safeLine(`${answer.components.join(', ')} of ${name} will be removed and made again, one after the other.`);
  const advice = safeLine(`Follow it with \`eph status --watch ${id}\`.`);
  if (!wait) return print({ id, name, ...answer }, () => (quiet ? [safeLine(name)] : [request, advice]));
  if (!json && !quiet) await out.lines([request]);
  const isMeant = (after: EnvironmentDetailView): boolean => answer.components.every((one) => isMadeAgain(one, before, after));
  const environment = await waitUntilReady(context, id, isMeant, options);
  await print(environment, () => [safeLine(quiet ? name : `${name} is ready.`)]);
};

const isMadeAgain = (name: string, before: EnvironmentDetailView, after: EnvironmentDetailView): boolean => {
  const [old, current] = [before, after].map(({ components }) => components.find((one) => one.name === name));
  if (current === undefined || current.current === null) return false;
  // Not every provider names its instances, and none does while it cannot be read. One of them may also just have ended by itself.
  const [former, present] = [instancesOf(old), instancesOf(current)];
  const areOthers = former.length > 0 && present.length > 0 && !former.some((one) => present.includes(one));
  return areOthers || old?.current?.since !== current.current.since;
};

const instancesOf = (component: EnvironmentDetailView['components'][number] | undefined): readonly string[] =>
  component?.parts.map(({ instance }) => instance) ?? [];

export const scale = async ({ client, print }: Context, name: string, component: string, replicas: number): Promise<void> => {
  const { id, name: fullName } = await findEnvironment(client, name);
  await client.scaleEnvironment({ path: { id }, body: { component, replicas } });
  await print({ id, name: fullName, component, replicas }, () => [
    safeLine(`${component} of ${fullName} gets ${replicas} copies.`),
  ]);
};
