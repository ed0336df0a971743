import type { Context } from '../context.ts';
import { findEnvironment } from '../find-environment.ts';
import { safeLine } from '../safe-text.ts';

export const why = async ({ client, out, print }: Context, name: string, heading?: string): Promise<void> => {
  const { id } = await findEnvironment(client, name);
  const answer = await client.readWhy({ path: { id } });
  const lines = answer.lines.length === 0 ? ['ephd has not reconciled it yet; try again in a moment.'] : answer.lines;
  await print(answer, () => [
    ...(heading === undefined ? [] : [out.paint('strong', heading), '']),
    out.paint('strong', safeLine(answer.name)),
    ...lines.map((line) => `  ${safeLine(line)}`),
  ]);
};
