#!/usr/bin/env node
import packageJson from './package.json' with { type: 'json' };
import type { Prompter } from './prompter.ts';

const { version } = packageJson;
const { stdout, stderr, env: variables } = process;
const args = process.argv.slice(2);

/** Whoever read the output, `head` for instance, has had enough. */
const leaveQuietly = (error: NodeJS.ErrnoException): void => process.exit(error.code === 'EPIPE' ? 0 : 1);

/** The second Ctrl-C ends the process at once. */
const interruption = (): AbortSignal => {
  const controller = new AbortController();
  process.once('SIGINT', () => controller.abort());
  return controller.signal;
};

/** Questions need somebody who reads them and somebody who answers. */
const openPrompter = async (): Promise<Prompter | undefined> => {
  const { stdin } = process;
  if (!stdin.isTTY || !stdout.isTTY) return undefined;
  const { createClackPrompter } = await import('./clack-prompter.ts');
  return createClackPrompter(stdin, stdout);
};

/** What is compiled once is kept for the next time: in a folder of this user, since whoever writes there decides what runs here. */
const keepCompiled = async (): Promise<void> => {
  const home = variables['HOME'];
  const cache = variables['XDG_CACHE_HOME'] || (home ? `${home}/.cache` : undefined);
  if (cache === undefined) return;
  const { enableCompileCache } = await import('node:module');
  enableCompileCache(`${cache}/eph/compiled`);
};

stdout.on('error', leaveQuietly);
stderr.on('error', leaveQuietly);

// Nothing else is loaded for this one, and it has to be quick: prompts and editors ask it to see whether eph is there.
if (args.length === 1 && ['version', '--version', '-V'].includes(args[0] ?? '')) stdout.write(`eph ${version}\n`);
else {
  await keepCompiled();
  const { run } = await import('./program.ts');
  const stdin = (): AsyncIterable<Uint8Array> => process.stdin;
  // `npm run` changes to the folder of its package.
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
}
