import { selectValues } from '../config-paths.ts';
import { renderConfig } from '../config-view.ts';
import type { Context } from '../context.ts';
import { findEnvironment, findOnlyEnvironment } from '../find-environment.ts';

export interface ExplainOptions {
  readonly environment?: string;
  readonly all?: boolean;
}

export const configExplain = async (context: Context, path: string | undefined, options: ExplainOptions): Promise<void> => {
  const { client, out, print } = context;
  const { environment, all = false } = options;
  const { id } = environment === undefined ? await findOnlyEnvironment(client) : await findEnvironment(client, environment);
  const view = await client.readConfig({ path: { id } });
  const { components, exact } = path === undefined ? { ...view, exact: false } : selectValues(view.components, path);
  const shown = { ...view, components: [...components] };
  await print(shown, () => renderConfig(out, shown, { thorough: all || exact }));
};
