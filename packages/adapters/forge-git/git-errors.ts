import { EphError, type ErrorCode, type Failure, failure, isEphError, toFailure } from '@eph/contract';
import type { GitOutput } from './git-command.ts';

/** What Git prints, in the fixed language it is run with, and what that means for us. The first match wins. */
const errorPatterns: readonly (readonly [pattern: RegExp, code: ErrorCode, message: (shown: string) => string])[] = [
  [
    /No space left on device|Disk quota exceeded/i,
    'disk.full',
    () => 'There is no space left on the device that holds the data folder; free some.',
  ],
  [
    /could not read (?:Username|Password)|Authentication failed|Access denied|error: 40[13]|Permission denied \(|Host key verification|not exported|service not enabled/i,
    'forge.refused',
    (shown) => `${shown} refuses access; check the credentials and rights Eph was given for it.`,
  ],
  [
    /not a git repository|does not appear to be a git repository|repository .*not found|error: 404/i,
    'forge.unreachable',
    (shown) => `There is no Git repository at ${shown}, or it may not be seen; check the address.`,
  ],
];

/** A call that ended with a fault, as the error the seam speaks of. */
export const gitError = (output: GitOutput, shown: string): EphError => {
  for (const [pattern, code, message] of errorPatterns) {
    if (pattern.test(output.stderr)) return new EphError(code, message(shown), { cause: new Error(output.stderr) });
  }
  return new EphError('forge.unreachable', `${shown} could not be read: ${gitMessage(output)}`, {
    cause: new Error(output.stderr),
  });
};

/** The one line of Git's complaint that says most. Strangers choose part of it, so it is kept short and printable. */
export const gitMessage = ({ stderr, exitCode }: Pick<GitOutput, 'stderr' | 'exitCode'>): string => {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '');
  const line = lines.find((text) => text.startsWith('fatal:')) ?? lines.find((text) => text.startsWith('error:')) ?? lines[0];
  return line === undefined ? `git ended with code ${exitCode}.` : `git says "${printable(line)}".`;
};

export const printable = (text: string): string => text.replace(/\p{C}+/gu, ' ').slice(0, 300);

/** Whatever stopped a reading, as the reason why it is incomplete. */
export const readingFault = (error: unknown, signal: AbortSignal): Failure => {
  if (signal.aborted && !isEphError(error)) return failure('forge.incomplete', 'The reading was stopped before it was finished.');
  return toFailure(error);
};
