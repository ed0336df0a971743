import type { Context } from '../context.ts';
import { findNamedOrCurrent } from '../find-current-environment.ts';
import { safeLine } from '../safe-text.ts';

export const why = async (context: Context, name: string | undefined): Promise<void> => {
  const { client, out, print } = context;
  const { id } = await findNamedOrCurrent(context, name);
  const answer = await client.readWhy({ path: { id } });
  const lines = answer.lines.length === 0 ? ['ephd has not reconciled it yet; try again in a moment.'] : answer.lines;
  await print(answer, () => [out.paint('strong', safeLine(answer.name)), ...lines.map((line) => `  ${safeLine(line)}`)]);
};
