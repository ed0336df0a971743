import type { Context } from '../context.ts';
import { findNamedOrCurrent } from '../find-current-environment.ts';
import { renderAnswer } from '../request-view.ts';
import { safeLine } from '../safe-text.ts';
import { checkTimeout, type WaitOptions, waitUntilGone } from '../wait-for-environment.ts';

export interface DownOptions extends WaitOptions {
  readonly force?: boolean;
}

/** @param text without it, the environment of the current branch */
export const down = async (context: Context, text: string | undefined, options: DownOptions): Promise<void> => {
  checkTimeout(options);
  const { client, out, json, print } = context;
  const { force = false, wait = false, quiet = false } = options;
  const environment = await findNamedOrCurrent(context, text);
  const { id, name } = environment;
  const answer = await client.removeEnvironment({ path: { id }, query: { force: force || undefined } });
  if (!json && !quiet) await out.lines(renderAnswer(answer));
  if (wait) await waitUntilGone(context, environment, options);
  await print(answer, () => [...(quiet ? [safeLine(name)] : []), ...(wait && !quiet ? [safeLine(`${name} is gone.`)] : [])]);
};
