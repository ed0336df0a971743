import type { Context } from '../context.ts';
import { findEnvironment } from '../find-environment.ts';
import { renderAnswer } from '../request-view.ts';

export const down = async (
  { client, print }: Context,
  name: string,
  { force = false }: { readonly force?: boolean },
): Promise<void> => {
  const { id } = await findEnvironment(client, name);
  const answer = await client.removeEnvironment({ path: { id }, query: { force: force || undefined } });
  await print(answer, () => renderAnswer(answer));
};
