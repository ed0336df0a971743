import { spawn } from 'node:child_process';
import { once } from 'node:events';

type Variables = Readonly<Record<string, string | undefined>>;

/** The address is useful without a browser too, so nothing here is a failure. */
export const openBrowser = async (url: string, variables: Variables): Promise<boolean> => {
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
const chooseOpener = (variables: Variables): string | undefined => {
  if (process.platform === 'darwin') return 'open';
  const hasDisplay = (variables['DISPLAY'] ?? '') !== '' || (variables['WAYLAND_DISPLAY'] ?? '') !== '';
  return process.platform === 'linux' && hasDisplay ? 'xdg-open' : undefined;
};
