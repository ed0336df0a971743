#!/usr/bin/env node
import packageJson from './package.json' with { type: 'json' };
import type { Prompter } from './prompter.ts';

const { version } = packageJson;
const { stdout, stderr, env: variables } = process;
const args = process.argv.slice(2);

/** EPIPE: the reader of the output, such as `head`, has ended. */
const exitQuietly = (error: NodeJS.ErrnoException): void => process.exit(error.code === 'EPIPE' ? 0 : 1);

/** The second Ctrl-C ends the process at once. */
const interruption = (): AbortSignal => {
  const controller = new AbortController();
  process.once('SIGINT', () => controller.abort());
  return controller.signal;
};

const openPrompter = async (): Promise<Prompter | undefined> => {
  const { stdin } = process;
  if (!stdin.isTTY || !stdout.isTTY) return undefined;
  const { createClackPrompter } = await import('./clack-prompter.ts');
  return createClackPrompter(stdin, stdout);
};

/** In a folder of this user, because whoever can write to the cache can run code here. */
const enableCache = async (): Promise<void> => {
  const home = variables['HOME'];
  const cache = variables['XDG_CACHE_HOME'] || (home ? `${home}/.cache` : undefined);
  if (cache === undefined) return;
  const { enableCompileCache } = await import('node:module');
  enableCompileCache(`${cache}/eph/compiled`);
};

stdout.on('error', exitQuietly);
stderr.on('error', exitQuietly);

// Without loading anything else, to be fast: shell prompts and editors use it to check for eph.
if (args.length === 1 && ['version', '--version', '-V'].includes(args[0] ?? '')) stdout.write(`eph ${version}\n`);
else {
  await enableCache();
  const { run } = await import('./program.ts');
  const stdin = (): NodeJS.ReadStream => process.stdin;
  // `npm run` changes the working directory to its package.
  const folder = (): string => (variables['npm_lifecycle_event'] === 'eph' && variables['INIT_CWD']) || process.cwd();
  process.exitCode = await run(args, {
    version,
    stdout,
    stderr,
    stdin,
    folder,
    variables,
    now: Date.now,
    interruption,
    openPrompter,
  });
  // A name that is still being resolved would keep the process, and the shell waits for it.
  if (args[0] === '__complete') process.exit();
}
