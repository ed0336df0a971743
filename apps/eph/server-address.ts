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
