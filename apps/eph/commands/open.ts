import type { Context } from '../context.ts';
import { findNamedOrCurrent } from '../find-current-environment.ts';
import { openBrowser } from '../open-browser.ts';
import { safeLine } from '../safe-text.ts';

export const open = async (
  context: Context,
  name: string | undefined,
  { browser }: { readonly browser: boolean },
): Promise<void> => {
  const { out, err, json } = context;
  const { id, name: fullName, phase, url } = await findNamedOrCurrent(context, name);
  const opened = browser && (await openBrowser(url, context.variables));
  if (json) await out.json({ id, name: fullName, phase, url, opened });
  else {
    await out.lines([safeLine(url)]);
    if (phase !== 'Ready') await err.lines([safeLine(`${fullName} is ${phase}; the page shows what it waits for.`)]);
  }
};
