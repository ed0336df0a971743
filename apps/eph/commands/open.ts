import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Context } from '../context.ts';
import { findEnvironment } from '../find-environment.ts';
import { safeLine } from '../safe-text.ts';

export const open = async (context: Context, name: string, { browser }: { readonly browser: boolean }): Promise<void> => {
  const { client, out, err, json } = context;
  const { id, name: fullName, phase, url } = await findEnvironment(client, name);
  const opened = browser && (await openBrowser(url, context.variables));
  if (json) await out.json({ id, name: fullName, phase, url, opened });
  else {
    await out.lines([safeLine(url)]);
    if (phase !== 'Ready') await err.lines([safeLine(`${fullName} is ${phase}; the page shows what it waits for.`)]);
  }
};

/** The address is useful without a browser too, so nothing here is a failure. */
const openBrowser = async (url: string, variables: Context['variables']): Promise<boolean> => {
  const target = URL.parse(url);
  // The opener accepts any scheme, but the address is untrusted.
  if (target === null || !/^https?:$/.test(target.protocol)) return false;
  const opener = chooseOpener(variables);
  if (opener === undefined) return false;
  const child = spawn(opener, [target.href], { stdio: 'ignore', detached: true });
  child.unref();
  return once(child, 'spawn').then(
    () => true,
    () => false,
  );
};

/** Without a display `xdg-open` would start a text browser in this terminal. */
const chooseOpener = (variables: Context['variables']): string | undefined => {
  if (process.platform === 'darwin') return 'open';
  const hasDisplay = (variables['DISPLAY'] ?? '') !== '' || (variables['WAYLAND_DISPLAY'] ?? '') !== '';
  return process.platform === 'linux' && hasDisplay ? 'xdg-open' : undefined;
};
