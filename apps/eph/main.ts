#!/usr/bin/env node
import packageJson from './package.json' with { type: 'json' };

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
  process.exitCode = await run(args, { version, stdout, stderr, variables, now: Date.now, interruption });
}
