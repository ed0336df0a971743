import { preformatted } from './untrusted-text.ts';

/** For somebody who wrote `/deploy` on a pull request from a fork. */
export const composeAnswer = (line: string): string =>
  [
    'This pull request comes from a fork, so the command must name the whole commit. The line for its present head is',
    '',
    `<pre>${preformatted(line, 300)}</pre>`,
    '',
    'Write it only if this is the commit that you have reviewed.',
  ].join('\n');
