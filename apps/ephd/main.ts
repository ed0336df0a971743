import { flushCompileCache } from 'node:module';
import { isEphError, redact } from '@eph/contract';
import { readConfig, usage } from './config.ts';
import { createLog } from './log.ts';
import { startEphd } from './wiring.ts';

const main = async (): Promise<void> => {
  const config = readConfig(process.argv.slice(2), process.env);
  if (config === 'help') {
    process.stdout.write(`${usage}\n`);
    return;
  }
  const log = createLog(config.logLevel);
  const ephd = await startEphd(config, process.env, log);
  const projects = config.projects.map(({ id, location }) => ({ id, location }));
  log.info({ api: ephd.apiUrl, gatewayPort: ephd.gatewayPort, data: config.dataFolder, projects }, 'ephd is up');
  // A log or a journal would keep it for others to read.
  if (process.stderr.isTTY) process.stderr.write(`\nOpen ${ephd.createLink()} (once, within ten minutes).\n\n`);
  // Not only at the end, which may be a kill.
  flushCompileCache();
  let stopping = false;
  const stop = (signal: string): void => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'stopping; environments keep running');
    // A forge or database that hangs must not delay the exit: nothing depends on a clean stop.
    setTimeout(() => process.exit(0), 8_000).unref();
    ephd[Symbol.asyncDispose]().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'stopping failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
};

try {
  await main();
} catch (error) {
  process.stderr.write(
    `ephd: ${isEphError(error) ? error.message : redact(error instanceof Error ? (error.stack ?? error.message) : String(error))}\n`,
  );
  process.exit(isEphError(error) && error.code === 'lease.held' ? 3 : 1);
}
