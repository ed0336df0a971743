import { isLoopback, redact } from '@eph/contract';
import { CommandFailure } from './command-failure.ts';
import { exitCodes } from './exit-codes.ts';

export const defaultServer = 'http://127.0.0.1:7070';

/** Ends with a slash, so that a path can be appended. */
export const parseServer = (text: string): URL => {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new CommandFailure('cli.usage', `The address of ephd must look like ${defaultServer}, not ${JSON.stringify(text)}.`, {
      exitCode: exitCodes.usage,
    });
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  url.search = '';
  url.hash = '';
  return url;
};

/** As people write it. */
export const printServer = (server: URL): string => redact(server.href.replace(/\/$/, ''));

/** Where requests go. On loopback, ephd listens on 127.0.0.1 alone, and whoever listens on ::1 must not get the token. */
export const toReached = (server: URL): URL => {
  const reached = new URL(server);
  if (server.hostname === 'localhost') reached.hostname = '127.0.0.1';
  return reached;
};

/** Throws where everybody on the way could read the token. */
export const requireSafeTransport = (server: URL): void => {
  if (server.protocol === 'https:' || isLoopback(server.hostname)) return;
  const tunnel = `ssh -L 7070:127.0.0.1:${server.port || 80} ${server.hostname}`;
  throw new CommandFailure(
    'cli.insecure',
    `eph sends tokens without TLS to loopback addresses only, and ${printServer(server)} is not one. ` +
      `Use https://, or a tunnel: \`${tunnel}\` and --server ${defaultServer}.`,
    { exitCode: exitCodes.usage },
  );
};
