import type { Context } from '../context.ts';
import { formatTime } from '../figures.ts';
import { openBrowser } from '../open-browser.ts';
import { safeLine } from '../safe-text.ts';

export const dashboard = async (context: Context, { browser }: { readonly browser: boolean }): Promise<void> => {
  const { client, out, err, print, variables } = context;
  const { url, expiresAt } = await client.createSessionCode();
  const opened = browser && out.isTerminal && (await openBrowser(url, variables));
  await print({ url, expiresAt, opened }, () => [safeLine(url)]);
  if (!context.json)
    await err.lines([safeLine(`The link signs a browser in as you. It can be used once, until ${formatTime(expiresAt)}.`)]);
};
